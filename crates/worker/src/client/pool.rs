//! Connection pools: one for each virtual user, or a shared pool with a limit.

use std::{cell::RefCell, rc::Rc};

use measure::Fault;
use plan::StreamSpread;

use super::{http1::Http1, http2::pool::StreamPool, transport::Transport};
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

/// An open HTTP/1.1 connection.
#[derive(Debug)]
pub struct Conn {
    /// HTTP/1.1 on this connection.
    pub transport: Http1,
    /// Origin of the server.
    pub origin: OriginId,
    /// Addresses and TLS parameters of the connection.
    pub info: ConnectionInfo,
    /// When the connection was last used.
    pub idle_since_ns: u64,
    /// Number of requests sent on the connection.
    pub carried: u64,
    /// Counts the connection while it is open. `None` if the client is unrecorded.
    pub(crate) _open: Option<OpenCount>,
}

#[derive(Debug)]
pub(crate) struct OpenCount(Rc<std::cell::Cell<u64>>);

impl OpenCount {
    pub(crate) fn new(count: &Rc<std::cell::Cell<u64>>) -> OpenCount {
        count.set(count.get() + 1);
        OpenCount(Rc::clone(count))
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
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

    /// Waits until a connection may be used. Returns immediately if the pool has no limit. Fails if
    /// `limit` expires.
    pub async fn enter(&self, origin: OriginId, limit: &Limit) -> Result<Option<Permit>, Fault> {
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
    #[must_use]
    pub fn take(
        &self,
        origin: OriginId,
        now_ns: u64,
        idle_close_ns: Option<u64>,
    ) -> Option<Box<Conn>> {
        let mut idle = self.idle.borrow_mut();
        while let Some(at) = idle.iter().rposition(|conn| conn.origin == origin) {
            let mut conn = idle.swap_remove(at);
            let too_old = idle_close_ns
                .is_some_and(|limit| now_ns.saturating_sub(conn.idle_since_ns) > limit);
            if !too_old && !conn.transport.is_stale() {
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
    pub fn put(&self, conn: Box<Conn>) {
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
