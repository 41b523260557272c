//! An open HTTP/1.1 connection.

use std::{cell::Cell, rc::Rc};

use super::{
    http1::Http1,
    observer::{ExchangeError, ExchangeObserver, WorkerBuffers},
    pool::OriginId,
};
use crate::{
    deadlines::Limit,
    net::{ConnectionInfo, Stream},
};

/// An open HTTP/1.1 connection.
#[derive(Debug)]
pub struct Conn {
    http1: Http1,
    /// Origin of the peer.
    pub(super) origin: OriginId,
    info: ConnectionInfo,
    /// When the connection was last used.
    pub(super) idle_since_ns: u64,
    /// Number of requests sent on the connection.
    pub(super) carried: u64,
    /// `None` outside the statistics.
    open: Option<OpenCount>,
}

/// Counts a connection as open until dropped.
#[derive(Debug)]
pub(crate) struct OpenCount(Rc<Cell<u64>>);

impl OpenCount {
    pub(crate) fn new(count: &Rc<Cell<u64>>) -> OpenCount {
        count.set(count.get() + 1);
        OpenCount(Rc::clone(count))
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// What remains of a connection after an upgrade.
pub(super) struct UpgradedStream {
    pub(super) stream: Stream,
    /// Bytes that were read after the response.
    pub(super) ahead: Vec<u8>,
    /// `None` outside the statistics.
    pub(super) open: Option<OpenCount>,
}

impl Conn {
    /// Creates a connection.
    pub(super) fn new(
        http1: Http1,
        origin: OriginId,
        info: ConnectionInfo,
        open: Option<OpenCount>,
        now_ns: u64,
    ) -> Conn {
        Conn {
            http1,
            origin,
            info,
            idle_since_ns: now_ns,
            carried: 0,
            open,
        }
    }

    /// Returns what is known of the connection.
    #[must_use]
    pub fn info(&self) -> ConnectionInfo {
        self.info
    }

    /// Whether the connection can be used again after a complete response.
    #[must_use]
    pub fn is_reusable(&self) -> bool {
        self.http1.is_reusable()
    }

    /// Whether the peer has closed an idle connection, as far as known without a system call.
    #[must_use]
    pub fn is_stale(&mut self) -> bool {
        self.http1.is_stale()
    }

    /// Sends encoded requests, and reads and reports each response. Returns when the last response
    /// was complete.
    ///
    /// # Errors
    ///
    /// Returns the cause and the stage. An expired limit is a cause unless the observer continues.
    #[inline]
    pub async fn exchange<W: ExchangeObserver>(
        &mut self,
        io: &WorkerBuffers<'_>,
        requests: &[u8],
        limit: &Limit,
        observer: &mut W,
    ) -> Result<u64, ExchangeError> {
        self.http1.exchange(io, requests, limit, observer).await
    }

    /// Returns the number of bytes that were read after a response with status 101.
    pub(super) fn bytes_after_upgrade(&self) -> u64 {
        self.http1.bytes_after_upgrade()
    }

    /// Ends HTTP on the connection, after a response with status 101.
    pub(super) fn into_upgraded(self) -> UpgradedStream {
        let (stream, ahead) = self.http1.into_upgraded();
        UpgradedStream {
            stream,
            ahead,
            open: self.open,
        }
    }
}
