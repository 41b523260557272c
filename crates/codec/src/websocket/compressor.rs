//! Compression of messages (RFC 7692, section 7.2.1).

use flate2::{Compress, Compression, FlushCompress};

use super::frame::Opcode;
use super::inflater::TAIL;
use super::writer::write_compressed;
use super::{FrameError, Negotiated, Role};

/// Compresses messages and appends them as frames.
///
/// Without context takeover, a compressor has no state between messages, so all connections of a
/// worker can share one. With context takeover, each connection needs its own compressor of about
/// 260 KiB.
#[derive(Debug)]
pub struct Compressor {
    stream: Compress,
    takes_over: bool,
    compressed: Vec<u8>,
}

impl Compressor {
    /// Creates a compressor for one end of a connection. Returns `None` if the negotiated window is
    /// too small for the library, so that messages must be sent uncompressed.
    #[must_use]
    pub fn new(role: Role, negotiated: Negotiated) -> Option<Compressor> {
        let sent = negotiated.sent_by(role);
        // The library cannot write a raw stream with the smallest window, 256 bytes.
        let can_compress = sent.window_bits > 8;
        can_compress.then(|| Compressor {
            stream: Compress::new_with_window_bits(Compression::default(), false, sent.window_bits),
            takes_over: sent.takes_over,
            compressed: Vec::new(),
        })
    }

    /// Returns whether the compressor uses context takeover and therefore belongs to one
    /// connection.
    #[must_use]
    pub fn takes_over(&self) -> bool {
        self.takes_over
    }

    /// Appends a text message as one compressed frame. Fails if the compressor is broken.
    pub fn write_text(
        &mut self,
        out: &mut Vec<u8>,
        mask: Option<[u8; 4]>,
        payload: &str,
    ) -> Result<(), FrameError> {
        self.write(out, Opcode::Text, mask, payload.as_bytes())
    }

    /// Appends a binary message as one compressed frame. Fails if the compressor is broken.
    pub fn write_binary(
        &mut self,
        out: &mut Vec<u8>,
        mask: Option<[u8; 4]>,
        payload: &[u8],
    ) -> Result<(), FrameError> {
        self.write(out, Opcode::Binary, mask, payload)
    }

    fn write(
        &mut self,
        out: &mut Vec<u8>,
        opcode: Opcode,
        mask: Option<[u8; 4]>,
        payload: &[u8],
    ) -> Result<(), FrameError> {
        if payload.is_empty() {
            // The second of two flushes writes nothing. This byte is the header of an empty block,
            // which the receiver completes.
            write_compressed(out, opcode, mask, &[0]);
            return Ok(());
        }
        if !self.takes_over {
            self.stream.reset();
        }
        self.compressed.clear();
        let mut rest = payload;
        loop {
            self.compressed.reserve(rest.len() / 2 + 64);
            let before = self.stream.total_in();
            let flush = FlushCompress::Sync;
            let written = self.stream.compress_vec(rest, &mut self.compressed, flush);
            written.map_err(|_| FrameError::Deflate)?;
            let read = self.stream.total_in() - before;
            rest = &rest[usize::try_from(read).unwrap_or(rest.len())..];
            let has_room = self.compressed.len() < self.compressed.capacity();
            if rest.is_empty() && has_room {
                break;
            }
        }
        let Some(block) = self.compressed.strip_suffix(TAIL) else {
            return Err(FrameError::Deflate);
        };
        write_compressed(out, opcode, mask, block);
        if self.takes_over {
            self.compressed = Vec::new();
        }
        Ok(())
    }
}
