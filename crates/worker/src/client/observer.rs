//! The observer of an exchange, to which connections of all versions of HTTP report.

use std::cell::RefCell;

use measure::Fault;

use crate::{clock::Clock, deadlines::Cut};
use codec::{
    heads::Heads,
    reply::{Keep, Reply},
};

/// Resources that a worker lends to a connection for an exchange.
#[derive(Debug)]
pub struct WorkerBuffers<'w> {
    /// The worker's clock.
    pub clock: &'w Clock,
    /// The receive buffer.
    pub buffer: &'w RefCell<Box<[u8]>>,
    /// Cache of parsed heads.
    pub heads: &'w RefCell<Heads>,
    /// Buffer whose size limits the number of bytes to discard per call. No data is written to it.
    pub scratch: &'w RefCell<Vec<u8>>,
}

/// Observes an exchange and decides which parts of the responses to keep.
///
/// A connection reports the first write, what it wrote and read, each growth of a response (its
/// head, then parts of its body), each complete response, and the end.
///
/// Over HTTP/2, several requests share the writes. `wrote` is then called once, with all bytes of
/// the request, when its first byte was written, and `on_begin` and `sent` are not called.
pub trait ExchangeObserver {
    /// Returns which parts of the next response to keep.
    fn next(&self) -> ResponseExpectation;
    /// Called before the first write starts.
    fn on_begin(&mut self, clock: &Clock) {
        let _ = clock;
    }
    /// Called after bytes were written.
    fn wrote(&mut self, bytes: usize) {
        let _ = bytes;
    }
    /// Called when all bytes have been passed to the operating system.
    fn sent(&mut self, clock: &Clock) {
        let _ = clock;
    }
    /// Called after bytes were read.
    fn on_read(&mut self, now_ns: u64, bytes: usize);
    /// Called after `bytes` of the body were discarded unread. The head has already been reported.
    fn on_discarded(&mut self, bytes: usize, clock: &Clock);
    /// Called when more of a response has arrived, but it is still incomplete. Fails if the memory
    /// budget is exceeded.
    fn on_partial(&mut self, reply: &mut Reply, now_ns: u64) -> Result<(), Fault> {
        let _ = (reply, now_ns);
        Ok(())
    }
    /// Called when a response is complete. Returns whether it is the last one. Fails if the memory
    /// budget is exceeded.
    fn answered(&mut self, reply: &mut Reply, now_ns: u64) -> Result<bool, Fault>;
    /// Called at the end with the last response, complete or partial.
    fn on_end(&mut self, reply: &mut Reply, result: Result<u64, ExchangeError>) {
        let _ = (reply, result);
    }
    /// Called when the limit has expired. Returns the fault, or `None` to continue waiting.
    fn on_deadline(&mut self, cut: Cut) -> Option<Fault>;
    /// Returns whether to accept a response that arrives before the request was fully written.
    fn accepts_early_response(&self) -> bool {
        false
    }
}

/// Properties of the next response, and the parts to keep.
#[derive(Debug, Clone, Copy)]
pub struct ResponseExpectation {
    /// Parts of the response to keep.
    pub keep: Keep,
    /// Whether the request was HEAD, so that the response has no body.
    pub to_head: bool,
    /// Whether more responses follow.
    pub more: bool,
}

/// The fault of a failed exchange, and the stage at which it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeError(pub Fault, pub ExchangeStage);

/// Stage at which an exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeStage {
    /// The connection could not be established.
    Connect,
    /// The request was being written.
    Write,
    /// The client was waiting for the response.
    Read,
}
