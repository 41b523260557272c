//! Writes frames.

use super::frame::{FIN, MASKED, MAX_CONTROL, Opcode, RSV1, apply_mask};
use super::{Close, FrameError, is_close_code};

/// Appends a text message as one frame. A client must pass a new random `mask`, and a server must
/// pass `None`.
pub fn write_text(out: &mut Vec<u8>, mask: Option<[u8; 4]>, payload: &str) {
    write_frame(out, FIN | Opcode::Text as u8, mask, payload.as_bytes());
}

/// Appends a binary message as one frame.
pub fn write_binary(out: &mut Vec<u8>, mask: Option<[u8; 4]>, payload: &[u8]) {
    write_frame(out, FIN | Opcode::Binary as u8, mask, payload);
}

/// Appends a ping. Fails if the payload is longer than 125 bytes.
pub fn write_ping(
    out: &mut Vec<u8>,
    mask: Option<[u8; 4]>,
    payload: &[u8],
) -> Result<(), FrameError> {
    write_control(out, Opcode::Ping, mask, payload)
}

/// Appends a pong. Fails if the payload is longer than 125 bytes, which the payload of a received
/// ping never is.
pub fn write_pong(
    out: &mut Vec<u8>,
    mask: Option<[u8; 4]>,
    payload: &[u8],
) -> Result<(), FrameError> {
    write_control(out, Opcode::Pong, mask, payload)
}

/// Appends a close frame. `None` omits the code. Fails if the code must not be sent, or if the
/// reason is longer than 123 bytes.
pub fn write_close(
    out: &mut Vec<u8>,
    mask: Option<[u8; 4]>,
    close: Option<Close<'_>>,
) -> Result<(), FrameError> {
    let Some(Close { code, reason }) = close else {
        return write_control(out, Opcode::Close, mask, &[]);
    };
    if !is_close_code(code) {
        return Err(FrameError::CloseCode);
    }
    let payload = [&code.to_be_bytes(), reason.as_bytes()].concat();
    write_control(out, Opcode::Close, mask, &payload)
}

fn write_control(
    out: &mut Vec<u8>,
    opcode: Opcode,
    mask: Option<[u8; 4]>,
    payload: &[u8],
) -> Result<(), FrameError> {
    if payload.len() > MAX_CONTROL {
        return Err(FrameError::ControlTooLong);
    }
    write_frame(out, FIN | opcode as u8, mask, payload);
    Ok(())
}

/// Appends a message whose compressed form is `payload`.
pub(super) fn write_compressed(
    out: &mut Vec<u8>,
    opcode: Opcode,
    mask: Option<[u8; 4]>,
    payload: &[u8],
) {
    write_frame(out, FIN | RSV1 | opcode as u8, mask, payload);
}

#[inline]
fn write_frame(out: &mut Vec<u8>, first: u8, mask: Option<[u8; 4]>, payload: &[u8]) {
    let masked = if mask.is_some() { MASKED } else { 0 };
    let length = payload.len();
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(length @ ..126), _) => out.extend_from_slice(&[first, masked | length]),
        (_, Ok(length)) => {
            let [high, low] = length.to_be_bytes();
            out.extend_from_slice(&[first, masked | 126, high, low]);
        }
        _ => {
            out.extend_from_slice(&[first, masked | 127]);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    let Some(mask) = mask else {
        out.extend_from_slice(payload);
        return;
    };
    out.extend_from_slice(&mask);
    let start = out.len();
    out.extend_from_slice(payload);
    apply_mask(&mut out[start..], mask);
}
