//! Tests in simulated time. They use the real driver, users, exchange, deadlines and recorder with
//! a clock that jumps from deadline to deadline.

mod adjustable;
mod flows;
mod groups;
mod judged;
mod shares;
mod takeovers;

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::VecDeque,
    io,
    rc::{Rc, Weak},
    sync::{Arc, OnceLock, mpsc},
    task::{Context, Poll, Waker},
};

use measure::{
    Interval, OutcomeClass, Recorder, Slot, TimeKind,
    cuts::Cuts,
    label::{self, Registry},
    summary::KindTimes,
};
use plan::{
    FirstArrival, Format, Load, Phase, Plan, PoolPolicy, Rate, Raw, Request, Scenario, Schedule,
    Shape, Share, Step, Template,
    scenario::{Think, ThinkTime},
    units::{MILLISECOND, SECOND},
};
use tokio::io::ReadBuf;
use tokio_rustls::rustls::ClientConfig;

use crate::{
    collect::{Collector, Sink},
    driver::scenario,
    program::Program,
    user::Env,
};
use worker::{
    OutputLine, Worker, WorkerContext, WorkerMessage, WorkerPosition,
    client::{
        Client, HttpClientConfig,
        hosts::{Allow, Hosts},
    },
    clock::{Clock, Zero},
    load_control::LoadControl,
    memory::Memory,
    net::{ByteStream, Dialer, tls},
    stop::StopHandle,
    takeover::ShardTakeover,
    watchdog::Watchdog,
};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

const ONLY_WORKER: WorkerPosition = WorkerPosition {
    index: 0,
    workers: 1,
};

/// Maps the arrival of a request to the time of its response, in nanoseconds. `None` means that the
/// server never responds.
type Model = Box<dyn FnMut(u64) -> Option<u64>>;

pub struct SimulatedServer {
    worker: OnceCell<Weak<Worker>>,
    model: RefCell<Model>,
}

impl std::fmt::Debug for SimulatedServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Server")
    }
}

#[derive(Debug)]
pub struct Connection {
    server: Rc<SimulatedServer>,
    releases: VecDeque<Option<u64>>,
    reader: Option<Waker>,
}

impl SimulatedServer {
    fn worker(&self) -> Rc<Worker> {
        self.worker
            .get()
            .and_then(Weak::upgrade)
            .expect("the worker lives as long as the simulation")
    }
}

#[derive(Debug)]
struct SimulatedDialer(Rc<SimulatedServer>);

impl Dialer for SimulatedDialer {
    fn dial(&self) -> Box<dyn ByteStream> {
        Box::new(Connection {
            server: Rc::clone(&self.0),
            releases: VecDeque::new(),
            reader: None,
        })
    }
}

impl ByteStream for Connection {
    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let now = self.server.worker().clock.now();
        self.releases
            .push_back((self.server.model.borrow_mut())(now));
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let worker = self.server.worker();
        match self.releases.front() {
            Some(Some(release)) if *release <= worker.clock.now() => {
                self.releases.pop_front();
                buf.put_slice(ANSWER);
                return Poll::Ready(Ok(()));
            }
            Some(Some(release)) => {
                worker
                    .deadlines
                    .borrow_mut()
                    .add(*release, cx.waker().clone());
            }
            _ => self.reader = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

struct KeptIntervals(Vec<Interval>);

impl Sink for KeptIntervals {
    fn interval(&mut self, interval: Interval) {
        self.0.push(interval);
    }

    fn line(&mut self, _: Raw<OutputLine>) {}
}

fn plan(load: Load, pool: PoolPolicy) -> Plan {
    let request = Request::new("GET", Template::Literal("/".into()), "/");
    let scenario = Scenario {
        name: None,
        weight: 1,
        volume: None,
        on_error: Vec::new(),
        steps: vec![Step::Request(Box::new(request))],
    };
    let target = "http://127.0.0.1:1".to_owned();
    let mut plan = Plan::new(
        "simulated".into(),
        Format::NATIVE,
        target,
        load,
        vec![scenario],
    );
    plan.http.pool = pool;
    plan
}

fn open(rate: u64, seconds: u64) -> Load {
    let phase = Phase::new(seconds * SECOND, Shape::Rate(Rate::per_second(rate)));
    Load::Open {
        phases: vec![phase],
        first: FirstArrival::AtStart,
    }
}

fn simulate(plan: &Plan, model: Model) -> Vec<Interval> {
    simulate_held_up(plan, model, |at| at)
}

/// Simulates a run on a machine that delays the worker. `held_up` maps a time to the time at which
/// the worker runs.
fn simulate_held_up(plan: &Plan, model: Model, held_up: impl Fn(u64) -> u64) -> Vec<Interval> {
    simulate_share(plan, model, held_up, Share::WHOLE)
}

fn simulate_share(
    plan: &Plan,
    model: Model,
    held_up: impl Fn(u64) -> u64,
    share: Share,
) -> Vec<Interval> {
    let around = Around {
        share,
        ..Around::default()
    };
    simulate_around(plan, model, held_up, around)
}

/// Simulates a run whose load `held_up` can change.
fn simulate_load_control(
    plan: &Plan,
    model: Model,
    held_up: impl Fn(u64) -> u64,
    share: Share,
    load_control: Option<LoadControl>,
) -> Vec<Interval> {
    let around = Around {
        share,
        load_control,
        ..Around::default()
    };
    simulate_around(plan, model, held_up, around)
}

#[derive(Default)]
struct Around {
    share: Share,
    load_control: Option<LoadControl>,
    takeovers: Option<ShardTakeover>,
    stop: StopHandle,
    position: Option<WorkerPosition>,
}

impl Around {
    fn common(&self, messages: mpsc::Sender<WorkerMessage>, labels: Registry) -> WorkerContext {
        WorkerContext {
            pulse: std::sync::Arc::default(),
            zero: Zero {
                monotonic_ns: 0,
                wall_ns: 0,
            },
            stop: self.stop.clone(),
            load_control: self.load_control.clone(),
            lease: None,
            takeovers: self.takeovers.clone(),
            messages,
            lines: std::sync::Arc::default(),
            users: std::sync::Arc::default(),
            share: self.share,
            trace: false,
            walks: false,
            drain_ns: Some(30 * SECOND),
            pacing_slack_ns: 0,
            labels,
        }
    }

    fn due(&self, schedule: &Schedule, until_ns: u64) -> u64 {
        let position = self.position.unwrap_or(ONLY_WORKER);
        let own = position.part_of(self.share);
        if let Some(load_control) = &self.load_control {
            return load_control.due_of_shard(own.index, own.of, until_ns);
        }
        let taken_over = self.takeovers.as_ref();
        let taken_over =
            taken_over.map_or(0, |takeovers| takeovers.due(schedule, position, until_ns));
        taken_over + schedule.due_of_shard(own.index, own.of, until_ns)
    }
}

fn simulate_around(
    plan: &Plan,
    model: Model,
    held_up: impl Fn(u64) -> u64,
    around: Around,
) -> Vec<Interval> {
    let position = around.position.unwrap_or(ONLY_WORKER);
    let program = Program::compile(plan, 1, None).expect("a plan that compiles");
    let labels = program.labels.clone();
    let now = Rc::new(Cell::new(0));
    let clock = Clock::manual(Rc::clone(&now));
    let cuts = Cuts::new(0, program.schedule.phase_ends());
    let recorder = Recorder::new(0, cuts, labels.all().len(), None);
    static TLS: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let tls = TLS.get_or_init(|| tls::config(&plan.http).expect("a TLS configuration"));
    let server = Rc::new(SimulatedServer {
        worker: OnceCell::new(),
        model: RefCell::new(model),
    });
    let (messages, receiver) = mpsc::channel();
    let common = around.common(messages, Registry::new(labels.clone()));
    let lines = std::sync::Arc::clone(&common.lines);
    let schedule = program.schedule.clone();
    let due = move |_, until| around.due(&schedule, until);
    let memory = Memory::new(u64::MAX);
    let worker = Rc::new(Worker::new(position, 1, clock, recorder, memory, common));
    let mut client = Client::new(
        &worker,
        HttpClientConfig {
            http: plan.http.clone(),
            tls: Arc::clone(tls),
            sources: Vec::new(),
            hosts: Hosts::new(plan, &Allow::default()),
            origins: Vec::new(),
        },
    );
    client.set_dialer(Rc::new(SimulatedDialer(Rc::clone(&server))));
    let env = Env {
        worker: Rc::clone(&worker),
        client: Rc::new(client),
        program,
        hook: None,
        script: None,
    };
    server.worker.set(Rc::downgrade(&worker)).expect("set once");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .event_interval(1 << 20)
        .build_local(tokio::runtime::LocalOptions::default())
        .expect("a runtime");
    runtime.block_on(async {
        let work = tokio::task::spawn_local(scenario::run(Rc::new(env)));
        while !work.is_finished() {
            worker.sample_levels(now.get());
            worker.run_due(now.get());
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
            now.set(held_up(now.get().max(worker.next_deadline().0)));
        }
    });
    worker.finish();
    drop(runtime);
    drop(worker);
    let mut intervals = KeptIntervals(Vec::new());
    let watchdog = Watchdog::new(Vec::new(), StopHandle::default(), None);
    let clock = Clock::manual(Rc::clone(&now));
    Collector::new(1, Registry::new(labels), Box::new(due)).run(
        &receiver,
        &lines,
        &clock,
        watchdog,
        &mut intervals,
    );
    intervals.0
}

fn total(intervals: &[Interval], id: u16) -> Slot {
    intervals.iter().fold(Slot::default(), |mut sum, interval| {
        sum.add(&interval.label(id));
        sum
    })
}

fn stalling(service: u64, stall: u64, every: u64) -> Model {
    Box::new(move |arrival| {
        let into = arrival % every;
        let stalled = into + service > every - stall;
        Some(if stalled {
            (arrival / every + 1) * every + service
        } else {
            arrival + service
        })
    })
}

fn response_ms(intervals: &[Interval], q: f64) -> f64 {
    match KindTimes::from_slot(&total(intervals, label::ALL), TimeKind::Response).quantile(q) {
        measure::summary::Quantile::Ns(ns) => ns as f64 / MILLISECOND as f64,
        other => panic!("{other:?}"),
    }
}

fn near(measured: f64, wanted: f64, share: f64) {
    assert!(
        (measured - wanted).abs() <= wanted * share,
        "{measured} for {wanted}"
    );
}

#[test]
fn stall_affects_all_arrivals_in_it() {
    let intervals = simulate(
        &plan(open(1000, 60), PoolPolicy::PerUser),
        stalling(MILLISECOND, SECOND, 10 * SECOND),
    );
    let all = total(&intervals, label::ALL);
    assert_eq!((all.counters.issued, all.counters.ok), (60_000, 60_000));
    near(response_ms(&intervals, 0.5), 1.0, 0.01);
    near(response_ms(&intervals, 0.95), 500.0, 0.01);
    near(response_ms(&intervals, 0.99), 900.0, 0.01);
    near(response_ms(&intervals, 0.999), 990.0, 0.01);
    let mean = all
        .histogram(TimeKind::Response, OutcomeClass::Ok)
        .and_then(measure::Histogram::mean)
        .unwrap_or(0.0);
    near(mean / MILLISECOND as f64, 51.0, 0.02);
    let lateness = all
        .histogram(TimeKind::Lateness, OutcomeClass::Ok)
        .and_then(measure::Histogram::max);
    assert_eq!(lateness, Some(0));
}

#[test]
fn connection_limit_adds_wait_to_response_time() {
    for (cap, p99) in [(2, 950.0), (10, 910.0), (100, 901.0)] {
        let intervals = simulate(
            &plan(open(1000, 60), PoolPolicy::Shared(cap)),
            stalling(MILLISECOND, SECOND, 10 * SECOND),
        );
        near(response_ms(&intervals, 0.99), p99, 0.01);
        let all = total(&intervals, label::ALL);
        assert_eq!(
            all.histogram(TimeKind::Lateness, OutcomeClass::Ok)
                .and_then(measure::Histogram::max),
            Some(0)
        );
        assert_eq!(
            intervals.iter().map(|i| i.run.opened).sum::<u64>(),
            u64::from(cap.min(100))
        );
    }
}

#[test]
fn independent_slow_requests_do_not_slow_others() {
    let mut k = 0;
    let model: Model = Box::new(move |arrival| {
        k += 1;
        Some(arrival + if k % 10 == 0 { SECOND } else { MILLISECOND })
    });
    let intervals = simulate(&plan(open(1000, 20), PoolPolicy::PerUser), model);
    near(response_ms(&intervals, 0.5), 1.0, 0.01);
    near(response_ms(&intervals, 0.89), 1.0, 0.01);
    near(response_ms(&intervals, 0.95), 1000.0, 0.01);
}

#[test]
fn closed_users_see_a_stall_once_each() {
    let load = Load::users(10, 20 * SECOND);
    let intervals = simulate(
        &plan(load, PoolPolicy::PerUser),
        stalling(MILLISECOND, SECOND, 10 * SECOND),
    );
    let all = total(&intervals, label::ALL);
    let slow = all
        .histogram(TimeKind::Response, OutcomeClass::Ok)
        .map(|h| h.above(10 * MILLISECOND));
    assert_eq!(slow, Some(20));
    // 10 users with 1 ms per request for 18 s send 180,000 requests, less one per user and stall.
    near(all.counters.ok as f64, 180_000.0, 0.001);
}

#[test]
fn unanswered_requests_time_out_and_are_counted() {
    let mut k = 0;
    let model: Model = Box::new(move |arrival| {
        k += 1;
        (k % 100 != 0).then_some(arrival + MILLISECOND)
    });
    let mut plan = plan(open(100, 60), PoolPolicy::PerUser);
    plan.http.timeouts.total_ns = Some(2 * SECOND);
    let intervals = simulate(&plan, model);
    let all = total(&intervals, label::ALL).counters;
    assert_eq!((all.issued, all.ok, all.without_answer()), (6000, 5940, 60));
    let times = KindTimes::from_slot(&total(&intervals, label::ALL), TimeKind::Response);
    assert!(
        matches!(times.quantile(0.995), measure::summary::Quantile::NoAnswer(ns) if ns >= 2 * SECOND)
    );
    assert!(matches!(
        times.quantile(0.98),
        measure::summary::Quantile::Ns(_)
    ));
}

#[test]
fn timeout_does_not_end_think_times() {
    let mut plan = plan(open(10, 5), PoolPolicy::PerUser);
    plan.http.timeouts.total_ns = Some(SECOND);
    let think = Step::Think(Think {
        time: ThinkTime::Fixed(5 * SECOND),
        jitter: None,
    });
    let steps = &mut plan.work.scenarios_mut()[0].steps;
    let request = steps[0].clone();
    steps.extend([think, request]);
    let intervals = simulate(&plan, Box::new(|arrival| Some(arrival + MILLISECOND)));
    let all = total(&intervals, label::ALL).counters;
    assert_eq!((all.issued, all.ok), (100, 100));
    assert_eq!(total(&intervals, 3).counters.ok, 50);
}

#[test]
fn exiting_users_complete_their_iteration() {
    let mut plan = plan(open(200, 20), PoolPolicy::PerUser);
    let steps = &mut plan.work.scenarios_mut()[0].steps;
    let Step::Request(first) = steps[0].clone() else {
        panic!("{steps:?}");
    };
    let named = |label: &str, probability| {
        Step::Request(Box::new(Request {
            label: label.into(),
            probability,
            ..(*first).clone()
        }))
    };
    steps.extend([
        Step::Exit(0.25),
        named("behind", None),
        named("seldom", Some(10.0)),
    ]);
    let counted = || {
        let intervals = simulate(&plan, Box::new(|arrival| Some(arrival + MILLISECOND)));
        let left: u64 = intervals.iter().map(|interval| interval.run.exited).sum();
        let counts = [2, 3, 4, 5].map(|label| total(&intervals, label).counters.ok);
        assert_eq!(counts[1] + left, counts[0]);
        counts
    };
    let [first, after, seldom, iterations] = counted();
    assert_eq!((first, iterations), (4000, 4000));
    assert!(after.abs_diff(3000) < 137, "{after}");
    assert!(seldom.abs_diff(after / 10) < 83, "{seldom} of {after}");
    assert_eq!(counted(), [first, after, seldom, iterations]);
}

#[test]
fn requests_in_flight_follow_littles_law() {
    let intervals = simulate(
        &plan(open(1000, 30), PoolPolicy::PerUser),
        Box::new(|arrival| Some(arrival + 25 * MILLISECOND)),
    );
    let (sum, samples) = intervals.iter().fold((0, 0), |(s, n), i| {
        (s + i.run.in_flight.sum, n + i.run.in_flight.samples)
    });
    near(sum as f64 / samples as f64, 25.0, 0.02);
}

fn stolen(ns: u64) -> impl Fn(u64) -> u64 {
    move |at| {
        if at % SECOND >= SECOND - ns {
            (at / SECOND + 1) * SECOND
        } else {
            at
        }
    }
}

fn closed(users: u32, seconds: u64) -> Load {
    Load::users(users, seconds * SECOND)
}

#[test]
fn delayed_closed_loop_is_visible_as_stall() {
    let instant = || -> Model { Box::new(|arrival| Some(arrival + MILLISECOND)) };
    let stalls = |held_up: &dyn Fn(u64) -> u64| {
        let intervals = simulate_held_up(
            &plan(closed(8, 20), PoolPolicy::PerUser),
            instant(),
            held_up,
        );
        let all = total(&intervals, label::ALL);
        let stalls = all.histogram(TimeKind::Stall, OutcomeClass::Ok).cloned();
        stalls.expect("a look in every slot of time")
    };
    let healthy = stalls(&|at| at);
    assert_eq!((healthy.count() / 100, healthy.max()), (20, Some(0)));
    let held_up = stalls(&stolen(50 * MILLISECOND));
    assert_eq!(held_up.count() / 100, 20);
    assert_eq!(held_up.quantile(0.94), Some(0));
    let p99 = held_up.quantile(0.99).expect("looks") as f64;
    near(p99 / MILLISECOND as f64, 40.0, 0.1);
}

#[test]
fn levels_are_correct_while_worker_is_delayed() {
    let model: Model = Box::new(|arrival| Some(arrival + MILLISECOND));
    let intervals = simulate_held_up(
        &plan(closed(8, 20), PoolPolicy::PerUser),
        model,
        stolen(500 * MILLISECOND),
    );
    let all = total(&intervals, label::ALL);
    let time: u128 = [TimeKind::Wait, TimeKind::Service]
        .into_iter()
        .filter_map(|kind| all.histogram(kind, OutcomeClass::Ok))
        .map(measure::Histogram::sum)
        .sum();
    let (sum, samples, length) = intervals.iter().fold((0, 0, 0), |(sum, n, length), i| {
        let gauge = i.run.in_flight;
        (
            sum + gauge.sum,
            n + gauge.samples,
            length + i.span.to_ns - i.span.from_ns,
        )
    });
    let by_littles_law = time as f64 / length as f64;
    near(sum as f64 / samples as f64, by_littles_law, 0.02);
    near(by_littles_law, 8.0, 0.02);
}

#[test]
fn planned_arrivals_are_independent_of_worker() {
    let model: Model = Box::new(|arrival| Some(arrival + MILLISECOND));
    let intervals = simulate_held_up(&plan(open(100, 6), PoolPolicy::PerUser), model, |at| {
        at.max(3 * SECOND)
    });
    let planned: Vec<u64> = intervals.iter().map(|i| i.run.due).collect();
    let started: Vec<u64> = intervals.iter().map(|i| i.run.started).collect();
    assert_eq!(planned[..6], [100; 6]);
    assert_eq!(started[..4], [1, 0, 0, 399]);
    assert_eq!(planned.iter().sum::<u64>(), started.iter().sum::<u64>());
}
