//! Verdicts on simulated measurements. Healthy runs are valid, and runs on an interrupted machine
//! are not.

use super::*;

/// Records the intervals of a complete run and returns its summary.
pub(super) fn summary(plan: &Plan, mut intervals: Vec<Interval>) -> analysis::summary::Summary {
    let program = Program::compile(plan, 1, None).expect("a plan that compiles");
    let started = record::RunContext {
        frontend: "run".into(),
        workers: 1,
        seed: 1,
        ..record::RunContext::default()
    };
    let manifest = record::Manifest::new(plan, started);
    let labels = program.labels.all();
    let redactor = record::redact::Redactor::default();
    let mut writer = record::Writer::in_memory(&manifest, labels, redactor);
    for interval in &mut intervals {
        interval.run.cpu_ns.clear();
        interval.run.waiting_ns.clear();
        let host = record::HostSample::default();
        assert!(writer.interval(interval, &host).is_none());
    }
    let end = record::RunEnd {
        ns: intervals.last().map_or(0, |interval| interval.span.to_ns),
        reason: None,
        cause: None,
        record_ends_ns: None,
        recorded_to_ns: None,
        lines: None,
    };
    let (run, _) = writer.finish(record::RunState::Complete, end);
    analysis::summarise(&run)
}

fn verdict(plan: &Plan, intervals: Vec<Interval>) -> analysis::verdict::Measurement {
    let measurement = summary(plan, intervals).measurement;
    measurement.expect("something was measured")
}

/// Returns the delays of a calm machine: tens of microseconds, and rarely two milliseconds.
fn calm(seed: u64) -> impl Fn(u64) -> u64 {
    move |at| {
        let mut rng = plan::rng::Rng::keyed(seed, plan::rng::Purpose::Sampling, at, 0);
        let late_us = -(1.0 - rng.unit()).ln() * 30.0;
        let slip_us = if rng.unit() < 0.0002 { 2_000.0 } else { 0.0 };
        at + ((late_us + slip_us) * 1e3) as u64
    }
}

#[test]
fn only_interrupted_runs_are_invalid() {
    let model = || -> Model { Box::new(|arrival| Some(arrival + 20 * MILLISECOND)) };
    let plans = [
        plan(open(50, 2), PoolPolicy::PerUser),
        plan(closed(1, 2), PoolPolicy::PerUser),
        super::workloads::open_and_closed(),
    ];
    for plan in &plans {
        for seed in 0..500 {
            let intervals = simulate_held_up(plan, model(), calm(seed));
            let found = verdict(plan, intervals);
            assert_eq!(found.verdict, "VALID", "{seed}: {found:?}");
        }
        // Losing a thirtieth of the time is enough to change a p99.
        for stolen_ms in [35, 50, 200, 500, 900] {
            let held_up = stolen(stolen_ms * MILLISECOND);
            let intervals = simulate_held_up(plan, model(), held_up);
            let found = verdict(plan, intervals);
            assert_eq!(found.verdict, "INVALID", "{stolen_ms} ms: {found:?}");
        }
    }
}
