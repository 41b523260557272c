//! Who uses which connection: each virtual user its own, or all of them a capped set. A connection is used by one
//! exchange at a time.

use std::{cell::RefCell, rc::Rc};

use measure::Fault;

use super::{http1::Http1, transport::Transport};
use crate::{
    deadlines::Limit,
    net::{
        fault::timed_out,
        semaphore::{Permit, Semaphore},
    },
};

/// An index into the worker's table of origins.
pub type OriginId = u32;

/// An open connection.
#[derive(Debug)]
pub struct Conn {
    /// What carries it.
    pub transport: Http1,
    /// To whom.
    pub origin: OriginId,
    /// When it was last used.
    pub idle_since_ns: u64,
    /// Requests it has carried.
    pub carried: u64,
    /// Counts it as open until it is dropped.
    pub(crate) _open: OpenCount,
}

/// Counts an open connection of the worker while it lives.
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

/// A semaphore for so many, per origin.
#[derive(Debug)]
struct Semaphores {
    size: usize,
    by_origin: RefCell<Vec<(OriginId, Rc<Semaphore>)>>,
}

/// Idle connections, and how many may be in use.
#[derive(Debug)]
pub struct Pool {
    #[allow(
        clippy::vec_box,
        reason = "taken and put back at each request: what moves is small, and users carry no room for two"
    )]
    idle: RefCell<Vec<Box<Conn>>>,
    /// A semaphore per origin, for shared pools.
    semaphores: Option<Semaphores>,
}

impl Pool {
    /// The pool of one virtual user, which does one thing at a time.
    #[must_use]
    pub fn own() -> Pool {
        Pool {
            idle: RefCell::default(),
            semaphores: None,
        }
    }

    /// A pool of at most so many connections per origin.
    #[must_use]
    pub fn shared(connections: usize) -> Pool {
        Pool {
            idle: RefCell::default(),
            semaphores: Some(Semaphores {
                size: connections,
                by_origin: RefCell::default(),
            }),
        }
    }

    /// Waits until a connection to the origin may be used; own pools never wait.
    ///
    /// # Errors
    /// When the limit cuts the wait short.
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

    /// An idle connection to the origin that is still good: not idle for too long, not closed by the peer.
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

    /// Takes the idle connections of another pool.
    pub fn take_over(&self, other: &Pool) {
        self.idle.borrow_mut().append(&mut other.idle.borrow_mut());
    }

    /// Keeps a connection for the next exchange.
    pub fn put(&self, conn: Box<Conn>) {
        let mut idle = self.idle.borrow_mut();
        if idle.capacity() == 0 {
            // A user has one, as a rule: room for more would be carried by thousands in vain.
            idle.reserve_exact(1);
        }
        idle.push(conn);
    }
}

/// The pool that a plan asks for, for one of so many workers; none where each user has its own.
#[must_use]
pub fn of_worker(plan: plan::Pool, worker: usize, workers: usize) -> Option<Pool> {
    match plan {
        plan::Pool::PerUser => None,
        plan::Pool::Shared(n) => {
            let (n, workers) = (n as usize, workers.max(1));
            Some(Pool::shared(
                n / workers + usize::from(worker < n % workers),
            ))
        }
    }
}
