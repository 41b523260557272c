//! Decompression of messages (RFC 7692, section 7.2.2).

use flate2::{Decompress, FlushDecompress, Status};

use super::FrameError;
use super::deflate::SentDeflate;

/// The end of a compressed message, which the sender removes: the rest of an empty block.
pub(super) const TAIL: &[u8] = &[0, 0, 0xff, 0xff];
/// An empty final block. The stream ends here exactly if the message ends with a complete block.
const END: &[u8] = &[1, 0, 0, 0xff, 0xff];
/// Maximum number of final blocks in a message. Each final block requires a new stream.
const MAX_FINAL_BLOCKS: u32 = 16;
const MAX_WINDOW: usize = 1 << 15;
/// Minimum free space in the output buffer, in bytes.
const MIN_ROOM: usize = 256;

/// Decompresses the messages of one connection. Between messages, it keeps at most the window, and
/// nothing without context takeover.
#[derive(Debug)]
pub(super) struct Inflater {
    /// The last bytes of earlier messages. `None` without context takeover.
    history: Option<Vec<u8>>,
    window: usize,
}

impl Inflater {
    pub(super) fn new(sent: SentDeflate) -> Inflater {
        Inflater {
            history: sent.takes_over.then(Vec::new),
            window: 1 << sent.window_bits,
        }
    }

    /// Returns the memory that is kept between messages, in bytes.
    pub(super) fn capacity(&self) -> usize {
        self.history.as_ref().map_or(0, Vec::capacity)
    }

    /// Decompresses a message into an empty buffer. Stops at `limit` bytes.
    pub(super) fn inflate(
        &mut self,
        compressed: &[u8],
        output: &mut Vec<u8>,
        limit: usize,
    ) -> Result<(), FrameError> {
        // Use the largest window, because some senders use 512 bytes where 256 were agreed.
        // Creating a stream takes 0.4 µs longer than resetting a shared one.
        let mut stream = Decompress::new_with_window_bits(false, 15);
        let history = self.history.as_deref().unwrap_or_default();
        set_window(&mut stream, history)?;
        let mut final_blocks = 0;
        for mut part in [compressed, TAIL] {
            while inflate_part(&mut stream, &mut part, output, limit)? {
                final_blocks += 1;
                if final_blocks > MAX_FINAL_BLOCKS {
                    return Err(FrameError::Deflate);
                }
                stream.reset(false);
                set_window(&mut stream, history)?;
                set_window(&mut stream, output)?;
            }
        }
        let mut end = END;
        if !inflate_part(&mut stream, &mut end, output, limit)? || !end.is_empty() {
            return Err(FrameError::Deflate);
        }
        self.remember(output);
        Ok(())
    }

    fn remember(&mut self, output: &[u8]) {
        let Some(history) = &mut self.history else {
            return;
        };
        let kept = &output[output.len().saturating_sub(self.window)..];
        let excess = (history.len() + kept.len()).saturating_sub(self.window);
        history.drain(..excess);
        let length = history.len() + kept.len();
        if history.capacity() < length {
            // At most the window size, which is a power of two.
            history.reserve_exact(length.next_power_of_two() - history.len());
        }
        history.extend_from_slice(kept);
    }
}

/// Sets the window to the end of `bytes`, to which the stream may refer.
fn set_window(stream: &mut Decompress, bytes: &[u8]) -> Result<(), FrameError> {
    if bytes.is_empty() {
        return Ok(());
    }
    let kept = &bytes[bytes.len().saturating_sub(MAX_WINDOW)..];
    let set = stream.set_dictionary(kept);
    set.map(|_| ()).map_err(|_| FrameError::Deflate)
}

/// Decompresses bytes until the input is consumed or a final block ends. Returns whether a final
/// block ended.
fn inflate_part(
    stream: &mut Decompress,
    part: &mut &[u8],
    output: &mut Vec<u8>,
    limit: usize,
) -> Result<bool, FrameError> {
    loop {
        if output.len() == output.capacity() {
            let wanted = output.len().max(2 * part.len()).max(MIN_ROOM);
            // One byte more than allowed is enough to detect that the message is too large.
            output.reserve_exact(wanted.min((limit - output.len()).saturating_add(1)));
        }
        let before = stream.total_in();
        let status = stream.decompress_vec(part, output, FlushDecompress::None);
        let status = status.map_err(|_| FrameError::Deflate)?;
        let read = usize::try_from(stream.total_in() - before);
        *part = &part[read.unwrap_or(part.len())..];
        if output.len() > limit {
            return Err(FrameError::MessageTooLarge);
        }
        if status == Status::StreamEnd {
            return Ok(true);
        }
        if part.is_empty() && output.len() < output.capacity() {
            return Ok(false);
        }
    }
}
