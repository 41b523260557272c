//! An MQTT client: connection, session, outgoing and incoming messages. The module `pace` decides
//! when the client publishes.

mod connection;
mod incoming;
mod outgoing;

use std::{
    cell::RefCell,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use measure::{
    DurationSample, Fault, OutcomeClass, Sample, TimeKind,
    sample::{Intended, RequestOutcome},
};
use mqtt::{Filter, Qos, Reason, connect, subscribe};
use worker::{
    deadlines::{Cut, Limit, NEVER, TICK_NS},
    net::{fault::socket_fault, stream::Stream},
};

use crate::{
    client_config::ClientConfig,
    counts::add,
    outbox::{MessageLedger, Outbox, SentMessage},
    shared::DriverState,
};
use connection::Connection;

/// Time limit for CONNACK and SUBACK, unless the drain time is shorter.
const CONNECT_NS: u64 = 10_000_000_000;
/// First delay before a reconnect. It doubles with each attempt.
const BACK_OFF_NS: u64 = 100_000_000;
const DOUBLED: u32 = 6;

pub(crate) struct Client {
    pub config: ClientConfig,
    limit: Rc<Limit>,
    state: RefCell<ClientState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Down,
    Greeting,
    Subscribing,
    Up,
    Leaving,
}

struct ClientState {
    line: Option<Connection>,
    waker: Option<Waker>,
    phase: Phase,
    outbox: Outbox,
    greeting: Option<SentMessage>,
    subscribing: Option<SentMessage>,
    next_sequence: u64,
    was_up: bool,
    is_settled: bool,
    arrival: Option<Intended>,
    is_closing: bool,
    is_gone: bool,
}

pub(crate) fn start(shared: &Rc<DriverState>, client: &Rc<Client>) {
    let is_beside = shared.is_background();
    let place = if is_beside {
        shared.worker.watch(&client.limit)
    } else {
        shared.worker.enter(&client.limit)
    };
    shared.alive.set(shared.alive.get() + 1);
    let (shared, client) = (Rc::clone(shared), Rc::clone(client));
    tokio::task::spawn_local(async move {
        client.live(&shared).await;
        client.fail_pending(&shared);
        shared.alive.set(shared.alive.get() - 1);
        if is_beside {
            shared.worker.unwatch(place);
        } else {
            shared.worker.leave(place);
        }
    });
}

impl Client {
    pub fn new(config: ClientConfig) -> Client {
        let out = config.outgoing.as_ref();
        let (qos, inflight) = out.map_or((Qos::AtMostOnce, 1), |out| (out.qos, out.inflight));
        Client {
            limit: Rc::default(),
            state: RefCell::new(ClientState {
                line: None,
                waker: None,
                phase: Phase::Down,
                outbox: Outbox::new(qos, inflight),
                greeting: None,
                subscribing: None,
                next_sequence: 0,
                was_up: false,
                is_settled: false,
                arrival: None,
                is_closing: false,
                is_gone: false,
            }),
            config,
        }
    }

    pub fn ledger(&self) -> MessageLedger {
        *self.state.borrow().outbox.ledger()
    }

    pub fn waits_for_answer(&self) -> bool {
        let state = self.state.borrow();
        state.greeting.is_some() || state.subscribing.is_some()
    }

    fn settle(&self, state: &mut ClientState, shared: &DriverState) {
        if !self.config.filters.is_empty() && !std::mem::replace(&mut state.is_settled, true) {
            shared.together.settled();
        }
    }

    fn qos(&self) -> Option<Qos> {
        self.config.outgoing.as_ref().map(|out| out.qos)
    }

    pub fn enqueue(&self, shared: &DriverState, now: u64, intended: Intended) {
        let Some(qos) = self.qos() else { return };
        let mut state = self.state.borrow_mut();
        let label = shared.labels.publish(qos);
        let sent = SentMessage::new(label, state.next_sequence, intended, now);
        state.next_sequence += 1;
        state.outbox.due(sent);
        let is_gone = state.is_gone;
        drop(state);
        shared.worker.issue(now, label, intended);
        if is_gone {
            self.fail_pending(shared);
        }
    }

    pub fn flush(&self, shared: &DriverState) {
        let waker = self.state.borrow().waker.clone();
        if let Some(waker) = waker {
            let mut cx = Context::from_waker(&waker);
            if self.write(shared, &mut cx).is_err() {
                waker.wake();
            }
        }
    }

    pub fn last_ping(&self, shared: &DriverState) {
        self.flush(shared);
    }

    pub fn close(&self, shared: &DriverState) {
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
        self.flush(shared);
    }

    async fn live(&self, shared: &DriverState) {
        let worker = &shared.worker;
        let mut tries = 0u32;
        let mut due = shared
            .work
            .connect_every_ns
            .saturating_mul(u64::from(self.config.global));
        if shared.counts_connections() {
            let at = shared.schedule.at(u64::from(self.config.global));
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
            let ended = match Box::pin(self.open(shared, intended)).await {
                Ok(()) => std::future::poll_fn(|cx| self.poll(shared, cx)).await,
                Err(fault) => fault,
            };
            let was_up = self.drop_line(shared, ended);
            if self.is_closing() || ended == Fault::Unfinished {
                return;
            }
            // After the load, reconnect only clients with unfinished work.
            let has_work = !self.config.filters.is_empty() || self.ledger().open() > 0;
            if shared.is_over.get() && !has_work {
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

    async fn open(&self, shared: &DriverState, intended: Intended) -> Result<(), Fault> {
        let worker = &shared.worker;
        let started = worker.clock.now();
        let label = shared.labels.connect;
        worker.issue(started, label, intended);
        let mut greeting = SentMessage::new(label, 0, intended, started);
        greeting.bytes = self.config.connect.len() as u32;
        self.state.borrow_mut().greeting = Some(greeting);
        self.limit_answer(shared, started);
        let origin = shared.origin(self);
        let opened = shared.connector.open(origin, &self.limit).await?;
        let now = worker.clock.now();
        let mut recorder = worker.recorder.borrow_mut();
        recorder.run.opened += 1;
        let duration = |kind, ns| DurationSample {
            label,
            intended,
            kind,
            outcome: OutcomeClass::Ok,
            ns,
        };
        recorder.time(now, duration(TimeKind::Connect, opened.connect_ns));
        if let Some(ns) = opened.tls_ns {
            recorder.time(now, duration(TimeKind::Tls, ns));
        }
        drop(recorder);
        let stream: Stream = opened
            .stream
            .with_read_interest()
            .map_err(|e| socket_fault(&e))?;
        let mut line = Connection::new(stream, &worker.open);
        line.out().extend_from_slice(&self.config.connect);
        let mut state = self.state.borrow_mut();
        if let Some(greeting) = &mut state.greeting {
            greeting.first_write = now;
        }
        (state.line, state.phase) = (Some(line), Phase::Greeting);
        Ok(())
    }

    fn poll(&self, shared: &DriverState, cx: &mut Context<'_>) -> Poll<Fault> {
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

    fn cut(&self, shared: &DriverState, cut: Cut) -> Option<Fault> {
        if cut == Cut::Aborted {
            return Some(Fault::Unfinished);
        }
        let now = shared.worker.clock.now();
        let mut state = self.state.borrow_mut();
        let silence_ns = self.config.keep_alive_ns.map_or(0, |ns| ns / 2);
        let asked = state.outbox.asked_since();
        let is_silent = asked.is_some_and(|at| now.saturating_sub(at) + TICK_NS >= silence_ns);
        if !matches!(state.phase, Phase::Up) || is_silent {
            return Some(Fault::ResponseTimeout);
        }
        state.outbox.ask(now);
        if let Some(line) = &mut state.line {
            connect::put_ping(line.out());
        }
        drop(state);
        self.keep_alive(shared);
        None
    }

    fn limit_answer(&self, shared: &DriverState, now: u64) {
        let patience_ns = CONNECT_NS.max(shared.patience_ns());
        let mut deadlines = shared.worker.deadlines.borrow_mut();
        deadlines.limit(&self.limit, now.saturating_add(patience_ns));
    }

    fn keep_alive(&self, shared: &DriverState) {
        let now = shared.worker.clock.now();
        let at = self
            .config
            .keep_alive_ns
            .map_or(NEVER, |ns| now.saturating_add(ns / 2));
        let mut deadlines = shared.worker.deadlines.borrow_mut();
        deadlines.limit(&self.limit, at);
    }

    fn drop_line(&self, shared: &DriverState, fault: Fault) -> bool {
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
                RequestOutcome::Unanswered(fault),
                String::new,
            );
            if let Some(intended) = state.arrival.take() {
                shared.arrived(now, intended, RequestOutcome::Unanswered(fault));
            }
        }
        let line = state.line.take();
        if let Some(since) = line.and_then(|line| line.blocked_since) {
            add(&shared.counts.blocked_ns, now.saturating_sub(since));
        }
        if let Some(sent) = state.subscribing.take() {
            finish(
                shared,
                &sent,
                now,
                RequestOutcome::Unanswered(fault),
                String::new,
            );
        }
        for sent in state.outbox.disconnected() {
            finish(
                shared,
                &sent,
                now,
                RequestOutcome::Unanswered(fault),
                String::new,
            );
        }
        state.phase = Phase::Down;
        was_up
    }

    fn fail_pending(&self, shared: &DriverState) {
        let now = shared.worker.clock.now();
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        state.is_gone = true;
        for sent in state.outbox.close() {
            let ended = RequestOutcome::Unanswered(Fault::Unfinished);
            finish(shared, &sent, now, ended, String::new);
        }
        if let Some(intended) = state.arrival.take() {
            shared.arrived(now, intended, RequestOutcome::Unanswered(Fault::Unfinished));
        }
        state.waker = None;
    }
}

fn finish(
    shared: &DriverState,
    sent: &SentMessage,
    now: u64,
    ended: RequestOutcome,
    detail: impl FnOnce() -> String,
) {
    let first_write = (sent.first_write > 0).then_some(sent.first_write);
    let sample = Sample {
        label: sent.label,
        intended: sent.intended,
        started_ns: sent.started,
        first_write_ns: first_write,
        first_read_ns: first_write
            .filter(|_| !matches!(ended, RequestOutcome::Unanswered(_)))
            .map(|_| now),
        done_ns: now,
        ended,
        // Reason codes are not HTTP statuses.
        status: None,
        bytes_out: u64::from(sent.bytes),
        bytes_in: 0,
        trace: None,
    };
    shared.record(&sample, detail);
    let is_message = sent.label != shared.labels.connect && sent.label != shared.labels.subscribe;
    if is_message && sent.intended.is_paced() {
        let ended = match ended {
            RequestOutcome::Failed(_) => RequestOutcome::Ok,
            ended => ended,
        };
        shared.arrived(now, sent.intended, ended);
    }
}

fn put_subscribe(client: &Client, shared: &DriverState, out: &mut Vec<u8>, id: u16) {
    let filters = client.config.filters.iter();
    let filters: Vec<Filter<'_>> = filters
        .map(|(topic, qos)| Filter::new(topic, *qos))
        .collect();
    // The plan has already been checked for filters that are too long.
    let _ = subscribe::put_subscribe(out, shared.version, id, &filters, &[]);
}
