//! Reading of a connection event by event, for scripts that handle each message, ping and pong
//! themselves.

use std::{
    rc::Rc,
    task::{Context, Poll, Waker},
};

use codec::websocket;
use measure::Fault;

use super::{CLOSE_WAIT_NS, Claim, Message, WebSocket};
use crate::deadlines::Limit;

/// An event that a server sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketEvent {
    /// A text message.
    Text(String),
    /// A binary message.
    Binary(Vec<u8>),
    /// A ping. The client answers it automatically.
    Ping(Vec<u8>),
    /// A pong.
    Pong(Vec<u8>),
}

impl WebSocket {
    /// Queues a text message, and writes as much as possible without waiting. The message counts as
    /// sent when its last byte has been written.
    ///
    /// # Errors
    ///
    /// Fails if the connection has ended, or if the message cannot be compressed.
    pub fn push_text(&mut self, text: &str) -> Result<(), Fault> {
        self.push_message(|socket| socket.queue(text))
    }

    /// Queues a binary message, and writes as much as possible without waiting. The message counts
    /// as sent when its last byte has been written.
    ///
    /// # Errors
    ///
    /// Fails if the connection has ended, or if the message cannot be compressed.
    pub fn push_binary(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.push_message(|socket| {
            let mask = socket.mask();
            match &socket.compressor {
                Some(compressor) => {
                    let mut compressor = compressor.borrow_mut();
                    let written = compressor.write_binary(socket.out.buffer(), mask, bytes);
                    written.map_err(super::frame_fault)
                }
                None => {
                    websocket::write_binary(socket.out.buffer(), mask, bytes);
                    Ok(())
                }
            }
        })
    }

    fn push_message(
        &mut self,
        queue: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.push(|socket| {
            let start = socket.out.end();
            queue(socket)?;
            socket.out.note_message(start);
            Ok(())
        })
    }

    /// Queues a ping of at most 125 bytes, and writes as much as possible without waiting.
    ///
    /// # Errors
    ///
    /// Fails if the connection has ended, or if the payload is too long.
    pub fn push_ping(&mut self, payload: &[u8]) -> Result<(), Fault> {
        self.push(|socket| {
            let mask = socket.mask();
            websocket::write_ping(socket.out.buffer(), mask, payload).map_err(super::frame_fault)
        })
    }

    fn push(&mut self, queue: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        if let Some(end) = self.ended {
            return Err(end.fault);
        }
        queue(self)?;
        // The remaining bytes are written when the connection is read or flushed.
        let _ = self.poll_write(&mut Context::from_waker(Waker::noop()));
        match self.reserve(0) {
            true => Ok(()),
            false => Err(self.lost(Fault::OutOfMemory)),
        }
    }

    /// Returns the number of bytes that the operating system has not accepted yet.
    #[must_use]
    pub fn unwritten(&self) -> usize {
        self.out.unwritten().len()
    }

    /// Writes all queued bytes. Meanwhile, bytes are read but not handled.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let written = self.poll_write(cx);
        if written.is_pending() {
            // A server that waits for the client to read would never accept the message.
            self.read_ahead(cx);
        }
        written
    }

    /// Reads the next message, ping or pong. After [`WebSocket::begin_closing`], messages are
    /// discarded as unclaimed. Fails at the end of the connection, which [`WebSocket::ended`]
    /// describes.
    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Result<SocketEvent, Fault>> {
        // Check the limit first, because a server may never stop sending.
        if let Some(limit) = &self.closing
            && let Poll::Ready(cut) = limit.poll(cx)
        {
            return Poll::Ready(Err(super::cut_fault(cut)));
        }
        if self.closing.is_some() {
            self.keeps_control = false;
            let read = self.poll_messages(cx, &mut |_, _| Claim::Unclaimed);
            return read.map(|read| Err(read.err().unwrap_or(Fault::Other)));
        }
        self.keeps_control = true;
        let mut message = None;
        let mut receive = |received: Message<'_>, _| {
            message = Some(match received {
                Message::Text(text) => SocketEvent::Text(text.to_owned()),
                Message::Binary(bytes) => SocketEvent::Binary(bytes.to_vec()),
            });
            Claim::Last
        };
        let read = self.poll_messages(cx, &mut receive);
        read.map(|read| {
            read?;
            message.or_else(|| self.control.take()).ok_or(Fault::Other)
        })
    }

    /// Starts to close the connection. No more messages can be sent, and reading ends within a
    /// second, even if the server does not close the connection. The code 1005 stands for a close
    /// frame without a code.
    pub fn begin_closing(&mut self, code: u16, reason: &str) {
        if self.ended.is_some() {
            return;
        }
        self.begin_close(code, reason);
        let limit = Rc::new(Limit::default());
        let until = self.worker.clock.now().saturating_add(CLOSE_WAIT_NS);
        self.worker.deadlines.borrow_mut().limit(&limit, until);
        self.closing = Some(limit);
        // The remaining bytes are written when the connection is read.
        let _ = self.poll_write(&mut Context::from_waker(Waker::noop()));
    }
}
