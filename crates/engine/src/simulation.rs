//! Tests in simulated time. They use the real driver, users, exchange, deadlines and recorder, with
//! a clock that jumps from deadline to deadline.

mod adjustable;
mod delays;
mod flows;
mod groups;
mod judged;
mod responses;
mod server;
mod shares;
mod takeovers;
mod workloads;

use std::{
    cell::{Cell, OnceCell, RefCell},
    rc::Rc,
    sync::{Arc, OnceLock, mpsc},
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
use tokio_rustls::rustls::ClientConfig;

use crate::{
    collect::{Collector, Sink},
    driver::scenario,
    program::Program,
    user::Env,
};
use server::{Model, SimulatedDialer, SimulatedServer};
use worker::{
    OutputLine, Worker, WorkerContext, WorkerMessage, WorkerPosition,
    client::{
        Client, HttpClientConfig,
        hosts::{Allow, Hosts},
    },
    clock::{Clock, Zero},
    load_control::LoadControl,
    memory::Memory,
    net::tls,
    stop::StopHandle,
    takeover::ShardTakeover,
    watchdog::Watchdog,
};

const ONLY_WORKER: WorkerPosition = WorkerPosition {
    index: 0,
    workers: 1,
};

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

fn closed(users: u32, seconds: u64) -> Load {
    Load::users(users, seconds * SECOND)
}

fn simulate(plan: &Plan, model: Model) -> Vec<Interval> {
    simulate_held_up(plan, model, |at| at)
}

/// Simulates a run on a machine that delays the worker. `held_up` maps a time to the time at which
/// the worker actually runs.
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

/// Simulates a run whose load `held_up` may change.
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
    let loads = program.loads.clone();
    let is_several = !plan.workloads().is_empty();
    let due = move |_, until| match is_several {
        true => loads.iter().map(|load| load.due(Share::WHOLE, until)).sum(),
        false => around.due(&schedule, until),
    };
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
        publishers: None,
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

/// Delays the worker for the last `ns` of each second.
fn stolen(ns: u64) -> impl Fn(u64) -> u64 {
    move |at| {
        if at % SECOND >= SECOND - ns {
            (at / SECOND + 1) * SECOND
        } else {
            at
        }
    }
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
