//! A request and its response: timestamps, limits, and kept data.

use std::rc::Rc;

use measure::{Fault, sample::Intended};
use plan::Timeouts;

use super::transport::{ExchangeObserver, ResponseExpectation};
use crate::{
    clock::Clock,
    deadlines::{Cut, Limit, NEVER},
    memory::{Held, Memory},
    worker::Worker,
};
use codec::{Response, Want, reply::Reply};

/// Timestamps in nanoseconds from the start of the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moments {
    /// When the worker took up the request.
    pub started: u64,
    /// When the first byte was written.
    pub first_write: Option<u64>,
    /// When the last byte was written.
    pub sent: u64,
    /// When the first byte of the response was read.
    pub first_read: Option<u64>,
    /// When the head of the response was complete.
    pub head: u64,
    /// When the last byte was read, or when the request was given up.
    pub done: u64,
    /// Number of bytes written.
    pub bytes_out: u64,
    /// Number of bytes read.
    pub bytes_in: u64,
    /// Durations of lookup, connect and TLS, if the request opened a connection.
    pub opening: measure::accumulator::Opening,
}

/// Deadlines of a request, in nanoseconds from the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    total_at: u64,
    headers_ns: Option<u64>,
    headers_at: u64,
    idle_ns: Option<u64>,
    idle_at: u64,
}

impl Limits {
    /// Creates the limits of a request that started at this time.
    #[must_use]
    pub fn from(started: u64, timeouts: &Timeouts) -> Limits {
        let after = |ns: Option<u64>| ns.map_or(NEVER, |ns| started.saturating_add(ns));
        Limits {
            total_at: after(timeouts.total_ns),
            headers_ns: timeouts.headers_ns,
            headers_at: NEVER,
            idle_ns: timeouts.idle_ns,
            idle_at: after(timeouts.idle_ns),
        }
    }

    /// Sets the deadline of `limit` to the earliest of these limits.
    pub fn arm(&self, worker: &Worker, limit: &Rc<Limit>) {
        worker
            .deadlines
            .borrow_mut()
            .limit(limit, self.total_at.min(self.headers_at).min(self.idle_at));
    }

    pub(super) fn are_moving(&self) -> bool {
        self.headers_ns.is_some() || self.idle_ns.is_some()
    }

    /// Records that the request was sent. The limit for the head starts now, unless the head has
    /// already arrived.
    pub(super) fn sent(&mut self, now_ns: u64, awaits_head: bool) {
        let headers_ns = self.headers_ns.filter(|_| awaits_head);
        self.headers_at = headers_ns.map_or(NEVER, |ns| now_ns.saturating_add(ns));
        self.moved(now_ns);
    }

    /// Ends the limit for the head.
    pub(super) fn head_arrived(&mut self) {
        self.headers_at = NEVER;
    }

    pub(super) fn moved(&mut self, now_ns: u64) {
        if let Some(ns) = self.idle_ns {
            self.idle_at = now_ns.saturating_add(ns);
        }
    }

    /// Returns the fault for a wait that one of these limits cut short.
    #[must_use]
    pub fn fault(&self, cut: Cut) -> Fault {
        match cut {
            Cut::Aborted => Fault::Unfinished,
            Cut::Expired if self.idle_at < self.total_at.min(self.headers_at) => Fault::IdleTimeout,
            Cut::Expired => Fault::ResponseTimeout,
        }
    }
}

/// A request in flight and the data received so far.
#[derive(Debug)]
pub struct Exchange {
    /// Intended start of the request.
    pub intended: Intended,
    /// Timestamps of the request.
    pub moments: Moments,
    /// The response received so far.
    pub answer: Response,
    /// Time limits of the request.
    pub limits: Limits,
    /// Memory reserved for the response.
    pub reserved: Held,
}

impl Exchange {
    /// Creates the exchange of a request that starts now.
    #[must_use]
    pub fn begun(
        intended: Intended,
        started: u64,
        timeouts: &Timeouts,
        memory: &Rc<Memory>,
    ) -> Exchange {
        Exchange {
            intended,
            moments: Moments {
                started,
                ..Moments::default()
            },
            answer: Response::default(),
            limits: Limits::from(started, timeouts),
            reserved: Held::nothing(memory),
        }
    }
}

pub(super) struct OneAnswer<'a> {
    pub worker: &'a Worker,
    pub exchange: &'a mut Exchange,
    pub limit: &'a Rc<Limit>,
    pub want: Want,
    pub to_head: bool,
    /// When the current attempt to write started.
    pub began: u64,
}

impl OneAnswer<'_> {
    fn head(&mut self, reply: &Reply, now_ns: u64) {
        let exchange = &mut *self.exchange;
        if reply.status > 0 && exchange.moments.head == 0 {
            exchange.moments.head = now_ns;
            exchange.limits.head_arrived();
        }
    }

    fn moved(&mut self, now_ns: u64) {
        let limits = &mut self.exchange.limits;
        if limits.are_moving() {
            limits.moved(now_ns);
            limits.arm(self.worker, self.limit);
        }
    }

    fn holds(&self, reply: &mut Reply) -> Result<(), Fault> {
        if self.exchange.reserved.hold(reply.body.capacity() as u64) {
            return Ok(());
        }
        reply.body = Vec::new();
        reply.keep_alive = false;
        self.exchange.reserved.hold(0);
        Err(Fault::OutOfMemory)
    }
}

impl ExchangeObserver for OneAnswer<'_> {
    fn next(&self) -> ResponseExpectation {
        ResponseExpectation {
            keep: self.want.keep(),
            to_head: self.to_head,
            more: false,
        }
    }

    fn on_begin(&mut self, clock: &Clock) {
        if self.exchange.moments.first_write.is_none() {
            self.began = clock.now();
        }
    }

    fn wrote(&mut self, bytes: usize) {
        let moments = &mut self.exchange.moments;
        moments.first_write.get_or_insert(self.began);
        moments.bytes_out += bytes as u64;
    }

    fn sent(&mut self, clock: &Clock) {
        let exchange = &mut *self.exchange;
        if exchange.limits.are_moving() {
            exchange.moments.sent = clock.now();
            let awaits_head = exchange.moments.head == 0;
            exchange.limits.sent(exchange.moments.sent, awaits_head);
            exchange.limits.arm(self.worker, self.limit);
        }
    }

    fn on_read(&mut self, now_ns: u64, bytes: usize) {
        let moments = &mut self.exchange.moments;
        moments.first_read.get_or_insert(now_ns);
        moments.bytes_in += bytes as u64;
    }

    fn on_discarded(&mut self, bytes: usize, clock: &Clock) {
        self.exchange.moments.bytes_in += bytes as u64;
        if self.exchange.limits.are_moving() {
            self.moved(clock.now());
        }
    }

    fn on_partial(&mut self, reply: &mut Reply, now_ns: u64) -> Result<(), Fault> {
        self.holds(reply)?;
        self.head(reply, now_ns);
        self.moved(now_ns);
        Ok(())
    }

    fn answered(&mut self, reply: &mut Reply, now_ns: u64) -> Result<bool, Fault> {
        self.holds(reply)?;
        self.head(reply, now_ns);
        self.exchange.moments.done = now_ns;
        Ok(true)
    }

    fn on_deadline(&mut self, cut: Cut) -> Option<Fault> {
        Some(self.exchange.limits.fault(cut))
    }

    fn accepts_early_response(&self) -> bool {
        true
    }
}
