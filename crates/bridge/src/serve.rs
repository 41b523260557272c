//! The worker's side of a bridge: executes orders, returns completions and records settlements.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    pin::Pin,
    rc::Rc,
    sync::{Arc, atomic::Ordering, mpsc::Receiver},
    task::Poll,
};

use codec::{
    Response, Want,
    content::{self, Unpacking},
    reply::MAX_BODY,
};
use measure::{Sample, TimeKind, label::LabelGroup, sample::Intended};
use plan::Schedule;
use tokio::{io::unix::AsyncFd, task::spawn_local};

use crate::{
    Answered, BridgeState, Command, Completion, ExternalSample, Order, PendingSample, SessionId,
    Settlement, Token,
    arrivals::{Due, StartedArrivals},
    provisional,
};
use engine::driver::Driver;
use worker::{
    Worker,
    client::{Client, HttpClientConfig, MeasuredCall, pool::ConnectionPool},
    deadlines::Limit,
};

/// Maximum delay of settlements while there are no orders.
const SETTLE_NS: u64 = 20_000_000;

pub struct BridgeDriver {
    pub shared: Arc<BridgeState>,
    pub queue: usize,
    pub command: Option<Receiver<Command>>,
    pub settings: HttpClientConfig,
    /// Schedule of arrivals. `None` if the test has no scheduled arrivals.
    pub schedule: Option<Schedule>,
}

impl Driver for BridgeDriver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        worker.start_late(worker.clock.now());
        Box::pin(async move {
            let Some(command) = self.command else { return };
            let state = match WorkerState::new(&worker, self.settings, self.shared, self.queue) {
                Ok(state) => Rc::new(state),
                Err(line) => return worker.remark(line),
            };
            if let Some(schedule) = self.schedule.filter(|schedule| schedule.total() > 0) {
                state.arrives.set(true);
                spawn_local(announce(Rc::clone(&state), schedule));
            }
            serve(&state, &command).await;
        })
    }
}

#[derive(Default)]
struct InFlightCalls {
    limit: Rc<Limit>,
    is_cancelled: Cell<bool>,
}

pub(super) struct WorkerState {
    pub(super) worker: Rc<Worker>,
    /// Two clients: one that verifies certificates, and one that does not.
    clients: [Client; 2],
    pub(super) shared: Arc<BridgeState>,
    queue: usize,
    sessions: RefCell<HashMap<SessionId, [Rc<ConnectionPool>; 2]>>,
    in_flight: RefCell<HashMap<Token, Rc<InFlightCalls>>>,
    hosts: RefCell<HashMap<String, bool>>,
    told_to_end: Cell<bool>,
    ended: Cell<bool>,
    arrives: Cell<bool>,
    started: StartedArrivals,
}

impl WorkerState {
    fn new(
        worker: &Rc<Worker>,
        settings: HttpClientConfig,
        shared: Arc<BridgeState>,
        queue: usize,
    ) -> Result<WorkerState, String> {
        let client = |verify_tls: bool| {
            let mut http = settings.http.clone();
            // The sender stores cookies, so the client must not.
            (http.verify_tls, http.cookie_jar) = (verify_tls, false);
            let (hosts, sources) = (settings.hosts.clone(), settings.sources.clone());
            HttpClientConfig::new(&http, hosts, sources)
                .map(|settings| Client::new(worker, settings))
        };
        Ok(WorkerState {
            clients: [client(true)?, client(false)?],
            worker: Rc::clone(worker),
            shared,
            queue,
            sessions: RefCell::default(),
            in_flight: RefCell::default(),
            hosts: RefCell::default(),
            told_to_end: Cell::new(false),
            ended: Cell::new(false),
            arrives: Cell::new(false),
            started: StartedArrivals::default(),
        })
    }

    fn notifier(&self) -> &super::Notifier {
        &self.shared.lanes[self.queue].notifier
    }

    fn pool(&self, session: SessionId, verifies: bool) -> Rc<ConnectionPool> {
        let mut sessions = self.sessions.borrow_mut();
        let pools = sessions.entry(session).or_insert_with(|| {
            [
                Rc::new(ConnectionPool::own()),
                Rc::new(ConnectionPool::own()),
            ]
        });
        Rc::clone(&pools[usize::from(!verifies)])
    }

    fn may_go_to(&self, order: &Order) -> bool {
        let host = &order.request.target.origin.host;
        if let Some(known) = self.hosts.borrow().get(host) {
            return *known;
        }
        let may = self.clients[0].may_go_to(host, "the test sends requests to this host");
        self.hosts.borrow_mut().insert(host.clone(), may);
        may
    }
}

async fn serve(state: &Rc<WorkerState>, command: &Receiver<Command>) {
    let worker = &state.worker;
    let notifier = state.notifier().for_listener().and_then(worker::watch);
    let notifier = match notifier {
        Ok(notifier) => notifier,
        Err(error) => return worker.remark(format!("cannot create a notifier: {error}")),
    };
    let patience = Rc::new(Limit::default());
    loop {
        state.notifier().clear();
        for one in command.try_iter() {
            execute(state, one);
        }
        worker.users.set(if state.queue == 0 {
            state.shared.users.load(Ordering::Relaxed)
        } else {
            0
        });
        if state.ended.get() && state.in_flight.borrow().is_empty() {
            for done in state.shared.take(usize::MAX) {
                settle(worker, Settlement::cancelled(done.account));
            }
            state.started.abandon(worker);
            return;
        }
        if worker.arrivals_end.is_aborted() && !state.told_to_end.replace(true) {
            state.shared.ending.store(true, Ordering::Relaxed);
            state.shared.notifier.ring();
        }
        let until = worker.clock.now() + SETTLE_NS;
        worker.deadlines.borrow_mut().limit(&patience, until);
        rung(&notifier, &patience).await;
    }
}

async fn rung(notifier: &AsyncFd<std::os::fd::OwnedFd>, patience: &Limit) {
    std::future::poll_fn(|cx| {
        if let Poll::Ready(ready) = notifier.poll_read_ready(cx) {
            // The next poll checks readiness again.
            if let Ok(mut guard) = ready {
                guard.clear_ready();
            }
            return Poll::Ready(());
        }
        patience.poll(cx).map(|_| ())
    })
    .await;
}

fn execute(state: &Rc<WorkerState>, command: Command) {
    match command {
        Command::Send(token, order) => take_up(state, token, *order),
        Command::Cancel(token) => {
            if let Some(order) = state.in_flight.borrow().get(&token) {
                order.is_cancelled.set(true);
                order.limit.abort();
            }
        }
        Command::Settle(settled) => settle(&state.worker, *settled),
        Command::Foreign(foreign) => enter_foreign(state, *foreign),
        Command::Close(session) => {
            state.sessions.borrow_mut().remove(&session);
        }
        Command::Started(due, name) => state.started.begin(&state.worker, due, &name),
        Command::Over(number, ended, at_ns) => {
            state.started.end(&state.worker, number, ended, at_ns);
        }
        Command::EndArrivals(from_ns) => end_arrivals(state, from_ns),
        Command::End => {
            end_arrivals(state, u64::MAX);
            state.ended.set(true);
            state
                .in_flight
                .borrow()
                .values()
                .for_each(|order| order.limit.abort());
        }
    }
}

fn end_arrivals(state: &WorkerState, from_ns: u64) {
    let worker = &state.worker;
    let from_ns = from_ns.saturating_sub(worker.clock.absolute(0));
    state.told_to_end.set(true);
    if state.arrives.get() && !worker.arrivals_end.is_aborted() {
        worker.end_arrivals(from_ns.min(worker.clock.now()));
    }
}

fn take_up(state: &Rc<WorkerState>, token: Token, order: Order) {
    let worker = &state.worker;
    let in_flight = Rc::new(InFlightCalls::default());
    let place = worker.watch(&in_flight.limit);
    state
        .in_flight
        .borrow_mut()
        .insert(token, Rc::clone(&in_flight));
    let state = Rc::clone(state);
    spawn_local(async move {
        let done = fulfil(&state, token, &order, &in_flight.limit).await;
        state.in_flight.borrow_mut().remove(&token);
        state.worker.unwatch(place);
        hand_back(
            &state,
            done,
            in_flight.is_cancelled.get() || state.ended.get(),
        );
        if state.ended.get() {
            state.notifier().ring();
        }
    });
}

fn hand_back(state: &WorkerState, done: Completion, is_unwanted: bool) {
    if is_unwanted {
        return settle(&state.worker, Settlement::cancelled(done.account));
    }
    let _ = state.shared.done.send(done);
    state.shared.notifier.ring();
}

async fn fulfil(state: &WorkerState, token: Token, order: &Order, limit: &Rc<Limit>) -> Completion {
    let worker = &state.worker;
    let zero_ns = worker.clock.absolute(0);
    let now = worker.clock.now();
    let called = order.called_ns.saturating_sub(zero_ns);
    // Time in the worker's queue counts as wait, not as lateness.
    let started = order
        .arrival_ns
        .map_or(now, |(_, at)| at.saturating_sub(zero_ns).min(now));
    let intended = match order.arrival_ns {
        Some((at, _)) => Intended::scheduled(at.saturating_sub(zero_ns)),
        None => Intended::after_previous(called, 0),
    };
    let label = worker.label(LabelGroup::Request, &order.method, &order.name);
    let call = MeasuredCall {
        label,
        method: &order.method,
        request: &order.request,
        intended,
        started_ns: started,
        total_ns: None,
        idle_ns: order.read_ns,
        connect_ns: order.connect_ns,
        want: Want {
            head: true,
            body: true,
            ..Want::default()
        },
        is_allowed: state.may_go_to(order),
    };
    let client = &state.clients[usize::from(!order.verifies)];
    let pool = state.pool(order.session, order.verifies);
    let mut exchange = call.exchange(worker);
    let measured = client.measure(&call, &mut exchange, &pool, limit).await;
    Completion {
        token,
        answer: read(exchange.answer),
        fault: measured.fault,
        account: PendingSample {
            queue: state.queue,
            zero_ns,
            sample: measured.sample,
            redirects: 0,
        },
    }
}

fn read(mut answer: Response) -> Answered {
    let (body, unreadable) = match content::decoded(&answer, MAX_BODY, Unpacking::Lenient) {
        Ok(std::borrow::Cow::Owned(body)) => (Some(body), None),
        Ok(std::borrow::Cow::Borrowed(_)) => (None, None),
        Err(reason) => (None, Some(format!("{reason:?}"))),
    };
    Answered {
        status: answer.status,
        body: body.unwrap_or_else(|| std::mem::take(&mut answer.body)),
        unreadable,
        location: answer.location().map(str::to_owned),
        sets_cookies: !answer.set_cookies().is_empty(),
        head: answer.head,
    }
}

fn settle(worker: &Worker, settled: Settlement) {
    let PendingSample {
        mut sample,
        zero_ns,
        redirects,
        ..
    } = settled.account;
    if let Some((method, name)) = &settled.renamed {
        sample.label = worker.label(LabelGroup::Request, method, name);
    }
    sample.ended = settled.ended;
    let (called, outcome) = (sample.intended.ns(), sample.ended.outcome());
    let mut recorder = worker.recorder.borrow_mut();
    recorder.issued(sample.done_ns, sample.label, sample.intended);
    recorder.sample(&sample);
    if let Some(resumed) = settled.resumed_ns {
        let resumed = resumed.saturating_sub(zero_ns);
        let mut time = |label, kind, ns| {
            let duration = measure::DurationSample {
                label,
                intended: sample.intended,
                kind,
                outcome,
                ns,
            };
            recorder.time(sample.done_ns, duration);
        };
        time(
            sample.label,
            TimeKind::Script,
            resumed.saturating_sub(called),
        );
        time(
            measure::label::ALL,
            TimeKind::Lag,
            resumed.saturating_sub(sample.done_ns),
        );
    }
    for _ in 0..redirects {
        recorder.redirected(sample.done_ns, sample.label, sample.intended);
    }
    if recorder.is_first(sample.label, sample.ended) {
        recorder.first(&sample, settled.detail);
    }
}

fn enter_foreign(state: &WorkerState, foreign: ExternalSample) {
    let worker = &state.worker;
    let zero_ns = worker.clock.absolute(0);
    let took_ns = foreign.took_ns.unwrap_or(0);
    // The request may have started before the test.
    let done_ns = foreign.done_ns.saturating_sub(zero_ns).max(took_ns);
    let began = done_ns - took_ns;
    let label = worker.label(LabelGroup::Script, &foreign.method, &foreign.name);
    let intended = Intended::after_previous(began, 0);
    let sample = Sample {
        first_write_ns: foreign.took_ns.map(|_| began),
        done_ns,
        ended: foreign.ended,
        bytes_in: foreign.bytes_in,
        ..provisional(label, intended, began)
    };
    let mut recorder = worker.recorder.borrow_mut();
    recorder.issued(done_ns, label, intended);
    recorder.sample(&sample);
    if recorder.is_first(label, sample.ended) {
        recorder.first(&sample, foreign.detail);
    }
}

async fn announce(state: Rc<WorkerState>, schedule: Schedule) {
    let worker = &state.worker;
    let share = worker.share();
    for arrival in schedule.shard(share.index, share.of) {
        if worker.clock.now() < arrival.intended_ns {
            let slept = worker.sleep_until(arrival.intended_ns, &worker.arrivals_end);
            if slept.await.is_err() {
                return;
            }
        } else if worker.arrivals_end.is_aborted() {
            return;
        }
        state.shared.is_due(Due {
            number: arrival.number,
            intended_ns: worker.clock.absolute(arrival.intended_ns),
        });
        // If the schedule is far behind, no earlier call yields.
        tokio::task::coop::consume_budget().await;
    }
}
