//! Verdicts on flawed measurements: closed loops that stalled, robust criteria, phases, and runs
//! that have just started.

use analysis::verdict::{Judgement, Measurement};
use measure::{Intended, Interval, Recorder, TimeSpan, cuts::Cuts, sample::RequestOutcome};
use plan::{Load, Plan};
use record::{
    HostSample, IntervalRecord, Manifest, Run, RunState, Writer,
    redact::Redactor,
    server::{Descriptor, MetricReading, SourceReading},
};

use crate::support::{MS, SECOND, WALL, end, labels, plan, sample, started};

const US: u64 = 1_000;

struct Measured {
    seconds: u64,
    each_second: u64,
    late_ns: fn(u64) -> u64,
    took_ns: fn(u64) -> u64,
    stall_ns: fn(u64) -> u64,
}

impl Measured {
    fn intervals(&self) -> Vec<Interval> {
        let mut recorder = Recorder::new(0, Cuts::new(WALL, &[2 * SECOND, 60 * SECOND]), 5, None);
        let n = self.seconds * self.each_second;
        for k in 0..n {
            let at = k * SECOND / self.each_second;
            let intended = Intended::scheduled(at);
            let mut sample = sample(
                2,
                intended,
                (self.took_ns)(k),
                RequestOutcome::Ok,
                Some(200),
            );
            let late = (self.late_ns)(k);
            for moment in [&mut sample.started_ns, &mut sample.done_ns] {
                *moment += late;
            }
            sample.first_write_ns = sample.first_write_ns.map(|ns| ns + late);
            sample.first_read_ns = sample.first_read_ns.map(|ns| ns + late);
            recorder.run.started += 1;
            recorder.run.due += 1;
            recorder.issued(at, 2, intended);
            recorder.sample(&sample);
            recorder.iteration(sample.done_ns, 4, intended, RequestOutcome::Ok);
        }
        for look in 0..self.seconds * 100 {
            recorder.stall(look * 10 * MS, (self.stall_ns)(look));
        }
        recorder.finish((self.seconds + 5) * SECOND);
        let one = |snapshot| Interval::merge(vec![snapshot], 1, |id| id == 2);
        recorder.take_full().into_iter().map(one).collect()
    }

    fn run(&self, plan: &Plan, host: &HostSample) -> Run {
        let manifest = Manifest::new(plan, started());
        let mut writer = Writer::in_memory(&manifest, labels().all(), Redactor::default());
        for second in 0..=self.seconds {
            let cpu = MetricReading {
                of: Descriptor::gauge("cpu", "%"),
                value: 50.0,
            };
            let look = SourceReading {
                at_ns: second * SECOND,
                source: "host".into(),
                readings: Ok(vec![cpu]),
            };
            assert!(writer.server(&[look]).is_none());
        }
        for interval in self.intervals() {
            assert!(writer.interval(&interval, host).is_none());
        }
        writer.finish(RunState::Interrupted, end()).0
    }
}

const HEALTHY: Measured = Measured {
    seconds: 20,
    each_second: 200,
    late_ns: |_| 20 * US,
    took_ns: |_| 300 * US,
    stall_ns: |_| 40 * US,
};

fn closed(criteria: &[&str]) -> Plan {
    let mut plan = plan(criteria);
    plan.load = Load::users(4, 20 * SECOND);
    plan
}

fn measurement(run: &Run) -> Measurement {
    analysis::summarise(run).measurement.unwrap()
}

#[test]
fn closed_loop_with_stalled_worker_is_invalid() {
    let healthy = measurement(&HEALTHY.run(&closed(&[]), &HostSample::default()));
    assert_eq!(healthy.verdict, "VALID", "{healthy:?}");
    assert!(healthy.reasons[0].starts_with("stall p99 40.0 µs"));
    let stolen = Measured {
        stall_ns: |look| {
            if look % 500 < 90 {
                (900 - look % 500 * 10) * MS
            } else {
                40 * US
            }
        },
        ..HEALTHY
    };
    let host = HostSample {
        steal_ns: vec![1_900 * MS],
        throttled_ns: 0,
        host_ns: 2_000 * MS,
    };
    let held_up = measurement(&stolen.run(&closed(&[]), &host));
    assert_eq!(held_up.verdict, "INVALID", "{held_up:?}");
    let reason = &held_up.reasons[0];
    assert!(
        reason.starts_with("the hypervisor used 95.0 % of the CPU time")
            && reason.contains("stall p99"),
        "{reason}"
    );
    let open = measurement(&stolen.run(&plan(&[]), &host));
    assert_eq!(open.verdict, "VALID", "{open:?}");
}

#[test]
fn cause_shown_by_two_figures_is_reported_once() {
    let late = Measured {
        late_ns: |_| 50 * MS,
        stall_ns: |_| 90 * MS,
        ..HEALTHY
    };
    let invalid = measurement(&late.run(&closed(&[]), &HostSample::default()));
    assert_eq!(invalid.verdict, "INVALID", "{invalid:?}");
    assert_eq!(invalid.reasons.len(), 1, "{invalid:?}");
    let reason = &invalid.reasons[0];
    assert!(
        reason.contains(": lateness p99 ") && reason.contains(", stall p99 "),
        "{reason}"
    );
}

#[test]
fn no_share_of_the_time_is_above_one() {
    let frame = IntervalRecord {
        span: TimeSpan::new(0, SECOND),
        steal_ns: vec![1_080 * MS],
        host_ns: 0,
        ..IntervalRecord::default()
    };
    assert_eq!(frame.row().host_length_ns(), SECOND);
    let stolen = Measured {
        stall_ns: |_| 30 * MS,
        ..HEALTHY
    };
    let host = HostSample {
        steal_ns: vec![1_080 * MS],
        throttled_ns: 3_000 * MS,
        host_ns: 0,
    };
    let held_up = measurement(&stolen.run(&closed(&[]), &host));
    assert!(
        held_up.reasons[0].contains("throttled by its control group (100 % of the time)"),
        "{held_up:?}"
    );
}

#[test]
fn criterion_holds_if_generator_could_not_change_it() {
    // Every sixth request is three milliseconds late. 25 ms compared with 150 ms is still decided.
    let late = Measured {
        late_ns: |k| {
            if k.is_multiple_of(6) { 3 * MS } else { 20 * US }
        },
        took_ns: |k| 20 * MS + k % 100 * 50 * US,
        ..HEALTHY
    };
    let criteria = [
        "p95 < 150ms",
        "p95 < 28ms",
        "p95 < 10ms",
        "p95 < 26ms",
        "errors < 1%",
        "rate > 100/s",
        "max < 28ms",
        "server.host.cpu < 80%",
    ];
    let summary = analysis::summarise(&late.run(&plan(&criteria), &HostSample::default()));
    let measurement = summary.measurement.unwrap();
    assert_eq!(measurement.verdict, "INVALID", "{measurement:?}");
    let found: Vec<_> = summary
        .criteria
        .iter()
        .map(|judged| (judged.judgement, judged.is_robust))
        .collect();
    use Judgement::{Fail, Pass};
    assert_eq!(
        found,
        [
            (Pass, Some(true)),
            (Pass, Some(false)),
            (Fail, Some(false)),
            (Fail, Some(false)),
            (Pass, Some(true)),
            (Pass, Some(true)),
            (Pass, Some(false)),
            (Pass, Some(true)),
        ],
        "{:?}",
        summary.criteria
    );
    let later = Measured {
        late_ns: |k| {
            if k.is_multiple_of(6) {
                2 * SECOND
            } else {
                20 * US
            }
        },
        ..late
    };
    let summary_of_later =
        analysis::summarise(&later.run(&plan(&criteria), &HostSample::default()));
    let server = &summary_of_later.criteria[7];
    assert_eq!((server.judgement, server.is_robust), (Pass, Some(false)));
    assert_eq!(summary.exit_code, 4);
    let reported: Vec<_> = summary.criteria.iter().map(|j| j.reason.clone()).collect();
    assert_eq!(
        reported[0].as_deref(),
        Some("this result does not depend on generator errors")
    );
    assert_eq!(
        reported[1].as_deref(),
        Some("generator errors could have changed this result: times may be off by up to 3.06 ms")
    );
    let summary = analysis::summarise(&HEALTHY.run(&plan(&criteria), &HostSample::default()));
    assert!(
        summary
            .criteria
            .iter()
            .all(|judged| judged.is_robust.is_none())
    );
}

#[test]
fn invalid_measurement_has_its_reason_once_at_the_verdict_and_once_where_it_is_explained() {
    let late = Measured {
        late_ns: |_| 50 * MS,
        ..HEALTHY
    };
    let criteria = ["p95 < 1ms", "errors > 50%"];
    let run = late.run(&plan(&criteria), &HostSample::default());
    let page = analysis::page::build(&run);
    let summary = &page.summary;
    let measurement = summary.measurement.as_ref().unwrap();
    assert_eq!(measurement.verdict, "INVALID", "{measurement:?}");
    let reason = &measurement.reasons[0];
    let text = report::markdown::render(&page).text;
    assert_eq!(text.matches(reason.as_str()).count(), 2, "{text}");
    assert!(!text.contains("with 95 % confidence"), "{text}");
    let terminal = report::console::summary_text(summary).replace('\n', " ");
    let lines = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(lines.matches(reason.as_str()).count(), 1, "{lines}");
    // Only a failure that the load generator could not cause leads to a conclusion.
    let failed: Vec<_> = summary
        .conclusions
        .iter()
        .filter(|one| one.kind == "criteria")
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(
        failed,
        ["1 of 2 criteria failed: errors > 50%, measured 0 % (0 of 4,000)."]
    );
    assert!(summary.conclusions.iter().all(|one| one.kind != "slowest"));
}

#[test]
fn judged_figure_is_marked_in_every_table() {
    for (criterion, row, head) in [
        ("service p95 < 1s", "  service", "service p95"),
        ("first-byte p90 < 1s", "  first byte", "first byte p90"),
        ("mean < 1s", "GET", "mean"),
        ("p95 < 1s", "GET", "p95"),
    ] {
        let run = HEALTHY.run(&plan(&[criterion]), &HostSample::default());
        let page = analysis::page::build(&run);
        let columns = report::console::Columns::MOST;
        let text =
            report::console::summary_in(&page.summary, columns, report::console::Detail::Brief);
        let marked: Vec<&str> = text.lines().filter(|line| line.contains('*')).collect();
        assert_eq!(marked.len(), 2, "{text}");
        assert!(marked[0].starts_with(row), "{text}");
        let text = report::markdown::render(&page).text;
        let lines = text
            .lines()
            .skip_while(|line| !line.starts_with("| Endpoint"));
        let table: Vec<Vec<&str>> = lines
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        let at: Vec<&str> = table[2..]
            .iter()
            .flat_map(|cells| cells.iter().enumerate())
            .filter(|(_, cell)| cell.ends_with("\\*"))
            .map(|(at, _)| table[0][at])
            .collect();
        assert_eq!(at, [head], "{text}");
    }
}

#[test]
fn rare_stalls_do_not_affect_the_median() {
    // A quarter of a second in ten affects p99, but not the median.
    let held_up = Measured {
        late_ns: |k| {
            if k % 2000 < 50 {
                (50 - k % 2000) * 5 * MS
            } else {
                20 * US
            }
        },
        stall_ns: |look| {
            if look % 1000 < 25 {
                (25 - look % 1000) * 10 * MS
            } else {
                40 * US
            }
        },
        took_ns: |k| 100 * US + k % 100 * US,
        ..HEALTHY
    };
    let criteria = ["service p50 < 5ms", "service p50 < 10us", "p99 < 1s"];
    let run = held_up.run(&plan(&criteria), &HostSample::default());
    let summary = analysis::summarise(&run);
    assert_eq!(summary.measurement.unwrap().verdict, "INVALID");
    let is_robust: Vec<_> = summary
        .criteria
        .iter()
        .map(|judged| judged.is_robust)
        .collect();
    assert_eq!(
        is_robust,
        [Some(true), Some(false), Some(true)],
        "{:?}",
        summary.criteria
    );
}

#[test]
fn harm_counts_where_it_was_done() {
    let held_up = Measured {
        late_ns: |k| if k < 400 { 60 * MS } else { 20 * US },
        took_ns: |k| 20 * MS + k % 100 * 50 * US,
        seconds: 30,
        ..HEALTHY
    };
    let criteria = [
        "p95 in \"warm\" < 100ms",
        "p95 in \"peak\" < 100ms",
        "p50 < 100ms",
        "p50 of \"GET *\" < 100ms",
        "lateness p99 < 1ms",
    ];
    let run = held_up.run(&plan(&criteria), &HostSample::default());
    let summary = analysis::summarise(&run);
    assert_eq!(summary.measurement.unwrap().verdict, "INVALID");
    let is_robust: Vec<_> = summary
        .criteria
        .iter()
        .map(|judged| judged.is_robust)
        .collect();
    assert_eq!(
        is_robust,
        [Some(false), Some(true), Some(true), Some(true), None],
        "{:?}",
        summary.criteria
    );
}

#[test]
fn a_criterion_far_from_its_bound_is_decided_by_its_own_samples() {
    let reported = Measured {
        seconds: 6,
        each_second: 200,
        took_ns: |k| {
            let calm = 20 * MS + k * 100 * US;
            if k < 400 { calm } else { 900 * MS + k * MS / 2 }
        },
        ..HEALTHY
    };
    let criteria = ["service p95 in \"warm\" < 500ms", "service p95 < 2100ms"];
    let run = reported.run(&plan(&criteria), &HostSample::default());
    let judged = analysis::summarise(&run).criteria;
    assert_eq!(judged[0].judgement, Judgement::Pass, "{judged:?}");
    assert_eq!(judged[1].judgement, Judgement::Inconclusive, "{judged:?}");
    let reported = Measured {
        seconds: 3,
        took_ns: |k| 7 * MS + (k / 200) * MS + k % 7 * 300 * US,
        ..HEALTHY
    };
    let run = reported.run(&closed(&["service p95 < 100ms"]), &HostSample::default());
    assert_eq!(
        analysis::summarise(&run).criteria[0].judgement,
        Judgement::Pass
    );
}

#[test]
fn lateness_counts_in_the_phase_of_the_late_arrival() {
    let mut recorder = Recorder::new(0, Cuts::new(WALL, &[2 * SECOND, 3 * SECOND]), 5, None);
    let intended = Intended::scheduled(2 * SECOND - MS);
    let mut late = sample(2, intended, MS, RequestOutcome::Ok, Some(200));
    for moment in [&mut late.started_ns, &mut late.done_ns] {
        *moment += 50 * MS;
    }
    late.first_write_ns = late.first_write_ns.map(|ns| ns + 50 * MS);
    late.first_read_ns = late.first_read_ns.map(|ns| ns + 50 * MS);
    recorder.issued(late.started_ns, 2, intended);
    recorder.sample(&late);
    recorder.finish(3 * SECOND);
    let criteria = [
        "lateness p99 in \"warm\" > 1ms",
        "lateness p99 in \"peak\" > 1ms",
    ];
    let manifest = Manifest::new(&plan(&criteria), started());
    let mut writer = Writer::in_memory(&manifest, labels().all(), Redactor::default());
    for snapshot in recorder.take_full() {
        let interval = Interval::merge(vec![snapshot], 1, |id| id == 2);
        assert!(writer.interval(&interval, &HostSample::default()).is_none());
    }
    let run = writer.finish(RunState::Complete, end()).0;
    let judged = analysis::summarise(&run).criteria;
    assert_eq!(judged[0].measured.as_deref(), Some("50.0 ms"), "{judged:?}");
    assert_eq!(judged[1].measured, None, "{judged:?}");
    let rows: Vec<_> = run.totals.rows.iter().collect();
    assert!(
        rows.iter()
            .any(|row| row.phase == 1 && row.lateness_p99_ns.is_some())
    );
}

#[test]
fn a_young_run_is_not_stamped() {
    let late = Measured {
        late_ns: |_| 3 * MS,
        ..HEALTHY
    };
    let manifest = Manifest::new(&plan(&[]), started());
    let mut writer = Writer::in_memory(&manifest, labels().all(), Redactor::default());
    let mut stamped = Vec::new();
    for interval in late.intervals() {
        assert!(writer.interval(&interval, &HostSample::default()).is_none());
        let so_far = analysis::summarise(writer.run());
        if so_far.measurement.is_some() {
            stamped.push(interval.span.to_ns);
        } else {
            assert!(!so_far.verdict.sentence.contains("invalid"));
        }
    }
    assert_eq!(stamped.first().map(|ns| ns / SECOND), Some(10));
    assert!(stamped.len() > 5);
}

#[test]
fn one_iteration_is_a_trial() {
    let late = Measured {
        seconds: 1,
        each_second: 1,
        late_ns: |_| 70 * MS,
        ..HEALTHY
    };
    let once = |criteria: &[&str]| {
        let mut plan = plan(criteria);
        plan.load = Load::Once;
        analysis::summarise(&late.run(&plan, &HostSample::default()))
    };
    let trial = once(&[]);
    assert_eq!((trial.measurement, trial.exit_code), (None, 0));
    let judged = once(&["errors < 1%"]);
    assert_eq!((judged.measurement, judged.exit_code), (None, 0));
}
