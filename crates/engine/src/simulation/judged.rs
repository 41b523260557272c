//! What is said of simulated measurements: healthy ones are not stamped, those of a machine that was taken away are.

use super::*;

/// What is said of a simulated run.
fn verdict(plan: &Plan, mut intervals: Vec<Interval>) -> analysis::verdict::Measurement {
    let program = Program::compile(plan, 1, None).expect("a plan that compiles");
    let started = record::Started {
        door: "run".into(),
        workers: 1,
        seed: 1,
        ..record::Started::default()
    };
    let manifest = record::Manifest::new(plan, started);
    let labels = program.labels.all();
    let redactor = record::redact::Redactor::default();
    let mut writer = record::Writer::in_memory(&manifest, labels, redactor);
    for interval in &mut intervals {
        // CPU time is that of the machine on which this is simulated.
        interval.run.cpu_ns.clear();
        interval.run.waiting_ns.clear();
        let host = record::HostSample::default();
        assert!(writer.interval(interval, &host).is_none());
    }
    let end = record::End {
        ns: intervals.last().map_or(0, |interval| interval.span.1),
        reason: None,
        cause: None,
        record_ends_ns: None,
        recorded_to_ns: None,
        lines: None,
    };
    let (run, _) = writer.finish(record::State::Complete, end);
    let summary = analysis::summarise(&run);
    summary.measurement.expect("something was measured")
}

/// A machine that wakes a worker as a calm one does: some tens of microseconds late, and two milliseconds once in a long while.
fn calm(seed: u64) -> impl Fn(u64) -> u64 {
    move |at| {
        let mut rng = plan::rng::Rng::keyed(seed, plan::rng::Purpose::Sampling, at, 0);
        let late_us = -(1.0 - rng.unit()).ln() * 30.0;
        let slip_us = if rng.unit() < 0.0002 { 2_000.0 } else { 0.0 };
        at + ((late_us + slip_us) * 1e3) as u64
    }
}

#[test]
fn no_healthy_run_is_stamped_and_every_stolen_one_is() {
    let model = || -> Model { Box::new(|arrival| Some(arrival + 20 * MILLISECOND)) };
    let plans = [
        plan(open(50, 2), Pool::PerUser),
        plan(closed(1, 2), Pool::PerUser),
    ];
    for plan in &plans {
        for seed in 0..500 {
            let intervals = simulate_held_up(plan, model(), calm(seed));
            let found = verdict(plan, intervals);
            assert_eq!(found.verdict, "VALID", "{seed}: {found:?}");
        }
        // A thirtieth of the time or more is enough to move a p99.
        for stolen_ms in [35, 50, 200, 500, 900] {
            let held_up = stolen(stolen_ms * MILLISECOND);
            let intervals = simulate_held_up(plan, model(), held_up);
            let found = verdict(plan, intervals);
            assert_eq!(found.verdict, "INVALID", "{stolen_ms} ms: {found:?}");
        }
    }
}
