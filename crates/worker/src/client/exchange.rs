//! A request and its response: timestamps, limits, and kept data.

use std::rc::Rc;

use measure::{Fault, NoAnswer, SpanContext, outcome::StreamFault, sample::Intended};
use plan::{Timeouts, event_stream::StreamUntil};

use super::{
    observer::{ExchangeError, ExchangeObserver, ResponseExpectation},
    streamed::{StreamRules, StreamedResponse},
};
use crate::{
    clock::Clock,
    deadlines::{Cut, Limit, NEVER},
    memory::{Held, Memory},
    net::ConnectionInfo,
    worker::Worker,
};
use codec::{
    Response, Want,
    reply::{Keep, Reply},
};

/// Timestamps in nanoseconds from the start of the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moments {
    /// When the worker picked up the request.
    pub started: u64,
    /// When the first byte was written.
    pub first_write: Option<u64>,
    /// When the last byte was written.
    pub sent: u64,
    /// When the first byte of the response was read.
    pub first_read: Option<u64>,
    /// When the head of the response was complete.
    pub head: u64,
    /// When the last byte was read, or the request was abandoned.
    pub done: u64,
    /// Number of bytes written.
    pub bytes_out: u64,
    /// Number of bytes read.
    pub bytes_in: u64,
    /// Durations of the lookup, connect and TLS handshake, if the request opened a connection.
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
    /// Maximum time between two events of a streamed response.
    event_idle_ns: Option<u64>,
    event_idle_at: u64,
    /// Time after sending at which the request ends without a failure.
    until_ns: Option<u64>,
    until_at: u64,
}

impl Limits {
    /// Creates the limits of a request that started at `started`.
    #[must_use]
    pub fn from(started: u64, timeouts: &Timeouts) -> Limits {
        let after = |ns: Option<u64>| ns.map_or(NEVER, |ns| started.saturating_add(ns));
        Limits {
            total_at: after(timeouts.total_ns),
            headers_ns: timeouts.headers_ns,
            headers_at: NEVER,
            idle_ns: timeouts.idle_ns,
            idle_at: after(timeouts.idle_ns),
            event_idle_ns: None,
            event_idle_at: NEVER,
            until_ns: None,
            until_at: NEVER,
        }
    }

    /// Adds the limits of a streamed response.
    pub(super) fn add_stream(&mut self, started: u64, rules: &StreamRules) {
        self.event_idle_ns = rules.idle_ns;
        if let Some(StreamUntil::TimeNs(ns)) = rules.until {
            self.until_ns = Some(ns);
            // The plan's time limit does not apply to responses that the plan ends itself.
            self.total_at = self.total_at.saturating_add(ns);
        }
        if let Some(ns) = rules.max_time_ns {
            self.total_at = started.saturating_add(ns);
        }
    }

    /// Sets the deadline of `limit` to the earliest of these limits.
    pub fn arm(&self, worker: &Worker, limit: &Rc<Limit>) {
        let failing = self.total_at.min(self.headers_at).min(self.idle_at);
        let of_stream = self.event_idle_at.min(self.until_at);
        worker
            .deadlines
            .borrow_mut()
            .limit(limit, failing.min(of_stream));
    }

    pub(super) fn are_moving(&self) -> bool {
        self.headers_ns.is_some()
            || self.idle_ns.is_some()
            || self.event_idle_ns.is_some()
            || self.until_ns.is_some()
    }

    /// Records that the request was sent. The time limit for the head starts now, unless the head
    /// has already arrived.
    pub(super) fn sent(&mut self, now_ns: u64, awaits_head: bool) {
        let headers_ns = self.headers_ns.filter(|_| awaits_head);
        self.headers_at = headers_ns.map_or(NEVER, |ns| now_ns.saturating_add(ns));
        self.until_at = self.until_ns.map_or(NEVER, |ns| now_ns.saturating_add(ns));
        self.moved(now_ns);
    }

    /// Records that an event arrived.
    pub(super) fn event_arrived(&mut self, now_ns: u64) {
        if let Some(ns) = self.event_idle_ns {
            self.event_idle_at = now_ns.saturating_add(ns);
        }
    }

    /// Returns whether the wait ended because the plan ends the request at this time, which is not
    /// a failure.
    pub(super) fn is_until(&self, cut: Cut) -> bool {
        let failing = self.total_at.min(self.headers_at).min(self.idle_at);
        cut == Cut::Expired && self.until_at < failing.min(self.event_idle_at)
    }

    /// Removes the time limit for the head.
    pub(super) fn head_arrived(&mut self) {
        self.headers_at = NEVER;
    }

    pub(super) fn moved(&mut self, now_ns: u64) {
        if let Some(ns) = self.idle_ns {
            self.idle_at = now_ns.saturating_add(ns);
        }
    }

    /// Returns the fault for a wait that one of these limits ended.
    #[must_use]
    pub fn fault(&self, cut: Cut) -> Fault {
        match cut {
            Cut::Aborted => Fault::Unfinished,
            Cut::Expired
                if self.event_idle_at < self.total_at.min(self.headers_at).min(self.idle_at) =>
            {
                Fault::Stream(StreamFault::Idle)
            }
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
    /// The request's connection. `None` if it never got one.
    pub connection: Option<ConnectionInfo>,
    /// Trace context of the request, set before sending. `None` if the request is not traced.
    pub(super) trace: Option<SpanContext>,
    /// Whether the decision to trace the request has been made.
    pub(super) is_trace_drawn: bool,
    /// Response data received so far.
    pub answer: Response,
    /// Time limits of the request.
    pub limits: Limits,
    /// Memory reserved for the response.
    pub reserved: Held,
    /// Events of the response, if the plan expects a streamed response.
    pub streamed: Option<Box<StreamedResponse>>,
}

impl Exchange {
    /// Returns the trace context that was sent with the request. `None` if the request was not
    /// traced or not sent.
    #[must_use]
    pub fn sent_trace(&self) -> Option<SpanContext> {
        self.trace.filter(|_| self.moments.first_write.is_some())
    }

    /// Creates the exchange for a request that starts now.
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
            connection: None,
            trace: None,
            is_trace_drawn: false,
            answer: Response::default(),
            limits: Limits::from(started, timeouts),
            reserved: Held::nothing(memory),
            streamed: None,
        }
    }

    /// Takes the exchange, to lend it to a connection that serves many requests. A placeholder
    /// remains.
    pub(super) fn take(&mut self) -> Exchange {
        const NONE: Timeouts = Timeouts {
            total_ns: None,
            headers_ns: None,
            idle_ns: None,
        };
        let memory = self.reserved.memory();
        let placeholder = Exchange::begun(self.intended, self.moments.started, &NONE, memory);
        std::mem::replace(self, placeholder)
    }

    /// Makes the exchange read the response as a stream.
    pub fn read_as_stream(&mut self, streamed: StreamedResponse) {
        self.limits
            .add_stream(self.moments.started, streamed.rules());
        self.streamed = Some(Box::new(streamed));
    }

    /// Returns the fault for a wait that a limit ended. Records whether the plan ended the stream.
    pub(super) fn cut_short(&mut self, cut: Cut) -> Fault {
        if self.limits.is_until(cut)
            && let Some(streamed) = &mut self.streamed
        {
            streamed.end_by_plan();
        }
        self.limits.fault(cut)
    }

    /// Returns whether the plan ended the stream, which is not a failure.
    pub(super) fn is_ended_by_plan(&self) -> bool {
        let streamed = self.streamed.as_ref();
        streamed.is_some_and(|streamed| streamed.is_ended_by_plan())
    }

    /// Returns the fault to report when `fault` ended the exchange.
    pub(super) fn stream_fault(&self, fault: Fault) -> Fault {
        let streamed = self.streamed.as_ref();
        let has_begun = streamed.is_some_and(|streamed| streamed.has_events());
        match fault.class() {
            NoAnswer::Reset if has_begun => Fault::Stream(StreamFault::Lost),
            _ => fault,
        }
    }

    /// Ends a streamed response. Returns the fault if the stream is incomplete.
    pub(super) fn finish_stream(&mut self, now_ns: u64) -> Option<Fault> {
        let streamed = self.streamed.as_mut()?;
        if self.moments.done == 0 {
            // The client ended the stream, at an event or at a time.
            self.moments.done = match streamed.rules().until {
                Some(StreamUntil::Events(_)) => streamed.last_event_ns().unwrap_or(now_ns),
                _ => now_ns,
            };
        }
        let fault = streamed.finish(self.answer.status, self.moments.done);
        fault.map(Fault::Stream)
    }
}

/// Observes the exchange of one request over any version of HTTP.
pub(super) struct OneAnswer<'a> {
    pub worker: &'a Worker,
    pub exchange: &'a mut Exchange,
    pub limit: &'a Rc<Limit>,
    pub want: Want,
    pub to_head: bool,
    /// When the current write attempt started.
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

    /// Reads the events of a streamed response.
    fn events(&mut self, reply: &mut Reply, now_ns: u64) -> Result<(), Fault> {
        let Exchange {
            streamed, limits, ..
        } = &mut *self.exchange;
        if let Some(streamed) = streamed
            && streamed.read_reply(reply, self.want.body, now_ns)?
        {
            limits.event_arrived(now_ns);
        }
        Ok(())
    }

    /// Notes when the request was sent, which moves limits.
    pub(super) fn sent_at(&mut self, now_ns: u64) {
        let exchange = &mut *self.exchange;
        exchange.moments.sent = now_ns;
        if exchange.limits.are_moving() {
            let awaits_head = exchange.moments.head == 0;
            exchange.limits.sent(now_ns, awaits_head);
            exchange.limits.arm(self.worker, self.limit);
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
        self.exchange.reserved.hold(0);
        Err(Fault::OutOfMemory)
    }
}

impl ExchangeObserver for OneAnswer<'_> {
    fn next(&self) -> ResponseExpectation {
        ResponseExpectation {
            keep: match self.exchange.streamed {
                Some(_) => Keep::Body,
                None => self.want.keep(),
            },
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
        if self.exchange.limits.are_moving() {
            self.sent_at(clock.now());
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
        self.events(reply, now_ns)?;
        self.moved(now_ns);
        Ok(())
    }

    fn answered(&mut self, reply: &mut Reply, now_ns: u64) -> Result<bool, Fault> {
        self.holds(reply)?;
        self.head(reply, now_ns);
        self.events(reply, now_ns)?;
        self.exchange.moments.done = now_ns;
        Ok(true)
    }

    fn on_end(&mut self, reply: &mut Reply, _: Result<u64, ExchangeError>) {
        self.exchange.answer = Response::from_reply(reply, self.want);
    }

    fn on_deadline(&mut self, cut: Cut) -> Option<Fault> {
        Some(self.exchange.cut_short(cut))
    }

    fn accepts_early_response(&self) -> bool {
        true
    }
}
