//! Simulated runs with known behaviour, for tests.

use measure::{LabelId, NoAnswer, OutcomeClass, Slot, TimeKind, TimeSpan, interval::Gauge, label};
use plan::{
    FirstArrival, Format, Load, Phase, Plan, Rate, Shape,
    rng::{Purpose, Rng},
    units::SECOND,
};
use record::{IntervalRecord, LabelTotals, Manifest, Run, RunContext, RunState, Totals};

pub const MS: f64 = 1e6;
pub const RATE: u64 = 100;
const LABEL: LabelId = 2;

#[must_use]
pub fn plan(phases: Vec<Phase>) -> Plan {
    let load = Load::Open {
        phases,
        first: FirstArrival::AtStart,
    };
    Plan::new("t".into(), Format::NATIVE, "http://x".into(), load, vec![])
}

#[must_use]
pub fn phase(seconds: u64) -> Phase {
    let shape = Shape::Rate(Rate::per_second(RATE));
    Phase::new(seconds * SECOND, shape)
}

#[derive(Debug, Default)]
pub struct SimulatedSecond {
    pub issued: u64,
    pub answered: Vec<f64>,
    pub failed: u64,
    pub timeouts: u64,
}

#[must_use]
pub fn about(random: &mut Rng, ms: f64) -> SimulatedSecond {
    let mut noise = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let answered = (0..RATE).map(|_| ms * MS * (0.2 * noise()).exp());
    SimulatedSecond {
        issued: RATE,
        answered: answered.collect(),
        ..SimulatedSecond::default()
    }
}

pub fn run(plan: &Plan, seconds: u64, mut seen: impl FnMut(u64) -> SimulatedSecond) -> Run {
    let manifest = Manifest::new(plan, RunContext::default());
    let mut labels = measure::Labels::default();
    labels.id(measure::label::LabelGroup::Request, "GET", "/");
    let mut run = Run::planned(manifest, labels.all().to_vec());
    run.manifest.state = RunState::Complete;
    run.totals = Totals::new(&run.manifest);
    let mut in_flight_now = 0;
    for second in 0..seconds {
        let seen = seen(second);
        let mut slot = Slot::default();
        let counters = &mut slot.counters;
        (counters.issued, counters.failed) = (seen.issued, seen.failed);
        counters.ok = seen.answered.len() as u64 - seen.failed;
        counters.unanswered[NoAnswer::Timeout as usize] = seen.timeouts;
        counters.paced = counters.ended();
        in_flight_now = in_flight_now + counters.issued - counters.ended();
        for kind in [TimeKind::Response, TimeKind::Service] {
            for ns in &seen.answered {
                slot.record(kind, OutcomeClass::Ok, *ns as u64);
            }
            for _ in 0..seen.timeouts {
                slot.record(kind, OutcomeClass::Unanswered, 10 * SECOND);
            }
        }
        let span = TimeSpan::new(second * SECOND, (second + 1) * SECOND);
        let phases = &run.manifest.phases;
        let phase = phases
            .iter()
            .take_while(|phase| phase.end_ns <= span.from_ns)
            .count() as u32;
        let mut frame = IntervalRecord {
            index: second,
            span,
            phase,
            ..IntervalRecord::default()
        };
        for label in [label::ALL, LABEL] {
            frame
                .parts
                .insert((label, phase), LabelTotals::from_slot(&slot));
        }
        let (samples, level) = (1, in_flight_now);
        (frame.run.due, frame.run.started) = (seen.issued, seen.issued);
        frame.run.in_flight = Gauge {
            samples,
            sum: level,
            max: level,
            last: level,
        };
        let labels = run.labels.clone();
        run.totals.add(&frame, &labels);
    }
    run
}

#[must_use]
pub fn random(seed: u64) -> Rng {
    Rng::keyed(seed, Purpose::Resampling, 5, 0)
}

#[must_use]
pub fn simulated_run(plan: &Plan, seed: u64, seconds: u64, ms: impl Fn(f64) -> f64) -> Run {
    let mut random = random(seed);
    run(plan, seconds, |second| {
        about(&mut random, ms(second as f64))
    })
}

/// Simulates a FIFO server with 1,000 requests/s. Requests time out after `gives_up` seconds but
/// are still processed.
#[must_use]
pub fn queue(seconds: u64, comes: u64, gives_up: Option<f64>) -> Run {
    bounded_queue(seconds, comes, gives_up, None)
}

/// Simulates `queue` with space for `limit_s` seconds of work. Further arrivals fail immediately.
#[must_use]
pub fn bounded_queue(seconds: u64, comes: u64, gives_up: Option<f64>, limit_s: Option<f64>) -> Run {
    let plan = plan(vec![phase(seconds)]);
    let mut random = random(2);
    let mut gap = |rate: f64| -(1.0 - random.unit()).ln() / rate;
    let mut seen: Vec<SimulatedSecond> = (0..seconds).map(|_| SimulatedSecond::default()).collect();
    let (mut at, mut free) = (0.0, 0.0f64);
    loop {
        at += gap(comes as f64);
        let Some(second) = seen.get_mut(at as usize) else {
            break;
        };
        second.issued += 1;
        if limit_s.is_some_and(|limit_s| free - at > limit_s) {
            second.answered.push(MS);
            second.failed += 1;
            continue;
        }
        free = free.max(at) + gap(1000.0);
        let is_lost = gives_up.is_some_and(|after| free - at > after);
        let end = if is_lost {
            at + gives_up.unwrap_or(0.0)
        } else {
            free
        };
        match seen.get_mut(end as usize) {
            Some(second) if is_lost => second.timeouts += 1,
            Some(second) => second.answered.push((free - at) * 1e9),
            None => {}
        }
    }
    let mut seen = seen.into_iter();
    run(&plan, seconds, |_| seen.next().unwrap_or_default())
}

#[must_use]
pub fn steady(run: &Run) -> Option<super::Steady> {
    super::detect(run, &crate::moments::collect(run))
}
