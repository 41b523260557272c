//! One MQTT client at work: its connection, its session, what it has to send and what comes in. When it is to publish is told to it.

mod incoming;
mod line;
mod outgoing;

use std::{
    cell::RefCell,
    collections::VecDeque,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use engine::{
    deadlines::{Cut, Limit, NEVER},
    net::{fault::socket_fault, stream::Stream},
};
use measure::{
    Fault, Kind, LabelId, Outcome, Sample,
    sample::{Ended, Intended},
};
use mqtt::{Filter, Qos, Reason, Session, connect, subscribe};

use crate::{counts::add, made::Made, shared::Shared};
use line::Line;

/// A server that does not answer a CONNECT for so long is given up.
const CONNECT_NS: u64 = 10_000_000_000;
/// A connection that was lost, or not to be had, is tried anew after this long, doubled each time.
const BACK_OFF_NS: u64 = 100_000_000;
const DOUBLED: u32 = 6;

pub(crate) struct Client {
    pub made: Made,
    limit: Rc<Limit>,
    state: RefCell<State>,
}

/// Something under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    label: LabelId,
    sequence: u64,
    intended: Intended,
    started: u64,
    /// 0: not yet.
    first_write: u64,
    bytes: u32,
}

/// How far a connection has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Down,
    /// CONNECT is under way.
    Greeting,
    /// SUBSCRIBE is under way.
    Subscribing,
    Up,
    /// DISCONNECT is on its way.
    Leaving,
}

struct State {
    line: Option<Line>,
    waker: Option<Waker>,
    phase: Phase,
    session: Session<Sent>,
    /// What is due and has no room yet.
    queue: VecDeque<Sent>,
    /// CONNECT, while it is not answered.
    greeting: Option<Sent>,
    next_sequence: u64,
    /// How many messages were written whole, and how many of them the server has certainly read.
    written: u64,
    confirmed: u64,
    /// How many of those are taken for confirmed of which nobody will ever know: of QoS 0, when their connection was lost.
    doubtful: u64,
    /// How many were written when the PINGREQ under way was.
    ping: Option<u64>,
    /// Accepted before.
    was_up: bool,
    /// A connection is an arrival, which is over with this.
    arrival: Option<Intended>,
    is_closing: bool,
}

/// Has a client live in a task of its own.
pub(crate) fn start(shared: &Rc<Shared>, client: &Rc<Client>) {
    let place = shared.worker.enter(&client.limit);
    let (shared, client) = (Rc::clone(shared), Rc::clone(client));
    tokio::task::spawn_local(async move {
        client.live(&shared).await;
        client.bury(&shared);
        shared.worker.leave(place);
    });
}

impl Client {
    pub fn new(made: Made) -> Client {
        let inflight = made.outgoing.as_ref().map_or(1, |out| out.inflight);
        Client {
            limit: Rc::default(),
            state: RefCell::new(State {
                line: None,
                waker: None,
                phase: Phase::Down,
                session: Session::new(inflight),
                queue: VecDeque::new(),
                greeting: None,
                next_sequence: 0,
                written: 0,
                confirmed: 0,
                doubtful: 0,
                ping: None,
                was_up: false,
                arrival: None,
                is_closing: false,
            }),
            made,
        }
    }

    /// How many of its messages were due and are not confirmed.
    pub fn behind(&self) -> u64 {
        let state = self.state.borrow();
        let queued = state.queue.len() as u64;
        match self.qos() {
            Some(Qos::AtMostOnce) => {
                (state.written + queued + state.unwritten()).saturating_sub(state.confirmed)
            }
            Some(_) => queued + state.session.under_way() as u64,
            None => 0,
        }
    }

    /// How many of its messages were due so far.
    pub fn due(&self) -> u64 {
        self.state.borrow().next_sequence
    }

    /// How many of its messages were written whole.
    pub fn sent(&self) -> u64 {
        self.state.borrow().written
    }

    /// How many of them the server has certainly read.
    pub fn confirmed(&self) -> u64 {
        let state = self.state.borrow();
        match self.qos() {
            Some(Qos::AtMostOnce) => state.confirmed - state.doubtful,
            Some(_) => {
                let all = state.written + state.unwritten();
                all.saturating_sub(state.session.under_way() as u64)
            }
            None => 0,
        }
    }

    fn qos(&self) -> Option<Qos> {
        self.made.outgoing.as_ref().map(|out| out.qos)
    }

    /// A message is due.
    pub fn take_up(&self, shared: &Shared, now: u64, intended: Intended) {
        let Some(qos) = self.qos() else { return };
        let mut state = self.state.borrow_mut();
        let sent = Sent {
            label: shared.labels.publish(qos),
            sequence: state.next_sequence,
            intended,
            started: now,
            first_write: 0,
            bytes: 0,
        };
        state.next_sequence += 1;
        state.queue.push_back(sent);
        drop(state);
        shared.worker.issue(now, sent.label, intended);
    }

    /// Writes what is due, as far as there is room.
    pub fn go_on(&self, shared: &Shared) {
        let waker = self.state.borrow().waker.clone();
        if let Some(waker) = waker {
            let mut cx = Context::from_waker(&waker);
            // What went wrong is found again, and told, by the client's own task.
            if self.write(shared, &mut cx).is_err() {
                waker.wake();
            }
        }
    }

    /// Nothing more is published: asks for a sign of life behind all that was.
    pub fn last_ping(&self, shared: &Shared) {
        self.go_on(shared);
    }

    /// Says goodbye.
    pub fn close(&self, shared: &Shared) {
        let mut state = self.state.borrow_mut();
        state.is_closing = true;
        if let (Phase::Up | Phase::Subscribing, Some(line)) = (state.phase, &mut state.line) {
            let _ = connect::put_disconnect(line.out(), shared.version, Reason::SUCCESS, &[]);
            state.phase = Phase::Leaving;
        }
        if state.line.is_none() {
            self.limit.abort();
        }
        if let Some(waker) = &state.waker {
            waker.wake_by_ref();
        }
        drop(state);
        self.go_on(shared);
    }

    async fn live(&self, shared: &Shared) {
        let worker = &shared.worker;
        let mut tries = 0u32;
        let mut due = shared
            .work
            .connect_every_ns
            .saturating_mul(u64::from(self.made.global));
        if shared.counts_connections() {
            let at = shared.schedule.at(u64::from(self.made.global));
            let Some(arrival) = at else { return };
            due = arrival.intended_ns;
        }
        let mut intended = Intended::scheduled(due);
        loop {
            let slept = worker.sleep_until(due, &self.limit);
            if slept.await.is_err() || self.is_closing() {
                return;
            }
            if shared.counts_connections() && tries == 0 && !self.state.borrow().was_up {
                worker.recorder.borrow_mut().run.started += 1;
                self.state.borrow_mut().arrival = Some(intended);
            }
            let ended = match self.open(shared, intended).await {
                Ok(()) => std::future::poll_fn(|cx| self.poll(shared, cx)).await,
                Err(fault) => fault,
            };
            let was_up = self.drop_line(shared, ended);
            if self.is_closing() || ended == Fault::Unfinished {
                return;
            }
            tries = if was_up { 0 } else { tries + 1 };
            let now = worker.clock.now();
            due = now + (BACK_OFF_NS << tries.min(DOUBLED));
            intended = Intended::after_previous(now, due - now);
        }
    }

    fn is_closing(&self) -> bool {
        self.state.borrow().is_closing
    }

    /// Connects and puts CONNECT on its way.
    async fn open(&self, shared: &Shared, intended: Intended) -> Result<(), Fault> {
        let worker = &shared.worker;
        let started = worker.clock.now();
        let label = shared.labels.connect;
        worker.issue(started, label, intended);
        self.state.borrow_mut().greeting = Some(Sent {
            label,
            sequence: 0,
            intended,
            started,
            first_write: 0,
            bytes: self.made.connect.len() as u32,
        });
        let timeout = started.saturating_add(CONNECT_NS);
        worker.deadlines.borrow_mut().limit(&self.limit, timeout);
        let opened = shared.connector.open(&shared.origin, &self.limit).await?;
        let now = worker.clock.now();
        let mut recorder = worker.recorder.borrow_mut();
        recorder.run.opened += 1;
        let took = (Kind::Connect, Outcome::Ok);
        recorder.time(now, label, intended, took, opened.connect_ns);
        if let Some(ns) = opened.tls_ns {
            recorder.time(now, label, intended, (Kind::Tls, Outcome::Ok), ns);
        }
        drop(recorder);
        let stream: Stream = opened
            .stream
            .with_read_interest()
            .map_err(|e| socket_fault(&e))?;
        let mut line = Line::new(stream, &worker.open);
        line.out().extend_from_slice(&self.made.connect);
        let mut state = self.state.borrow_mut();
        if let Some(greeting) = &mut state.greeting {
            greeting.first_write = now;
        }
        (state.line, state.phase, state.ping) = (Some(line), Phase::Greeting, None);
        Ok(())
    }

    /// Writes, reads and keeps alive until the connection is over; what ended it.
    fn poll(&self, shared: &Shared, cx: &mut Context<'_>) -> Poll<Fault> {
        self.state.borrow_mut().waker = Some(cx.waker().clone());
        if let Poll::Ready(cut) = self.limit.poll(cx)
            && let Some(fault) = self.cut(shared, cut)
        {
            return Poll::Ready(fault);
        }
        match self.read(shared, cx).and_then(|()| self.write(shared, cx)) {
            Ok(()) => {}
            Err(fault) => return Poll::Ready(fault),
        }
        let state = self.state.borrow();
        let has_left = state.line.as_ref().is_none_or(|line| line.is_empty());
        if state.is_closing && has_left {
            return Poll::Ready(Fault::Unfinished);
        }
        Poll::Pending
    }

    /// A deadline has passed: of an answer, or of silence, behind which a sign of life is asked for.
    fn cut(&self, shared: &Shared, cut: Cut) -> Option<Fault> {
        if cut == Cut::Aborted {
            return Some(Fault::Unfinished);
        }
        let mut state = self.state.borrow_mut();
        if !matches!(state.phase, Phase::Up) || state.ping.is_some() {
            return Some(Fault::ResponseTimeout);
        }
        let written = state.written;
        state.ping = Some(written);
        if let Some(line) = &mut state.line {
            connect::put_ping(line.out());
        }
        drop(state);
        self.keep_alive(shared);
        None
    }

    /// Sets when the server is to be asked for a sign of life.
    fn keep_alive(&self, shared: &Shared) {
        let now = shared.worker.clock.now();
        let at = self
            .made
            .keep_alive_ns
            .map_or(NEVER, |ns| now.saturating_add(ns / 2));
        let mut deadlines = shared.worker.deadlines.borrow_mut();
        deadlines.limit(&self.limit, at);
    }

    /// The connection is over: what was under way on it is told of. Whether it had been accepted.
    fn drop_line(&self, shared: &Shared, fault: Fault) -> bool {
        let now = shared.worker.clock.now();
        self.limit.disarm();
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let was_up = matches!(state.phase, Phase::Up | Phase::Subscribing);
        let is_refused = state.phase == Phase::Greeting && state.greeting.is_none();
        if state.phase != Phase::Leaving && fault != Fault::Unfinished && !is_refused {
            add(&shared.counts.broken, 1);
        }
        if let Some(greeting) = state.greeting.take() {
            finish(
                shared,
                &greeting,
                now,
                Ended::Unanswered(fault),
                String::new,
            );
            if let Some(intended) = state.arrival.take() {
                shared.arrived(now, intended, Ended::Unanswered(fault));
            }
        }
        if let Some(mut line) = state.line.take() {
            if let Some(since) = line.blocked_since {
                add(&shared.counts.blocked_ns, now.saturating_sub(since));
            }
            // What was encoded and not taken by the socket: of QoS 0 it is lost, all else is the session's.
            for (id, sent) in line.rest() {
                if id == 0 {
                    finish(shared, &sent, now, Ended::Unanswered(fault), String::new);
                    add(&shared.counts.unsent, 1);
                }
            }
        }
        if self.qos() == Some(Qos::AtMostOnce) {
            let doubtful = state.written - state.confirmed;
            state.doubtful += doubtful;
            state.confirmed = state.written;
            add(&shared.counts.unknown, doubtful);
        }
        state.phase = Phase::Down;
        was_up
    }

    /// It lives no longer: what is still under way will never be answered.
    fn bury(&self, shared: &Shared) {
        let now = shared.worker.clock.now();
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        for sent in std::mem::take(&mut state.queue) {
            add(&shared.counts.unsent, 1);
            finish(
                shared,
                &sent,
                now,
                Ended::Unanswered(Fault::Unfinished),
                String::new,
            );
        }
        let lost = state.session.connected(false, 1);
        for sent in lost {
            forgotten(shared, &sent);
            finish(
                shared,
                &sent,
                now,
                Ended::Unanswered(Fault::Unfinished),
                String::new,
            );
        }
        if let Some(intended) = state.arrival.take() {
            shared.arrived(now, intended, Ended::Unanswered(Fault::Unfinished));
        }
        state.waker = None;
    }
}

impl State {
    fn unwritten(&self) -> u64 {
        self.line.as_ref().map_or(0, Line::unwritten)
    }
}

/// A message is under way no longer, and not answered.
fn forgotten(shared: &Shared, sent: &Sent) {
    if sent.first_write == 0 {
        add(&shared.counts.unsent, 1);
    } else {
        add(&shared.counts.unknown, 1);
    }
}

/// Puts something that has ended into the books.
fn finish(shared: &Shared, sent: &Sent, now: u64, ended: Ended, detail: impl FnOnce() -> String) {
    let first_write = (sent.first_write > 0).then_some(sent.first_write);
    let sample = Sample {
        label: sent.label,
        intended: sent.intended,
        started_ns: sent.started,
        first_write_ns: first_write,
        first_read_ns: first_write
            .filter(|_| !matches!(ended, Ended::Unanswered(_)))
            .map(|_| now),
        done_ns: now,
        ended,
        // Reasons of refusals are no statuses that every answer has.
        status: None,
        bytes_out: u64::from(sent.bytes),
        bytes_in: 0,
    };
    shared.record(&sample, detail);
    let is_message = sent.label != shared.labels.connect && sent.label != shared.labels.subscribe;
    if is_message && sent.intended.is_paced() {
        let ended = match ended {
            Ended::Failed(_) => Ended::Ok,
            ended => ended,
        };
        shared.arrived(now, sent.intended, ended);
    }
}

/// Writes the SUBSCRIBE of a client.
fn put_subscribe(client: &Client, shared: &Shared, out: &mut Vec<u8>, id: u16) {
    let filters = client.made.filters.iter();
    let filters: Vec<Filter<'_>> = filters
        .map(|(topic, qos)| Filter::new(topic, *qos))
        .collect();
    // Filters that are too long were refused with the plan.
    let _ = subscribe::put_subscribe(out, shared.version, id, &filters, &[]);
}
