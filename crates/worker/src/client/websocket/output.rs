//! Frames of a connection that the operating system has not accepted yet.

use std::collections::VecDeque;

/// Queued bytes, and the positions of messages and pongs in them.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// Length of the written part of `bytes`. The part is removed when it is half of `bytes`.
    /// Otherwise, each write would move a long queue.
    written: usize,
    /// Number of bytes sent on the connection before the start of `bytes`.
    removed: u64,
    /// Messages and pongs that are not completely written, in order.
    frames: VecDeque<QueuedFrames>,
    /// Total length in bytes of the pongs in `frames`.
    pong_bytes: u64,
}

/// A message, or several consecutive pongs.
#[derive(Debug)]
struct QueuedFrames {
    kind: FrameKind,
    /// Position after the last byte, counted from the start of the connection.
    end: u64,
    bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameKind {
    Message,
    Pong,
}

/// The frames that a write completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WrittenFrames {
    /// Number of messages whose last byte was written.
    pub messages: u64,
    /// Total length of these messages in bytes, including frame headers.
    pub message_bytes: u64,
    /// Number of bytes written, including all kinds of frames.
    pub bytes: u64,
}

impl Output {
    /// Returns whether all bytes were written.
    pub(super) fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    /// Returns the bytes that have not been written.
    pub(super) fn unwritten(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// Returns an upper bound for the number of unwritten pong bytes.
    pub(super) fn pong_bytes(&self) -> u64 {
        self.pong_bytes
    }

    /// Returns the allocated memory in bytes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.frames.capacity() * size_of::<QueuedFrames>()
    }

    /// Returns the buffer to which frames are appended.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Returns the position after the last queued byte, counted from the start of the connection.
    pub(super) fn end(&self) -> u64 {
        self.removed + self.bytes.len() as u64
    }

    /// Records that the bytes from `start` to the end are a message.
    pub(super) fn note_message(&mut self, start: u64) {
        let end = self.end();
        self.frames.push_back(QueuedFrames {
            kind: FrameKind::Message,
            end,
            bytes: end - start,
        });
    }

    /// Records that the bytes from `start` to the end are pongs.
    pub(super) fn note_pongs(&mut self, start: u64) {
        let end = self.end();
        let bytes = end - start;
        if bytes == 0 {
            return;
        }
        self.pong_bytes += bytes;
        match self.frames.back_mut() {
            Some(last) if last.kind == FrameKind::Pong => {
                last.end = end;
                last.bytes += bytes;
            }
            _ => self.frames.push_back(QueuedFrames {
                kind: FrameKind::Pong,
                end,
                bytes,
            }),
        }
    }

    /// Removes bytes that were written.
    pub(super) fn advance(&mut self, bytes: usize) -> WrittenFrames {
        self.written = self.bytes.len().min(self.written + bytes);
        let position = self.removed + self.written as u64;
        if self.is_empty() {
            (self.bytes, self.written, self.removed) = (Vec::new(), 0, position);
        } else if self.written >= self.bytes.len() / 2 {
            self.bytes.drain(..self.written);
            (self.written, self.removed) = (0, position);
        }
        let mut settled = WrittenFrames {
            bytes: bytes as u64,
            ..WrittenFrames::default()
        };
        while let Some(first) = self.frames.front()
            && first.end <= position
        {
            match first.kind {
                FrameKind::Message => {
                    settled.messages += 1;
                    settled.message_bytes += first.bytes;
                }
                FrameKind::Pong => self.pong_bytes -= first.bytes,
            }
            self.frames.pop_front();
        }
        if self.frames.is_empty() {
            self.frames = VecDeque::new();
        }
        settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(output: &mut Output, length: usize) {
        let start = output.end();
        output.buffer().extend(std::iter::repeat_n(b'm', length));
        output.note_message(start);
    }

    fn pong(output: &mut Output, length: usize) {
        let start = output.end();
        output.buffer().extend(std::iter::repeat_n(b'p', length));
        output.note_pongs(start);
    }

    fn written(messages: u64, message_bytes: u64, bytes: u64) -> WrittenFrames {
        WrittenFrames {
            messages,
            message_bytes,
            bytes,
        }
    }

    #[test]
    fn message_is_settled_when_its_last_byte_is_written() {
        let mut output = Output::default();
        message(&mut output, 10);
        output.buffer().extend(b"close");
        message(&mut output, 20);
        assert_eq!(output.advance(9), written(0, 0, 9));
        assert_eq!(output.advance(1), written(1, 10, 1));
        assert_eq!(output.unwritten().len(), 25);
        message(&mut output, 30);
        assert_eq!(output.advance(26), written(1, 20, 26));
        assert_eq!(output.advance(29), written(1, 30, 29));
        assert!(output.is_empty());
        assert_eq!((output.memory(), output.end()), (0, 65));
    }

    #[test]
    fn unwritten_pongs_are_counted_apart_from_messages() {
        let mut output = Output::default();
        message(&mut output, 1000);
        pong(&mut output, 6);
        pong(&mut output, 7);
        message(&mut output, 1000);
        pong(&mut output, 8);
        assert_eq!((output.pong_bytes(), output.frames.len()), (21, 4));
        assert_eq!(output.advance(1013), written(1, 1000, 1013));
        assert_eq!(output.pong_bytes(), 8);
        assert_eq!(output.advance(1008), written(1, 1000, 1008));
        assert_eq!(output.pong_bytes(), 0);
    }

    #[test]
    fn small_writes_keep_the_order_of_the_bytes() {
        let mut output = Output::default();
        output.buffer().extend(0..=255_u8);
        let mut seen = Vec::new();
        while let Some(first) = output.unwritten().first() {
            seen.push(*first);
            output.advance(1);
        }
        assert_eq!(seen, (0..=255).collect::<Vec<u8>>());
    }
}
