//! Interface of a connection that sends requests and yields responses. HTTP/1.1 is one
//! implementation.

use std::cell::RefCell;

use measure::Fault;

use crate::{
    clock::Clock,
    deadlines::{Cut, Limit},
};
use codec::{
    heads::Heads,
    reply::{Keep, Reply},
};

#[allow(
    async_fn_in_trait,
    reason = "nothing here crosses threads: a worker is one"
)]
/// The protocol on a connection.
pub trait Transport {
    /// Sends a request, reads its responses and reports each. Returns the time at which the last
    /// one was complete.
    ///
    /// Fails with the cause. An expired limit is a cause unless the observer continues.
    async fn exchange<W: ExchangeObserver>(
        &mut self,
        io: &WorkerBuffers<'_>,
        request: &[u8],
        limit: &Limit,
        watch: &mut W,
    ) -> Result<u64, TransportError>;

    /// Whether the connection can be reused.
    fn is_reusable(&self) -> bool;

    /// Whether the peer has closed an idle connection, as far as known without a system call.
    fn is_stale(&mut self) -> bool;
}

/// Resources that a worker lends to a connection during an exchange.
#[derive(Debug)]
pub struct WorkerBuffers<'w> {
    /// The worker's clock.
    pub clock: &'w Clock,
    /// The receive buffer.
    pub buffer: &'w RefCell<Box<[u8]>>,
    /// Cache of parsed heads.
    pub heads: &'w RefCell<Heads>,
    /// Buffer whose size limits how much is discarded per call. It is never written to.
    pub scratch: &'w RefCell<Vec<u8>>,
}

/// Observes an exchange and decides what is kept.
pub trait ExchangeObserver {
    /// Returns what to keep of the next response.
    fn next(&self) -> ResponseExpectation;
    /// The first write is about to start.
    fn on_begin(&mut self, clock: &Clock) {
        let _ = clock;
    }
    /// Bytes were written.
    fn wrote(&mut self, bytes: usize) {
        let _ = bytes;
    }
    /// All bytes were handed to the network.
    fn sent(&mut self, clock: &Clock) {
        let _ = clock;
    }
    /// Bytes were read.
    fn on_read(&mut self, now_ns: u64, bytes: usize);
    /// `bytes` of the body were discarded unread, after the head was reported.
    fn on_discarded(&mut self, bytes: usize, clock: &Clock);
    /// A response has grown but is incomplete. Fails if there is no memory for more.
    fn on_partial(&mut self, reply: &mut Reply, now_ns: u64) -> Result<(), Fault> {
        let _ = (reply, now_ns);
        Ok(())
    }
    /// A response is complete. Returns whether it is the last one. Fails if there is no memory for
    /// it.
    fn answered(&mut self, reply: &mut Reply, now_ns: u64) -> Result<bool, Fault>;
    /// The limit expired. Returns the fault, or `None` to continue waiting.
    fn on_deadline(&mut self, cut: Cut) -> Option<Fault>;
    /// Whether a response that arrives before the request was fully written is accepted.
    fn accepts_early_response(&self) -> bool {
        false
    }
}

/// What is expected of the next response, and what to keep of it.
#[derive(Debug, Clone, Copy)]
pub struct ResponseExpectation {
    /// Parts to keep.
    pub keep: Keep,
    /// Whether the request was HEAD. Its response has no body.
    pub to_head: bool,
    /// Whether more responses follow.
    pub more: bool,
}

/// Why and at which stage an exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportError(pub Fault, pub ExchangeStage);

/// Stage at which an exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeStage {
    /// There was no connection.
    Connect,
    /// The request was being written.
    Write,
    /// The response was awaited.
    Read,
}
