//! Output buffer, with marks for the requests and acknowledgements in it.

use std::collections::VecDeque;

use super::{error::ConnectionError, streams::StreamId};

/// Maximum number of acknowledgements in the buffer.
const MAX_ACKNOWLEDGEMENTS: usize = 64;
/// Number of written bytes at which they are removed from the buffer.
const COMPACT: usize = 64 << 10;

/// Bytes that the caller should write to the socket.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    start: usize,
    /// Number of bytes written that precede the start of the buffer.
    written: u64,
    requests: VecDeque<RequestMark>,
    /// Positions of acknowledgements.
    acknowledgements: VecDeque<u64>,
}

/// Position of the first byte of a request.
#[derive(Debug)]
struct RequestMark {
    at: u64,
    stream: StreamId,
}

impl Output {
    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Returns the buffer, so that bytes can be appended.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Marks the end of the buffer as the start of a request.
    pub(super) fn mark_request(&mut self, stream: StreamId) {
        let at = self.end();
        self.requests.push_back(RequestMark { at, stream });
    }

    /// Marks the end of the buffer as the start of an acknowledgement. Fails if too many are queued
    /// because the peer does not read them.
    pub(super) fn mark_acknowledgement(&mut self) -> Result<(), ConnectionError> {
        if self.acknowledgements.len() >= MAX_ACKNOWLEDGEMENTS {
            return Err(ConnectionError::AcknowledgementFlood);
        }
        self.acknowledgements.push_back(self.end());
        Ok(())
    }

    fn end(&self) -> u64 {
        self.written + self.bytes.len() as u64
    }

    /// Removes written bytes, and calls `started` for each request whose first byte is among them.
    pub(super) fn advance(&mut self, n: usize, mut started: impl FnMut(StreamId)) {
        self.start += n.min(self.pending().len());
        let end = self.written + self.start as u64;
        while self.requests.front().is_some_and(|mark| mark.at < end)
            && let Some(mark) = self.requests.pop_front()
        {
            started(mark.stream);
        }
        while self.acknowledgements.front().is_some_and(|at| *at < end) {
            self.acknowledgements.pop_front();
        }
        if self.start == self.bytes.len() || self.start >= COMPACT {
            self.written = end;
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }
}
