//! Connection pools: one for each virtual user, or a shared pool with a limit.
//!
//! [`ConnectionPool::checkout`] grants a request an HTTP/1.1 connection or an HTTP/2 stream. Waiting
//! for either is part of *wait*.

use std::{cell::RefCell, rc::Rc};

use codec::{Origin, Want};
use measure::{Fault, LabelId, sample::Intended};
use plan::{
    StreamSpread,
    mutant::{self, Mutant},
};

use super::{
    Client,
    conn::Conn,
    exchange::Exchange,
    http2::{PooledStream, StreamRequest, pool::StreamPool},
    request::Built,
};
use crate::{
    deadlines::Limit,
    net::{
        ConnectionInfo,
        fault::timed_out,
        semaphore::{Permit, Semaphore},
    },
};

/// Index of an origin in the worker's table.
pub type OriginId = u32;

/// What a request needs of a pool.
#[derive(Clone, Copy)]
pub(super) struct Checkout<'c> {
    pub(super) client: &'c Client,
    pub(super) origin: &'c Origin,
    /// Label of the times of a new connection.
    pub(super) label: LabelId,
    pub(super) limit: &'c Rc<Limit>,
}

/// A connection, or a stream of one, that a request may use once. If it is dropped before the
/// response is complete, the connection is closed, or the stream is reset. An unused stream is
/// returned.
pub(super) enum PooledConnection<'p> {
    /// An HTTP/1.1 connection.
    Http1(PooledConn<'p>),
    /// A stream of an HTTP/2 connection.
    Http2(PooledStream),
}

/// An HTTP/1.1 connection of a pool.
pub(super) struct PooledConn<'p> {
    conn: Box<Conn>,
    pool: &'p ConnectionPool,
    _permit: Option<Permit>,
}

/// A request to send over a connection.
pub(super) struct OutgoingRequest<'a> {
    /// The request without cookies and trace context.
    pub(super) built: &'a Built,
    /// Head and body as encoded for HTTP/1.1.
    pub(super) bytes: &'a [u8],
    /// Whether the method is HEAD, whose response has no body.
    pub(super) to_head: bool,
    pub(super) want: Want,
    pub(super) limit: &'a Rc<Limit>,
    /// Whether a server has refused the request before. A second refusal is a failure.
    pub(super) was_refused: bool,
}

/// How sending a request ended, unless it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendResult {
    /// The response is complete.
    Answered,
    /// The server certainly did not process the request, so it can be sent again.
    NotProcessed {
        /// Whether the server refused the request, rather than retired the connection.
        is_refusal: bool,
    },
}

impl PooledConnection<'_> {
    /// Returns what is known of the connection.
    pub(super) fn info(&self) -> ConnectionInfo {
        match self {
            PooledConnection::Http1(pooled) => pooled.conn.info(),
            PooledConnection::Http2(stream) => stream.info(),
        }
    }

    /// Returns the name of the connection's protocol.
    pub(super) fn version(&self) -> &'static str {
        match self {
            PooledConnection::Http1(_) => "HTTP/1.1",
            PooledConnection::Http2(_) => "HTTP/2",
        }
    }

    /// Sends a request and reads its response.
    pub(super) async fn send(
        &mut self,
        client: &Client,
        request: &OutgoingRequest<'_>,
        exchange: &mut Exchange,
    ) -> Result<SendResult, Fault> {
        match self {
            PooledConnection::Http1(pooled) => {
                client.exchange(&mut pooled.conn, request, exchange).await?;
                Ok(SendResult::Answered)
            }
            // The future is boxed, because it would enlarge every user of HTTP/1.1.
            PooledConnection::Http2(stream) => {
                Box::pin(stream.send(client, request, exchange)).await
            }
        }
    }

    /// Returns the connection to its pool after a complete response, if it can be used again.
    pub(super) fn give_back(self, now_ns: u64) {
        if let PooledConnection::Http1(PooledConn { mut conn, pool, .. }) = self
            && conn.is_reusable()
        {
            conn.idle_since_ns = now_ns;
            pool.put(conn);
        }
    }
}

#[derive(Debug)]
struct Semaphores {
    size: usize,
    by_origin: RefCell<Vec<(OriginId, Rc<Semaphore>)>>,
}

/// A pool of idle connections. A shared pool also limits their number.
#[derive(Debug)]
pub struct ConnectionPool {
    #[allow(
        clippy::vec_box,
        reason = "boxed, because connections move at each request and most users need only one"
    )]
    idle: RefCell<Vec<Box<Conn>>>,
    semaphores: Option<Semaphores>,
    /// HTTP/2 connections by origin.
    streams: RefCell<Vec<OriginStreams>>,
}

#[derive(Debug)]
struct OriginStreams {
    origin: OriginId,
    pool: Rc<StreamPool>,
}

impl ConnectionPool {
    /// Creates the pool of one virtual user.
    #[must_use]
    pub fn own() -> ConnectionPool {
        ConnectionPool {
            idle: RefCell::default(),
            semaphores: None,
            streams: RefCell::default(),
        }
    }

    /// Creates a shared pool with a maximum number of connections per origin.
    #[must_use]
    pub fn shared(connections: usize) -> ConnectionPool {
        ConnectionPool {
            idle: RefCell::default(),
            semaphores: Some(Semaphores {
                size: connections,
                by_origin: RefCell::default(),
            }),
            streams: RefCell::default(),
        }
    }

    /// Waits for a connection to an origin, or for a stream of one, and opens a connection if none
    /// is free. `announce` is called when the request need not wait any longer.
    ///
    /// Fails if the limit expires, or if no connection can be opened.
    pub(super) async fn checkout<'p>(
        &'p self,
        wanted: Checkout<'_>,
        exchange: &mut Exchange,
        announce: &mut impl FnMut(u64),
    ) -> Result<PooledConnection<'p>, Fault> {
        let client = wanted.client;
        let origin_id = client.origin_id(wanted.origin);
        if let Some(protocol) = client.protocol(origin_id, wanted.origin) {
            let request = StreamRequest {
                pool: self,
                protocol,
                origin_id,
                wanted,
            };
            if let Some(stream) = request.checkout(exchange).await? {
                announce(client.worker.clock.now());
                return Ok(PooledConnection::Http2(stream));
            }
        }
        let permit = self.enter(origin_id, wanted.limit).await?;
        // The first request starts now unless it had to wait.
        let is_first = exchange.moments.first_write.is_none();
        let now = if permit.is_none() && is_first {
            exchange.moments.started
        } else {
            client.worker.clock.now()
        };
        if mutant::is(Mutant::StampAtDequeue) && exchange.intended.is_paced() {
            exchange.moments.started = now;
            exchange.intended = Intended::scheduled(now);
        }
        announce(now);
        let conn = match self.take(origin_id, now, client.http().idle_close_ns) {
            Some(conn) => conn,
            // The future is boxed because it is large and connecting is rare.
            None => Box::pin(client.open(wanted, exchange)).await?,
        };
        Ok(PooledConnection::Http1(PooledConn {
            conn,
            pool: self,
            _permit: permit,
        }))
    }

    /// Waits until a connection may be used. Returns immediately if the pool has no limit. Fails if
    /// `limit` expires.
    async fn enter(&self, origin: OriginId, limit: &Limit) -> Result<Option<Permit>, Fault> {
        let Some(semaphores) = &self.semaphores else {
            return Ok(None);
        };
        let semaphore = {
            let mut by_origin = semaphores.by_origin.borrow_mut();
            match by_origin.iter().find(|(id, _)| *id == origin) {
                Some((_, semaphore)) => Rc::clone(semaphore),
                None => {
                    let semaphore = Semaphore::new(semaphores.size);
                    by_origin.push((origin, Rc::clone(&semaphore)));
                    semaphore
                }
            }
        };
        semaphore.acquire(limit).await.map(Some).map_err(timed_out)
    }

    /// Takes an idle connection that has not expired and that the peer has not closed.
    fn take(&self, origin: OriginId, now_ns: u64, idle_close_ns: Option<u64>) -> Option<Box<Conn>> {
        let mut idle = self.idle.borrow_mut();
        while let Some(at) = idle.iter().rposition(|conn| conn.origin == origin) {
            let mut conn = idle.swap_remove(at);
            let too_old = idle_close_ns
                .is_some_and(|limit| now_ns.saturating_sub(conn.idle_since_ns) > limit);
            if !too_old && !conn.is_stale() {
                return Some(conn);
            }
        }
        None
    }

    /// Returns the HTTP/2 connections to an origin. A virtual user has at most one connection.
    pub(super) fn streams(&self, origin: OriginId, spread: StreamSpread) -> Rc<StreamPool> {
        let mut streams = self.streams.borrow_mut();
        if let Some(known) = streams.iter().find(|known| known.origin == origin) {
            return Rc::clone(&known.pool);
        }
        let pool = StreamPool::new(self.semaphores.as_ref().map_or(1, |all| all.size), spread);
        streams.push(OriginStreams {
            origin,
            pool: Rc::clone(&pool),
        });
        pool
    }

    /// Moves the idle connections of another pool into this one.
    pub fn take_over(&self, other: &ConnectionPool) {
        for known in other.streams.borrow().iter() {
            self.streams(known.origin, known.pool.spread())
                .take_over(&known.pool);
        }
        self.idle.borrow_mut().append(&mut other.idle.borrow_mut());
    }

    /// Stores a connection for reuse.
    pub(super) fn put(&self, conn: Box<Conn>) {
        let mut idle = self.idle.borrow_mut();
        if idle.capacity() == 0 {
            // Most users have one connection. More capacity would waste memory with thousands of
            // users.
            idle.reserve_exact(1);
        }
        idle.push(conn);
    }
}

/// Creates the pool for one of `workers` workers. Returns `None` if each user has a separate pool.
#[must_use]
pub fn of_worker(plan: plan::PoolPolicy, worker: usize, workers: usize) -> Option<ConnectionPool> {
    match plan {
        plan::PoolPolicy::PerUser => None,
        plan::PoolPolicy::Shared(n) => {
            let (n, workers) = (n as usize, workers.max(1));
            Some(ConnectionPool::shared(
                n / workers + usize::from(worker < n % workers),
            ))
        }
    }
}
