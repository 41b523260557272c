//! The seam between what asks and what carries: a connection that takes a request and yields its answers. HTTP/1.1 is one; another
//! protocol that answers requests is another implementation. Nothing here knows virtual users, samples or labels.

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

/// A connection that takes a request and yields its answers.
#[allow(
    async_fn_in_trait,
    reason = "nothing here crosses threads: a worker is one"
)]
pub trait Transport {
    /// Sends a request and reads its answers, telling of each; ends when the last one was complete, and says when that was.
    ///
    /// # Errors
    /// What an answer was lost by: also the limit, unless the watcher waits on.
    async fn exchange<W: Watch>(
        &mut self,
        io: &Io<'_>,
        request: &[u8],
        limit: &Limit,
        watch: &mut W,
    ) -> Result<u64, Lost>;

    /// Whether it may carry another request.
    fn is_reusable(&self) -> bool;

    /// Whether the peer has ended an idle connection, as far as is known without asking the kernel anew.
    fn is_stale(&mut self) -> bool;
}

/// What a worker lends to a connection while it exchanges: none of it belongs to one.
#[derive(Debug)]
pub struct Io<'w> {
    /// Its clock.
    pub clock: &'w Clock,
    /// Its receive buffer.
    pub buffer: &'w RefCell<Box<[u8]>>,
    /// The heads that it has seen last.
    pub heads: &'w RefCell<Heads>,
    /// Only its size matters: bytes thrown away are counted in it, never written to it.
    pub scratch: &'w RefCell<Vec<u8>>,
}

/// Hears how an exchange goes, and says what is wanted of it.
pub trait Watch {
    /// What will be looked at of the answer that comes next.
    fn next(&self) -> Next;
    /// A first attempt to write is about to be made.
    fn begins(&mut self, clock: &Clock) {
        let _ = clock;
    }
    /// So many bytes were written.
    fn wrote(&mut self, bytes: usize) {
        let _ = bytes;
    }
    /// Everything was handed to the network.
    fn sent(&mut self, clock: &Clock) {
        let _ = clock;
    }
    /// So many bytes were read.
    fn came(&mut self, now_ns: u64, bytes: usize);
    /// So many bytes of a body were thrown away, behind a head that has been told of.
    fn unseen(&mut self, bytes: usize, clock: &Clock);
    /// An answer has grown and is not complete.
    ///
    /// # Errors
    /// When there is no room for more of it.
    fn grew(&mut self, reply: &mut Reply, now_ns: u64) -> Result<(), Fault> {
        let _ = (reply, now_ns);
        Ok(())
    }
    /// An answer is complete. Answers whether it was the last one that can come.
    ///
    /// # Errors
    /// When there is no room for it.
    fn answered(&mut self, reply: &mut Reply, now_ns: u64) -> Result<bool, Fault>;
    /// The limit cuts the wait short: what that is counted as; none: it waits on.
    fn cut(&mut self, cut: Cut) -> Option<Fault>;
    /// Whether an answer counts that comes although not all of the request could be written.
    fn hears_out(&self) -> bool {
        false
    }
}

/// What is wanted of the next answer.
#[derive(Debug, Clone, Copy)]
pub struct Next {
    /// What will be looked at.
    pub keep: Keep,
    /// Whether the request was HEAD: its answer has no body whatever the head says.
    pub to_head: bool,
    /// Whether more answers come behind it.
    pub more: bool,
}

/// Why an exchange did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost(pub Fault, pub Stage);

/// Where a request was when it was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// There was no connection.
    Connect,
    /// It was being written.
    Write,
    /// Its answer was awaited.
    Read,
}
