//! Four runs of 100 arrivals/s for 40 s: healthy, overloaded, failing, and with a load generator
//! that lacks CPU time.

use measure::{
    Failure, Fault, Intended, Recorder, Sample, Status, cuts::Cuts, label::LabelGroup,
    sample::RequestOutcome,
};
use plan::{
    FirstArrival, Format, Load, Phase, Plan, Rate, Scenario, Shape, criteria::parse_criterion,
};
use record::{
    HostSample, Manifest, Run, RunEnd, RunState, Writer,
    redact::{Redactor, Salt},
};

use super::support::{MS, SECOND, WALL, started};

pub const SECONDS: u64 = 40;
pub const RATE: u64 = 100;

const PEAK: (u64, u64, u64) = (16, 24, 125);
const FLOOD: (u64, u64, u64) = (10, 20, 200);
const QUEUE_SERVICE_NS: u64 = 7 * MS;
const TIRED_NS: u64 = 10 * MS + MS / 10;
const TIRING_NS: u64 = 2 * SECOND;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum World {
    Healthy,
    Overloaded,
    Erring,
    Starved,
    Empty,
    Once,
    NeverAnswered,
    Killed,
    Peak(u64),
    Queue { tires: bool },
}

impl World {
    fn peak(self) -> Option<(u64, u64, u64)> {
        match self {
            World::Peak(_) => Some(PEAK),
            World::Queue { .. } => Some(FLOOD),
            _ => None,
        }
    }
}

fn intended(world: World, k: u64) -> u64 {
    let even = |k: u64| k * SECOND / RATE;
    let Some((from, to, rate)) = world.peak() else {
        return even(k);
    };
    let (begin, end) = (from * RATE, from * RATE + (to - from) * rate);
    let in_peak = k.clamp(begin, end) - begin;
    even(k - in_peak) + in_peak * SECOND / rate
}

struct Answer {
    late_ns: u64,
    wait_ns: u64,
    service_ns: u64,
    ended: RequestOutcome,
}

fn answer(world: World, k: u64) -> Answer {
    let quick = MS + (k * 7919 % 1000) * 1_000;
    let (mut late_ns, mut wait_ns, mut service_ns, mut ended) =
        (5_000, 20_000, quick, RequestOutcome::Ok);
    match world {
        World::Healthy | World::Once | World::Killed | World::Empty => {}
        World::Peak(end) if (PEAK.0 * SECOND..end * SECOND).contains(&intended(world, k)) => {
            service_ns = 5 * quick;
        }
        World::Peak(_) | World::Queue { .. } => {}
        World::Overloaded => wait_ns = k * SECOND / RATE / 4,
        World::Erring if k.is_multiple_of(5) => {
            ended = RequestOutcome::Failed(Failure::Status(503))
        }
        World::Erring => {}
        World::Starved => late_ns = 30 * MS + (k % 50) * MS,
        World::NeverAnswered => {
            service_ns = 0;
            ended = RequestOutcome::Unanswered(Fault::Refused);
        }
    }
    Answer {
        late_ns,
        wait_ns,
        service_ns,
        ended,
    }
}

fn phase(seconds: u64, rate: u64) -> Phase {
    Phase::new(seconds * SECOND, Shape::Rate(Rate::per_second(rate)))
}

fn plan(world: World, criteria: &[&str]) -> Plan {
    let load = match world {
        World::Once => Load::Once,
        _ => Load::Open {
            phases: match world.peak() {
                Some((from, to, rate)) => vec![
                    phase(from, RATE),
                    phase(to - from, rate),
                    phase(SECONDS - to, RATE),
                ],
                None => vec![phase(SECONDS, RATE)],
            },
            first: FirstArrival::AtStart,
        },
    };
    let target = "http://127.0.0.1:8080".into();
    let scenario = Scenario {
        name: Some("checkout".into()),
        weight: 3,
        volume: None,
        on_error: Vec::new(),
        steps: Vec::new(),
    };
    let mut plan = Plan::new(
        "shop.yml".into(),
        Format::NATIVE,
        target,
        load,
        vec![scenario],
    );
    plan.policy.criteria = criteria
        .iter()
        .map(|text| parse_criterion(text).unwrap())
        .collect();
    plan
}

fn ends(world: World, arrivals: u64) -> Vec<(u64, Sample)> {
    let mut free_ns = 0;
    let mut ends: Vec<(u64, Sample)> = (0..arrivals)
        .map(|k| {
            let intended = intended(world, k);
            let mut what = answer(world, k);
            if let World::Queue { tires } = world {
                let came_ns = intended + what.late_ns + what.wait_ns;
                let waits_ns = u64::saturating_sub(free_ns, came_ns);
                let is_tired = tires && waits_ns > TIRING_NS;
                free_ns = came_ns + waits_ns + if is_tired { TIRED_NS } else { QUEUE_SERVICE_NS };
                what.service_ns = free_ns - came_ns;
            }
            let started_ns = intended + what.late_ns;
            let first_write_ns = started_ns + what.wait_ns;
            let done_ns = first_write_ns + what.service_ns;
            let answered = !matches!(what.ended, RequestOutcome::Unanswered(_));
            let sample = Sample {
                label: 2,
                intended: Intended::scheduled(intended),
                started_ns,
                first_write_ns: answered.then_some(first_write_ns),
                first_read_ns: answered.then_some(done_ns),
                done_ns,
                ended: what.ended,
                status: answered.then_some(Status::Http(if what.ended == RequestOutcome::Ok {
                    200
                } else {
                    503
                })),
                bytes_out: 100,
                bytes_in: 500,
                trace: None,
            };
            (done_ns, sample)
        })
        .collect();
    ends.sort_by_key(|(done_ns, _)| *done_ns);
    ends
}

pub fn run(world: World, criteria: &[&str]) -> Run {
    let plan = plan(world, criteria);
    let mut labels = measure::Labels::default();
    labels.id(LabelGroup::Request, "GET", "/cart");
    labels.id(LabelGroup::Iteration, "", "checkout");
    let manifest = Manifest::new(&plan, started());
    let redactor = || Redactor::new(&plan, &[], Salt::default());
    let mut writer = Writer::in_memory(&manifest, labels.all(), redactor());
    let cuts = Cuts::new(WALL, plan.schedule(1).phase_ends());
    let mut recorder = Recorder::new(0, cuts, labels.all().len(), None);
    let arrivals = match world {
        World::Empty => 0,
        World::Once => 1,
        World::Killed => RATE * 12,
        _ => {
            let more = world
                .peak()
                .map_or(0, |(from, to, rate)| (rate - RATE) * (to - from));
            RATE * SECONDS + more
        }
    };
    let ends = ends(world, arrivals);
    let last = ends
        .last()
        .map_or(SECONDS * SECOND, |(done_ns, _)| *done_ns);
    // In order of time: arrivals, ends, and a sample every 10 ms.
    let (mut next_arrival, mut next_end, mut in_flight_now) = (0u64, 0usize, 0u64);
    let mut at = 0;
    while at < last + 10 * MS {
        while next_arrival < arrivals && intended(world, next_arrival) <= at {
            let intended = intended(world, next_arrival);
            recorder.advance(intended);
            recorder.run.due += 1;
            recorder.run.started += 1;
            recorder.issued(intended, 2, Intended::scheduled(intended));
            in_flight_now += 1;
            next_arrival += 1;
        }
        while let Some((done_ns, sample)) = ends.get(next_end).filter(|(done_ns, _)| *done_ns <= at)
        {
            recorder.advance(*done_ns);
            recorder.sample(sample);
            recorder.iteration(*done_ns, 3, sample.intended, sample.ended);
            in_flight_now -= 1;
            next_end += 1;
        }
        recorder.advance(at);
        recorder.run.in_flight.sample(in_flight_now);
        let busy = if world == World::Starved { 9 } else { 1 };
        recorder.run.cpu_ns = vec![recorder.run.cpu_ns.first().unwrap_or(&0) + busy * MS];
        at += 10 * MS;
    }
    let last = at;
    recorder.finish(last);
    for snapshot in recorder.take_full() {
        let interval = measure::Interval::merge(vec![snapshot], 1, |id| id == 2);
        assert!(writer.interval(&interval, &HostSample::default()).is_none());
    }
    if world == World::Killed {
        let mut run = writer.run().clone();
        run.live = false;
        return run;
    }
    let end = RunEnd {
        ns: last,
        reason: None,
        cause: None,
        record_ends_ns: None,
        recorded_to_ns: None,
        lines: None,
    };
    writer.finish(RunState::Complete, end).0
}
