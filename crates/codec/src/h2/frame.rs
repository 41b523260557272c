//! Frame headers, and the frames that a client sends (RFC 9113, sections 4 and 6).

use super::error::ErrorCode;

/// Connection preface, which a client sends first.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Length of a frame header.
pub(super) const HEADER_LEN: usize = 9;
/// Default and smallest value of SETTINGS_MAX_FRAME_SIZE.
pub(super) const MIN_FRAME_SIZE: usize = 1 << 14;
/// Largest value of SETTINGS_MAX_FRAME_SIZE.
pub(super) const MAX_FRAME_SIZE: usize = (1 << 24) - 1;
/// Largest flow-control window.
pub(super) const MAX_WINDOW: i64 = (1 << 31) - 1;
/// Flow-control window until SETTINGS or WINDOW_UPDATE changes it.
pub(super) const DEFAULT_WINDOW: i64 = 65_535;

/// Frame types.
pub(super) mod kind {
    pub const DATA: u8 = 0x0;
    pub const HEADERS: u8 = 0x1;
    pub const PRIORITY: u8 = 0x2;
    pub const RST_STREAM: u8 = 0x3;
    pub const SETTINGS: u8 = 0x4;
    pub const PUSH_PROMISE: u8 = 0x5;
    pub const PING: u8 = 0x6;
    pub const GOAWAY: u8 = 0x7;
    pub const WINDOW_UPDATE: u8 = 0x8;
    pub const CONTINUATION: u8 = 0x9;
}

/// Frame flags.
pub(super) mod flag {
    pub const ACK: u8 = 0x1;
    pub const END_STREAM: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
}

/// Identifiers of settings.
pub(super) mod setting {
    pub const HEADER_TABLE_SIZE: u16 = 0x1;
    pub const ENABLE_PUSH: u16 = 0x2;
    pub const MAX_CONCURRENT_STREAMS: u16 = 0x3;
    pub const INITIAL_WINDOW_SIZE: u16 = 0x4;
    pub const MAX_FRAME_SIZE: u16 = 0x5;
    pub const MAX_HEADER_LIST_SIZE: u16 = 0x6;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    #[inline]
    pub(super) fn parse(bytes: &[u8; HEADER_LEN]) -> FrameHeader {
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        FrameHeader {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            // The highest bit is reserved and ignored.
            stream: u32::from_be_bytes(stream) & 0x7fff_ffff,
        }
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    fn bytes(self) -> [u8; HEADER_LEN] {
        let [_, a, b, c] = (self.length as u32).to_be_bytes();
        let [s, t, u, v] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, s, t, u, v]
    }
}

fn write(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let header = FrameHeader {
        length: payload.len(),
        kind,
        flags,
        stream,
    };
    out.extend_from_slice(&header.bytes());
    out.extend_from_slice(payload);
}

pub(super) fn write_settings(out: &mut Vec<u8>, settings: &[(u16, u32)]) {
    let header = FrameHeader {
        length: settings.len() * 6,
        kind: kind::SETTINGS,
        flags: 0,
        stream: 0,
    };
    out.extend_from_slice(&header.bytes());
    for (id, value) in settings {
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

pub(super) fn write_settings_ack(out: &mut Vec<u8>) {
    write(out, kind::SETTINGS, flag::ACK, 0, &[]);
}

pub(super) fn write_ping(out: &mut Vec<u8>, payload: [u8; 8], ack: bool) {
    let flags = if ack { flag::ACK } else { 0 };
    write(out, kind::PING, flags, 0, &payload);
}

pub(super) fn write_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    let payload = increment.to_be_bytes();
    write(out, kind::WINDOW_UPDATE, 0, stream, &payload);
}

pub(super) fn write_rst_stream(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    write(out, kind::RST_STREAM, 0, stream, &code.0.to_be_bytes());
}

pub(super) fn write_goaway(out: &mut Vec<u8>, code: ErrorCode) {
    // The server opens no streams, so the last stream ID is 0.
    let [a, b, c, d] = code.0.to_be_bytes();
    write(out, kind::GOAWAY, 0, 0, &[0, 0, 0, 0, a, b, c, d]);
}

pub(super) fn write_data(out: &mut Vec<u8>, stream: u32, data: &[u8], ends: bool) {
    let flags = if ends { flag::END_STREAM } else { 0 };
    write(out, kind::DATA, flags, stream, data);
}

/// Turns the header block at the end of `out` into HEADERS and CONTINUATION frames.
///
/// `at` is the position of the space reserved for the first frame header. The block follows it.
pub(super) fn finish_headers(
    out: &mut Vec<u8>,
    at: usize,
    stream: u32,
    ends: bool,
    max_frame: usize,
) {
    let block = out.len() - at - HEADER_LEN;
    let end_stream = if ends { flag::END_STREAM } else { 0 };
    let first = FrameHeader {
        length: block.min(max_frame),
        kind: kind::HEADERS,
        flags: end_stream
            | if block <= max_frame {
                flag::END_HEADERS
            } else {
                0
            },
        stream,
    };
    if block > max_frame {
        let rest = out.split_off(at + HEADER_LEN + max_frame);
        let mut parts = rest.chunks(max_frame).peekable();
        while let Some(part) = parts.next() {
            let is_last = parts.peek().is_none();
            let flags = if is_last { flag::END_HEADERS } else { 0 };
            write(out, kind::CONTINUATION, flags, stream, part);
        }
    }
    out[at..at + HEADER_LEN].copy_from_slice(&first.bytes());
}
