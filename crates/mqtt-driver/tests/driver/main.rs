#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "helpers of tests, and a server with its own clock"
)]

use std::{collections::BTreeMap, sync::Arc};

use engine::{EngineOptions, Prepared, Sink};
use measure::{
    Interval, Slot,
    accumulator::{Accumulator, Event, Tally},
};
use mqtt_driver::{DriverConfig, maker};
use plan::{
    FirstArrival, Format, Load, Phase, Plan, Raw, Shape, Work,
    mqtt::{Arrival, Clients, Mqtt, Payload, Properties, Publishing, Subscribing, Version},
    units::{MILLISECOND, SECOND},
};
use worker::{OutputLine, clock::Zero, stop::StopHandle};

mod background;
mod connecting;
mod flows;
mod peer;

#[derive(Default)]
struct TestAccumulator(Tally);

impl Accumulator for TestAccumulator {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        if let Event::Custom { name, value } = event {
            *self.0.counters.entry((*name).to_owned()).or_default() += value;
        }
    }

    fn take(&mut self) -> Tally {
        std::mem::take(&mut self.0)
    }
}

#[derive(Default)]
struct Kept {
    intervals: Vec<Interval>,
    lines: Vec<OutputLine>,
}

impl Sink for Kept {
    fn interval(&mut self, interval: Interval) {
        self.intervals.push(interval);
    }

    fn line(&mut self, line: Raw<OutputLine>) {
        self.lines.push(line.into_exposed());
    }
}

impl Kept {
    fn count(&self, name: &str) -> u64 {
        let of = |interval: &Interval| interval.frontend.counters.get(name).copied();
        self.intervals.iter().filter_map(of).sum()
    }

    fn counts<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        names.map(|name| self.count(name))
    }

    fn requests(&self) -> [u64; 4] {
        let mut sum: Slot = Slot::default();
        for interval in &self.intervals {
            sum.add(&interval.label(measure::label::ALL));
        }
        let counters = sum.counters;
        [
            counters.issued,
            counters.ok,
            counters.failed,
            counters.unanswered.iter().sum(),
        ]
    }

    fn remarks(&self) -> BTreeMap<&str, usize> {
        let mut remarks = BTreeMap::new();
        for line in &self.lines {
            if let OutputLine::Remark(text) = line {
                *remarks.entry(text.as_str()).or_default() += 1;
            }
        }
        remarks
    }
}

fn client() -> Clients {
    Clients {
        count: 1,
        first: 0,
        client_id: "c%i".into(),
        username: None,
        password: None,
        keep_alive_s: 0,
        clean: false,
        session_expiry_s: 0,
        will: None,
        publish: None,
        subscribe: Vec::new(),
        each: Vec::new(),
        credentials: Vec::new(),
    }
}

fn connect(flags: u8, keep_alive: u8) -> peer::Do {
    let mut bytes = vec![0x10, 14, 0, 4, b'M', b'Q', b'T', b'T', 4, flags];
    bytes.extend([0, keep_alive, 0, 2, b'c', b'0']);
    peer::Hear(bytes)
}

fn publisher(qos: u8, inflight: u16) -> Clients {
    Clients {
        publish: Some(Publishing {
            topic: "a".into(),
            qos,
            retain: false,
            payload: Payload::Text("m".into()),
            inflight,
            properties: Properties::default(),
            pace: None,
        }),
        ..client()
    }
}

fn subscriber(qos: u8) -> Clients {
    Clients {
        subscribe: vec![Subscribing {
            filter: "a".into(),
            qos,
        }],
        ..client()
    }
}

fn messages(count: u64) -> Load {
    let phases =
        [Shape::Pause, Shape::Count(count)].map(|shape| Phase::new(10 * MILLISECOND, shape));
    Load::Open {
        phases: phases.into(),
        first: FirstArrival::AtStart,
    }
}

const PATIENT: u64 = 60 * SECOND;

fn run(port: u16, messages_due: u64, version: Version, clients: Clients) -> Kept {
    let stop = StopHandle::default();
    run_until(&stop, port, messages(messages_due), version, clients)
}

fn stay(stop: &StopHandle, port: u16, clients: Clients) -> Kept {
    let arrivals = Shape::Count(u64::from(clients.count));
    let load = Load::Open {
        phases: vec![
            Phase::new(10 * MILLISECOND, arrivals),
            Phase::new(PATIENT, Shape::Pause),
        ],
        first: FirstArrival::AtStart,
    };
    run_until(stop, port, load, Version::V311, clients)
}

fn run_until(stop: &StopHandle, port: u16, load: Load, version: Version, clients: Clients) -> Kept {
    let arrivals = match clients.publish {
        Some(_) => Arrival::Message,
        None => Arrival::Connection,
    };
    let work = Mqtt {
        host: "127.0.0.1".into(),
        more_hosts: Vec::new(),
        port,
        tls: false,
        version,
        arrivals,
        connect_every_ns: 0,
        groups: vec![clients],
    };
    let driver = maker(DriverConfig {
        work: Arc::new(work.clone()),
        flat_out: false,
        own: Vec::new(),
        seed: 1,
        run: 1,
        limit: None,
        clients: None,
    });
    let target = work.target();
    let plan = Plan::new(
        target.clone(),
        Format("mqtt"),
        target,
        load,
        Work::Mqtt(work),
    );
    let options = EngineOptions {
        drain_ns: Some(PATIENT),
        stop: stop.clone(),
        workers: Some(1),
        frontend: Some(Arc::new(|| Box::new(TestAccumulator::default()))),
        driver: Some(driver),
        ..EngineOptions::default()
    };
    let mut stored = Kept::default();
    let prepared = Prepared::new(&plan, options).expect("a plan that compiles");
    let zero = Zero::in_ns(MILLISECOND);
    prepared.run(zero, &mut stored).expect("a run");
    stored
}
