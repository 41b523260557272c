//! Frame headers and masks (RFC 6455, sections 5.2 and 5.3).

use super::{FrameError, Role};

/// Maximum length of a header.
pub(super) const MAX_HEADER: usize = 14;
/// Maximum payload of a control frame.
pub(super) const MAX_CONTROL: usize = 125;

pub(super) const FIN: u8 = 0x80;
pub(super) const RSV1: u8 = 0x40;
pub(super) const MASKED: u8 = 0x80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

impl Opcode {
    fn parse(first: u8) -> Result<Opcode, FrameError> {
        Ok(match first & 0x0f {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return Err(FrameError::ReservedOpcode),
        })
    }

    pub(super) fn is_control(self) -> bool {
        matches!(self, Opcode::Close | Opcode::Ping | Opcode::Pong)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct FrameHeader {
    pub(super) opcode: Opcode,
    pub(super) is_final: bool,
    pub(super) is_compressed: bool,
    pub(super) mask: Option<[u8; 4]>,
    /// Length of the payload in bytes.
    pub(super) payload: u64,
    /// Length of the header itself in bytes.
    pub(super) length: usize,
}

impl FrameHeader {
    /// Parses the header at the start of `bytes`, and performs all checks that need only the
    /// header. Returns `None` if the header is incomplete.
    #[inline]
    pub(super) fn parse(
        bytes: &[u8],
        role: Role,
        can_inflate: bool,
    ) -> Result<Option<FrameHeader>, FrameError> {
        let [first, second, rest @ ..] = bytes else {
            return Ok(None);
        };
        let opcode = Opcode::parse(*first)?;
        let (is_final, is_compressed) = (first & FIN != 0, first & RSV1 != 0);
        let may_compress = can_inflate && matches!(opcode, Opcode::Text | Opcode::Binary);
        if first & 0x30 != 0 || (is_compressed && !may_compress) {
            return Err(FrameError::ReservedBits);
        }
        let is_masked = second & MASKED != 0;
        match role {
            Role::Client if is_masked => return Err(FrameError::Masked),
            Role::Server if !is_masked => return Err(FrameError::Unmasked),
            _ => {}
        }
        let short = second & !MASKED;
        if opcode.is_control() {
            if !is_final {
                return Err(FrameError::FragmentedControl);
            }
            if usize::from(short) > MAX_CONTROL {
                return Err(FrameError::ControlTooLong);
            }
        }
        let (payload, rest) = match short {
            126 => match rest.split_first_chunk() {
                Some((length, rest)) => (u64::from(u16::from_be_bytes(*length)), rest),
                None => return Ok(None),
            },
            127 => match rest.split_first_chunk() {
                Some((length, rest)) => (u64::from_be_bytes(*length), rest),
                None => return Ok(None),
            },
            short => (u64::from(short), rest),
        };
        if payload >> 63 != 0 {
            return Err(FrameError::LengthTopBit);
        }
        if (short == 126 && payload < 126) || (short == 127 && payload <= 0xffff) {
            return Err(FrameError::NonMinimalLength);
        }
        let (mask, rest) = match rest.split_first_chunk() {
            _ if !is_masked => (None, rest),
            Some((mask, rest)) => (Some(*mask), rest),
            None => return Ok(None),
        };
        Ok(Some(FrameHeader {
            opcode,
            is_final,
            is_compressed,
            mask,
            payload,
            length: bytes.len() - rest.len(),
        }))
    }
}

/// Masks or unmasks bytes. The first byte of `bytes` uses the first byte of the mask.
#[inline]
pub(super) fn apply_mask(bytes: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (chunks, rest) = bytes.as_chunks_mut::<8>();
    for chunk in chunks {
        *chunk = (u64::from_ne_bytes(*chunk) ^ wide).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(mask.into_iter().cycle()) {
        *byte ^= key;
    }
}
