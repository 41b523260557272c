//! Memory of a long run in simulated time, with 2,000 requests/s, 200 labels and server metrics.

use std::fs;

use measure::{
    Interval, LabelId, Labels, OutcomeClass, TimeKind, TimeSpan, interval::Gauge, label::LabelGroup,
};
use plan::{
    FirstArrival, Format, Load, Phase, Plan, Rate, Shape,
    rng::{Purpose, Rng},
};
use record::{
    HostSample, Manifest, RunEnd, RunState, Writer,
    redact::{Redactor, Salt},
    server::{Descriptor, MetricReading, SourceReading},
};

use crate::support::{SECOND, end, started};

const NAMES: u64 = 200;
const PER_NAME: u64 = 10;
const METRICS: usize = 30;
const HOUR_S: u64 = 3_600;
const MB: u64 = 1_000_000;

fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("RssAnon:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 1_024
}

fn labels() -> Labels {
    let mut labels = Labels::default();
    for n in 0..NAMES {
        labels.id(LabelGroup::Request, "GET", &format!("/item/{n}"));
    }
    labels.id(LabelGroup::Iteration, "", "browse");
    labels
}

fn plan(seconds: u64) -> Plan {
    let load = Load::Open {
        phases: vec![Phase::new(
            seconds * SECOND,
            Shape::Rate(Rate::per_second(NAMES * PER_NAME)),
        )],
        first: FirstArrival::AtStart,
    };
    Plan::new(
        "soak.yml".into(),
        Format::NATIVE,
        "http://127.0.0.1:1".into(),
        load,
        Vec::new(),
    )
}

fn interval(second: u64) -> Interval {
    let mut interval = Interval {
        index: second,
        span: TimeSpan::new(second * SECOND, (second + 1) * SECOND),
        ..Interval::default()
    };
    let mut rng = Rng::keyed(1, Purpose::Sampling, second, 0);
    for name in 0..NAMES {
        for _ in 0..PER_NAME {
            let spread = rng.unit();
            let service_ns = (1e6 * 100f64.powf(spread * spread)) as u64;
            let times = [
                (TimeKind::Lateness, 20_000 + rng.below(50_000)),
                (TimeKind::Wait, 10_000 + rng.below(20_000)),
                (TimeKind::Service, service_ns),
                (TimeKind::Response, service_ns + 80_000),
            ];
            for label in [0, name as LabelId + 1] {
                let slot = interval.slots.entry((label, 0)).or_default();
                slot.counters.issued += 1;
                slot.counters.ok += 1;
                slot.counters.bytes_in += 500;
                for (kind, ns) in times {
                    slot.histogram_mut(kind, OutcomeClass::Ok).record(ns);
                }
            }
            let whole = interval.slots.entry((NAMES as LabelId + 1, 0)).or_default();
            whole.counters.issued += 1;
            whole.counters.ok += 1;
            whole
                .histogram_mut(TimeKind::Iteration, OutcomeClass::Ok)
                .record(service_ns + 80_000);
        }
    }
    let run = &mut interval.run;
    run.due = NAMES * PER_NAME;
    run.started = NAMES * PER_NAME;
    run.in_flight = Gauge {
        samples: 100,
        sum: 1_000 + rng.below(100),
        max: 30,
        last: 9,
    };
    run.users = run.in_flight;
    run.connections = 50;
    run.cpu_ns = vec![200_000_000 + rng.below(1_000_000), 180_000_000];
    run.spin_ns = vec![0, 0];
    run.waiting_ns = vec![rng.below(1_000_000), 0];
    run.last_end_ns = interval.span.to_ns - 1;
    interval
}

fn look(second: u64) -> SourceReading {
    let mut rng = Rng::keyed(2, Purpose::Sampling, second, 0);
    let reading = |n: usize| {
        let of = Descriptor::gauge(&format!("metric-{n}"), "");
        let value = if n.is_multiple_of(2) {
            rng.unit()
        } else {
            rng.below(1_000) as f64
        };
        MetricReading { of, value }
    };
    SourceReading {
        at_ns: second * SECOND + 500_000 + second % 7_919,
        source: "host".into(),
        readings: Ok((0..METRICS).map(reading).collect()),
    }
}

fn soak(seconds: u64, moments: &[u64]) -> (Vec<u64>, u64) {
    let plan = plan(seconds);
    let manifest = Manifest::new(&plan, started());
    let redactor = Redactor::new(&plan, &[], Salt::default());
    let mut writer = Writer::in_memory(&manifest, labels().all(), redactor);
    let before = anonymous();
    let host = HostSample {
        steal_ns: vec![0, 0],
        throttled_ns: 0,
        host_ns: SECOND,
    };
    let mut held = Vec::new();
    for second in 0..seconds {
        assert!(writer.interval(&interval(second), &host).is_none());
        assert!(writer.server(&[look(second)]).is_none());
        if moments.contains(&(second + 1)) {
            held.push(anonymous() - before);
        }
    }
    let (run, _) = writer.finish(
        RunState::Complete,
        RunEnd {
            ns: seconds * SECOND,
            ..end()
        },
    );
    let page = analysis::page::build(&run);
    assert_eq!(page.summary.requests.issued, seconds * NAMES * PER_NAME);
    (held, anonymous() - before)
}

#[test]
#[ignore = "takes minutes: `make test-long`"]
fn a_run_of_an_hour_holds_little_more_than_one_of_five_minutes() {
    let (held, report) = soak(HOUR_S, &[300, 900, HOUR_S]);
    println!("after 5 min, 15 min, 1 h: {held:?}; with the report: {report}");
    assert!(held[2] <= held[0] + 32 * MB, "{held:?}");
    assert!(report < 400 * MB, "{report}");
}

#[test]
#[ignore = "takes half an hour: `make test-long`"]
fn run_of_a_day_grows_by_at_most_two_megabytes_an_hour() {
    let hours = [1, 2, 4, 8, 16, 24].map(|hours| hours * HOUR_S);
    let (held, report) = soak(24 * HOUR_S, &hours);
    println!("after 1, 2, 4, 8, 16, 24 h: {held:?}; with the report: {report}");
    // Points and windows still gain distinct values in the first hours.
    assert!(held[5] <= held[2] + 20 * 2 * MB, "{held:?}");
    assert!(report < 400 * MB, "{report}");
}
