//! Queueing and writing of frames. The connection is read at the same time.

use std::{
    rc::Rc,
    task::{Context, Poll},
};

use codec::websocket;
use measure::Fault;

use super::{MAX_UNREAD, SentMessage, WebSocket, cut_fault, frame_fault, output::WrittenFrames};
use crate::{deadlines::Limit, net::fault::socket_fault};

/// Callback for the frames that each write completed.
pub type WriteObserver = Box<dyn Fn(WrittenFrames)>;

impl WebSocket {
    /// Calls `observer` after each write. This includes writes while the connection closes in the
    /// background.
    pub fn observe_writes(&mut self, observer: WriteObserver) {
        self.observer = Some(observer);
    }

    /// Queues a text message. It is written when the connection is used next.
    pub(in crate::client) fn queue(&mut self, text: &str) -> Result<(), Fault> {
        let mask = self.mask();
        match &mut self.compressor {
            Some(compressor) => {
                let mut compressor = compressor.borrow_mut();
                let written = compressor.write_text(self.out.buffer(), mask, text);
                written.map_err(frame_fault)
            }
            None => {
                websocket::write_text(self.out.buffer(), mask, text);
                Ok(())
            }
        }
    }

    /// Sends a text message.
    pub async fn send(&mut self, text: &str, limit: &Limit) -> Result<SentMessage, Fault> {
        if let Some(end) = self.ended {
            return Err(end.fault);
        }
        let start = self.out.end();
        self.queue(text)?;
        self.out.note_message(start);
        let mut sent = SentMessage {
            first_write_ns: self.worker.clock.now(),
            done_ns: 0,
            bytes: self.out.end() - start,
        };
        let written = std::future::poll_fn(|cx| match self.poll_write(cx) {
            Poll::Ready(written) => Poll::Ready(written),
            Poll::Pending => {
                // A server that waits for the client to read would never accept the message.
                self.read_ahead(cx);
                limit.poll(cx).map(|cut| Err(cut_fault(cut)))
            }
        });
        written.await?;
        sent.done_ns = self.worker.clock.now();
        Ok(sent)
    }

    /// Returns the mask of the next frame. Masks only need to differ between frames, because they
    /// protect proxies from content that a web page chooses.
    pub(super) fn mask(&mut self) -> Option<[u8; 4]> {
        self.masks = self.masks.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.masks ^ (self.masks >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let [.., a, b, c, d] = mixed.to_be_bytes();
        Some([a, b, c, d])
    }

    /// Writes the bytes that the operating system accepts, and counts the completed messages.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let result = loop {
            if self.out.is_empty() {
                break self.stream.poll_flush(cx).map_err(|e| socket_fault(&e));
            }
            match self.stream.poll_write(cx, self.out.unwritten()) {
                Poll::Ready(Ok(0)) => break Poll::Ready(Err(Fault::BrokenPipe)),
                Poll::Ready(Ok(n)) => self.settle(n),
                Poll::Ready(Err(e)) => break Poll::Ready(Err(socket_fault(&e))),
                Poll::Pending => break Poll::Pending,
            }
        };
        match result {
            Poll::Ready(Err(fault)) => Poll::Ready(Err(self.lost(fault))),
            result => result,
        }
    }

    fn settle(&mut self, written: usize) {
        let frames = self.out.advance(written);
        if frames.messages > 0 {
            self.count(|counts| {
                counts.sent += frames.messages;
                counts.bytes_sent += frames.message_bytes;
            });
        }
        if let Some(observer) = &self.observer {
            observer(frames);
        }
    }

    /// Reads bytes without handling them, as far as the connection and the memory budget allow.
    pub(super) fn read_ahead(&mut self, cx: &mut Context<'_>) {
        if self.handled > self.ahead.len() / 2 {
            self.ahead.drain(..self.handled);
            self.handled = 0;
        }
        let worker = Rc::clone(&self.worker);
        let mut buffer = worker.buffer.borrow_mut();
        while self.ahead.len() - self.handled < MAX_UNREAD && self.reserve(buffer.len()) {
            match self.stream.poll_read(cx, &mut buffer) {
                // The next read finds the end or the fault again.
                Poll::Ready(Ok(n)) if n > 0 => self.ahead.extend_from_slice(&buffer[..n]),
                _ => return,
            }
        }
    }

    /// Reserves memory for the connection and for `more` additional bytes. Returns `false` if the
    /// budget is exceeded.
    pub(super) fn reserve(&self, more: usize) -> bool {
        let memory = self.out.memory() + self.reader.held() + self.ahead.len() + more;
        self.held.hold(memory as u64)
    }
}
