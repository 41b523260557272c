//! HTTP/2 connections to one origin, and the requests that wait for a stream.
//!
//! Requests that find no free stream wait in the order of their intended starts, across all
//! connections. A free stream goes directly to the first waiter, so that no later request overtakes
//! it.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, VecDeque},
    rc::{Rc, Weak},
    task::{Context, Poll, Waker},
};

use measure::Fault;
use plan::StreamSpread;

use super::connection::Http2Connection;
use crate::{deadlines::Limit, net::fault::timed_out};

/// The connections to one origin, which belong to a worker or to one virtual user.
#[derive(Debug)]
pub struct StreamPool {
    max_connections: usize,
    spread: StreamSpread,
    connections: RefCell<Vec<Rc<Http2Connection>>>,
    /// Connections without streams, longest idle first, so that an even spread need not search all
    /// connections. Some may no longer be idle.
    idle: RefCell<VecDeque<Weak<Http2Connection>>>,
    /// Number of connections that are being opened.
    opening: Cell<usize>,
    waiters: RefCell<BTreeMap<WaiterKey, Rc<WaiterSlot>>>,
    next_waiter: Cell<u64>,
}

/// Sort key of a waiter: its intended start, then its order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WaiterKey {
    intended_ns: u64,
    number: u64,
}

#[derive(Debug, Default)]
struct WaiterSlot {
    grant: RefCell<Option<Grant>>,
    waker: RefCell<Option<Waker>>,
}

/// What a pool gives to a request.
#[derive(Debug)]
pub(super) enum Grant {
    /// A reserved stream.
    Stream(Reservation),
    /// A permit to open a connection.
    Open(OpenPermit),
}

/// A reserved stream. Dropping it returns the stream to the pool.
#[derive(Debug)]
pub(super) struct Reservation {
    pool: Rc<StreamPool>,
    connection: Rc<Http2Connection>,
    is_used: bool,
}

/// A permit to open a connection. Dropping it returns the permit to the pool.
#[derive(Debug)]
pub(super) struct OpenPermit(Rc<StreamPool>);

impl StreamPool {
    /// Creates a pool with a maximum number of connections.
    #[must_use]
    pub fn new(max_connections: usize, spread: StreamSpread) -> Rc<StreamPool> {
        Rc::new(StreamPool {
            max_connections,
            spread,
            connections: RefCell::default(),
            idle: RefCell::default(),
            opening: Cell::new(0),
            waiters: RefCell::default(),
            next_waiter: Cell::new(0),
        })
    }

    /// Returns a stream or a connection permit if one is free and no other request is waiting.
    pub(super) fn try_checkout(self: &Rc<StreamPool>) -> Option<Grant> {
        if self.waiters.borrow().is_empty() {
            self.grant_now()
        } else {
            None
        }
    }

    /// Waits for a free stream or a permit to open a connection. Fails if the limit expires.
    pub(super) async fn wait(
        self: &Rc<StreamPool>,
        intended_ns: u64,
        limit: &Limit,
    ) -> Result<Grant, Fault> {
        let number = self.next_waiter.replace(self.next_waiter.get() + 1);
        let key = WaiterKey {
            intended_ns,
            number,
        };
        let slot = Rc::new(WaiterSlot::default());
        self.waiters.borrow_mut().insert(key, Rc::clone(&slot));
        let waiting = Waiting {
            pool: self,
            key,
            slot,
        };
        std::future::poll_fn(|cx| waiting.poll(limit, cx)).await
    }

    /// Returns whether requests wait because streams are exhausted. Returns `false` if they wait
    /// only for a connection to become ready.
    pub(super) fn waits_for_streams(&self) -> bool {
        let connections = self.connections.borrow();
        self.opening.get() == 0
            && connections
                .iter()
                .all(|connection| connection.has_settings())
    }

    /// Serves the waiters in order, as far as streams and permits are free.
    pub(super) fn serve_waiters(self: &Rc<StreamPool>) {
        loop {
            if self.waiters.borrow().is_empty() {
                return;
            }
            let Some(grant) = self.grant_now() else {
                return;
            };
            let Some((_, slot)) = self.waiters.borrow_mut().pop_first() else {
                return;
            };
            *slot.grant.borrow_mut() = Some(grant);
            if let Some(waker) = slot.waker.borrow_mut().take() {
                waker.wake();
            }
        }
    }

    /// Returns a stream or a permit to open a connection, if available.
    ///
    /// An even spread prefers an idle connection, then a new connection, then the connection with
    /// the fewest streams. Otherwise, the first connection is filled before the next is opened.
    fn grant_now(self: &Rc<StreamPool>) -> Option<Grant> {
        if let Some(connection) = self.take_idle() {
            return Some(self.reserve(connection));
        }
        let mut connections = self.connections.borrow_mut();
        connections.retain(|connection| connection.accepts_requests());
        let mut free = connections.iter().filter(|one| one.free_streams() > 0);
        let (best, opens) = match self.spread {
            StreamSpread::Even => {
                let best = free.min_by_key(|one| one.used_streams());
                (best, best.is_none_or(|one| one.used_streams() > 0))
            }
            StreamSpread::Fill => {
                let best = free.next();
                // A connection that is not ready yet may provide streams for all waiters.
                let has_unready = connections.iter().any(|one| !one.has_settings());
                (
                    best,
                    best.is_none() && self.opening.get() == 0 && !has_unready,
                )
            }
        };
        if opens && connections.len() + self.opening.get() < self.max_connections {
            self.opening.set(self.opening.get() + 1);
            return Some(Grant::Open(OpenPermit(Rc::clone(self))));
        }
        Some(self.reserve(Rc::clone(best?)))
    }

    fn reserve(self: &Rc<StreamPool>, connection: Rc<Http2Connection>) -> Grant {
        connection.reserve();
        Grant::Stream(Reservation {
            pool: Rc::clone(self),
            connection,
            is_used: false,
        })
    }

    /// Records that the last stream of a connection has ended.
    pub(super) fn on_idle(&self, connection: &Http2Connection) {
        if self.spread == StreamSpread::Even && !connection.is_listed_idle.replace(true) {
            self.idle.borrow_mut().push_back(connection.downgrade());
        }
    }

    fn take_idle(&self) -> Option<Rc<Http2Connection>> {
        let mut idle = self.idle.borrow_mut();
        while let Some(connection) = idle.pop_front() {
            let connection = connection.upgrade();
            if let Some(connection) = &connection {
                connection.is_listed_idle.set(false);
            }
            let is_idle =
                |one: &Rc<Http2Connection>| one.used_streams() == 0 && one.free_streams() > 0;
            if let Some(connection) = connection.filter(is_idle) {
                return Some(connection);
            }
        }
        None
    }

    /// Closes connections that have been idle for longer than the limit.
    pub(super) fn close_idle(&self, now_ns: u64, idle_close_ns: u64) {
        self.connections.borrow_mut().retain(|connection| {
            let since = connection.idle_since_ns();
            let is_expired = since.is_some_and(|at| now_ns.saturating_sub(at) > idle_close_ns);
            if is_expired {
                connection.close();
            }
            !is_expired
        });
    }

    pub(in crate::client) fn spread(&self) -> StreamSpread {
        self.spread
    }

    /// Moves the connections of another pool into this one.
    pub(in crate::client) fn take_over(self: &Rc<StreamPool>, other: &StreamPool) {
        other.idle.borrow_mut().clear();
        for connection in other.connections.take() {
            connection.move_to(self);
            if connection.used_streams() == 0 {
                self.on_idle(&connection);
            }
            self.connections.borrow_mut().push(connection);
        }
    }
}

impl Drop for StreamPool {
    fn drop(&mut self) {
        for connection in self.connections.borrow().iter() {
            connection.close();
        }
    }
}

struct Waiting<'p> {
    pool: &'p Rc<StreamPool>,
    key: WaiterKey,
    slot: Rc<WaiterSlot>,
}

impl Waiting<'_> {
    fn poll(&self, limit: &Limit, cx: &Context<'_>) -> Poll<Result<Grant, Fault>> {
        // The caller of a waiter whose limit has expired has abandoned its request.
        if let Poll::Ready(cut) = limit.poll(cx) {
            return Poll::Ready(Err(timed_out(cut)));
        }
        if let Some(grant) = self.slot.grant.borrow_mut().take() {
            return Poll::Ready(Ok(grant));
        }
        *self.slot.waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pool.waiters.borrow_mut().remove(&self.key);
        // Return a grant that was not used to the pool.
        let grant = self.slot.grant.borrow_mut().take();
        drop(grant);
    }
}

impl Reservation {
    /// Returns the connection of the stream.
    pub(super) fn connection(&self) -> &Http2Connection {
        &self.connection
    }

    /// Converts the reservation into its connection, on which the caller sends a request.
    pub(super) fn take(&mut self) -> Rc<Http2Connection> {
        self.is_used = true;
        Rc::clone(&self.connection)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.is_used {
            self.connection.release();
            self.pool.serve_waiters();
        }
    }
}

impl OpenPermit {
    /// Returns the pool that the new connection will join.
    pub(super) fn pool(&self) -> &Rc<StreamPool> {
        &self.0
    }

    /// Adds the new connection, and reserves its first stream for the caller.
    pub(super) fn add(self, connection: Rc<Http2Connection>) -> Reservation {
        let pool = Rc::clone(&self.0);
        connection.reserve();
        pool.connections.borrow_mut().push(Rc::clone(&connection));
        Reservation {
            pool,
            connection,
            is_used: false,
        }
    }
}

impl Drop for OpenPermit {
    fn drop(&mut self) {
        self.0.opening.set(self.0.opening.get() - 1);
        self.0.serve_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Wait<'p> = std::pin::Pin<Box<dyn Future<Output = Result<Grant, Fault>> + 'p>>;

    fn wait<'p>(pool: &'p Rc<StreamPool>, intended_ns: u64, limit: &'p Limit) -> Wait<'p> {
        Box::pin(pool.wait(intended_ns, limit))
    }

    fn poll(wait: &mut Wait<'_>) -> Option<Result<Grant, Fault>> {
        let mut cx = Context::from_waker(Waker::noop());
        match wait.as_mut().poll(&mut cx) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    #[test]
    fn waiters_are_served_in_the_order_of_intended_starts() {
        let (pool, limit) = (StreamPool::new(1, StreamSpread::Even), Limit::default());
        let mut granted = pool.try_checkout();
        assert!(matches!(&granted, Some(Grant::Open(_))));
        let mut waiting: Vec<_> = [30, 10, 20].map(|at| wait(&pool, at, &limit)).into();
        assert!(waiting.iter_mut().all(|one| poll(one).is_none()));
        assert!(pool.try_checkout().is_none());
        for expected in [1, 2, 0] {
            // The connection could not be opened, so the next waiter may try.
            drop(granted.take());
            for (index, one) in waiting.iter_mut().enumerate() {
                if index == expected {
                    granted = poll(one).and_then(Result::ok);
                }
            }
            assert!(granted.is_some());
        }
        drop(granted);
        assert_eq!(pool.opening.get(), 0);
    }

    #[test]
    fn grant_of_an_expired_waiter_goes_to_the_next() {
        let (pool, limit, expired) = (
            StreamPool::new(1, StreamSpread::Even),
            Limit::default(),
            Limit::default(),
        );
        let permit = pool.try_checkout();
        let mut second = wait(&pool, 1, &expired);
        let mut third = wait(&pool, 2, &limit);
        assert!(poll(&mut second).is_none() && poll(&mut third).is_none());
        drop(permit);
        expired.abort();
        assert!(matches!(poll(&mut second), Some(Err(Fault::Unfinished))));
        drop(second);
        assert!(matches!(poll(&mut third), Some(Ok(_))));
        assert_eq!(pool.opening.get(), 0, "the grant was dropped at once");
    }
}
