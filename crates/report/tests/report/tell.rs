use analysis::{
    summary::Summary,
    verdict::{Judged, Judgement},
};
use measure::{Fault, Intended, Interval, Recorder, cuts::Cuts, sample::RequestOutcome};
use plan::Plan;
use record::{Event, EventKind, HostSample, Manifest, Run, RunState, Writer, redact::Redactor};
use report::console;

use crate::support::{Folder, MS, SECOND, end, intervals, labels, plan, sample, started, write};

fn in_memory(plan: &Plan, intervals: &[Interval], state: RunState) -> Run {
    let manifest = Manifest::new(plan, started());
    let mut writer = Writer::in_memory(&manifest, labels().all(), Redactor::default());
    for interval in intervals {
        assert!(writer.interval(interval, &HostSample::default()).is_none());
    }
    writer.finish(state, end()).0
}

fn alike(n: u64, took_ns: u64, ended: RequestOutcome) -> Interval {
    let mut recorder = Recorder::new(0, Cuts::new(0, &[2 * SECOND, 3 * SECOND]), 5, None);
    for i in 0..n {
        let intended = Intended::scheduled(i * MS);
        let status = matches!(ended, RequestOutcome::Ok).then_some(200);
        let mut sample = sample(2, intended, took_ns, ended, status);
        if matches!(ended, RequestOutcome::Unanswered(Fault::Refused)) {
            sample.first_write_ns = None;
        }
        recorder.issued(intended.ns(), 2, intended);
        recorder.sample(&sample);
    }
    recorder.finish(900 * MS);
    Interval::merge(vec![recorder.take_full().remove(0)], 1, |id| id == 2)
}

fn judge(intervals: &[Interval], criterion: &str) -> Judged {
    let run = in_memory(&plan(&[criterion]), intervals, RunState::Complete);
    analysis::summarise(&run).criteria.remove(0)
}

fn judgement(intervals: &[Interval], criterion: &str) -> Judgement {
    judge(intervals, criterion).judgement
}

#[test]
fn the_whole_text() {
    let folder = Folder::new();
    let criteria = [
        "p50 < 250ms",
        "errors < 1%",
        "p99 of \"POST *\" < 1s",
        "rate in \"peak\" > 10/s",
        "server.cpu < 80%",
    ];
    let run = write(&folder.0, &plan(&criteria));
    let summary = analysis::summarise(&run);
    let text = console::summary_text(&summary);
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/golden/native-summary.txt"
    );
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(golden).unwrap(), "\n{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100));
    assert_eq!(summary.exit_code, 1);
    let json = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
}

#[test]
fn few_samples_decide_only_clear_cases() {
    use Judgement::{Fail, Inconclusive, Pass};
    let fast = |n| [alike(n, 2 * MS, RequestOutcome::Ok)];
    assert_eq!(judgement(&fast(100), "p95 < 50ms"), Pass);
    assert_eq!(judgement(&fast(100), "p99 < 50ms"), Inconclusive);
    assert_eq!(judgement(&fast(100), "p99 < 1ms"), Fail);
    assert_eq!(judgement(&fast(458), "p99 < 50ms"), Inconclusive);
    assert_eq!(judgement(&fast(459), "p99 < 50ms"), Pass);
    assert_eq!(judgement(&fast(1), "p95 < 50ms"), Inconclusive);
    assert_eq!(judgement(&fast(1), "max < 50ms"), Pass);
    assert_eq!(judgement(&fast(1), "mean < 50ms"), Pass);
    let judged = judge(&fast(100), "p99.9 < 50ms");
    let reason = judged.reason.unwrap();
    assert!(
        reason
            .starts_with("100 samples are too few for a decision with 99 % confidence: run about "),
        "{reason}"
    );
    assert_eq!(judged.measured.as_deref(), Some("2.05 ms"));
}

#[test]
fn requests_without_an_answer_are_slower_than_any_bound() {
    let timeouts = [alike(
        400,
        500 * MS,
        RequestOutcome::Unanswered(Fault::ResponseTimeout),
    )];
    let judged = judge(&timeouts, "p99 < 10s");
    assert_eq!((judged.judgement, judged.value), (Judgement::Fail, None));
    assert_eq!(judged.measured.as_deref(), Some("≥ 500 ms"));
    assert_eq!(judgement(&timeouts, "p99 > 10s"), Judgement::Pass);
    assert_eq!(judgement(&timeouts, "mean < 10s"), Judgement::Inconclusive);

    let refused = [alike(
        400,
        5 * MS,
        RequestOutcome::Unanswered(Fault::Refused),
    )];
    let run = in_memory(&plan(&[]), &refused, RunState::Complete);
    let summary = analysis::summarise(&run);
    assert_eq!(summary.exit_code, 3);
    assert!(summary.all.service.is_none(), "nothing was ever written");
    let response = summary.all.response.unwrap();
    assert!(response.p50.no_answer && response.max.no_answer);
    assert_eq!(
        judge(&refused, "p99 < 10s").measured.as_deref(),
        Some("no answer")
    );

    let mixed = [
        alike(990, 2 * MS, RequestOutcome::Ok),
        alike(10, 2 * MS, RequestOutcome::Unanswered(Fault::Refused)),
    ];
    let service = analysis::summarise(&in_memory(&plan(&[]), &mixed, RunState::Complete))
        .all
        .service
        .unwrap();
    assert_eq!((service.count, service.unanswered), (1000, 10));
    assert!(service.p99.ns.is_some() && service.max.no_answer);
}

#[test]
fn criteria_of_labels_and_phases() {
    use Judgement::{Fail, Inconclusive, Pass};
    let all = intervals();
    for (criterion, expected) in [
        ("errors of \"GET *\" < 1%", Pass),
        ("errors of \"POST *\" < 1%", Fail),
        ("errors of \"POST /order\" <= 4", Pass),
        ("errors of \"* /*\" <= 4", Pass),
        ("errors of \"PUT *\" < 1%", Inconclusive),
        ("errors in \"warm\" <= 2", Pass),
        ("errors in \"cold\" < 1%", Inconclusive),
        ("rate in \"warm\" >= 20/s", Pass),
        ("rate in \"peak\" < 41/s", Pass),
        ("rate of \"GET /cart\" in \"peak\" > 21/s", Fail),
        ("iteration max < 1s", Fail),
        ("iteration p50 of \"checkout\" < 1s", Pass),
        ("iteration p50 of \"browse\" < 1s", Inconclusive),
        ("service p50 < 3ms", Pass),
        ("lateness p99 < 1ms", Inconclusive),
        ("in-flight <= 3", Pass),
        ("in-flight < 3", Fail),
        ("unsent < 0.5%", Pass),
        ("unsent > 0", Fail),
        ("server.cpu < 80%", Inconclusive),
    ] {
        let judged = judge(&all, criterion);
        assert_eq!(judged.judgement, expected, "{judged:?}");
        assert_eq!(
            judged.reason.is_some(),
            expected == Inconclusive,
            "{judged:?}"
        );
    }
    assert_eq!(judge(&all, "rate in \"peak\" < 80/s").margin, Some(0.5));
    assert_eq!(judge(&all, "rate in \"peak\" > 80/s").margin, Some(-0.5));
}

#[test]
fn a_closed_loop_plans_nothing() {
    let mut plan = plan(&["unsent < 1%"]);
    plan.load = plan::Load::users(50, 3 * SECOND);
    let run = in_memory(&plan, &intervals(), RunState::Complete);
    let summary = analysis::summarise(&run);
    let arrivals = summary.arrivals.clone().unwrap();
    assert_eq!(
        (arrivals.planned, arrivals.unsent, arrivals.started),
        (None, None, 40)
    );
    assert!(arrivals.adds_up);
    let text = console::summary_text(&summary);
    assert!(
        text.replace("\n  ", " ")
            .contains("closed loop, 50 users for 3 s: each user sees a stall only once"),
        "{text}"
    );
    assert!(
        text.contains("Iterations 40 started = 36 completed + 4 failed + 0 abandoned"),
        "{text}"
    );
    assert_eq!(
        summary.criteria[0].reason.as_deref(),
        Some("a closed loop has no planned arrivals")
    );
    assert_eq!(summary.exit_code, 5);
}

#[test]
fn a_closed_loop_without_enough_cpu_is_a_lower_bound() {
    let mut plan = plan(&[]);
    plan.load = plan::Load::users(50, 3 * SECOND);
    let verdict = |cpu: u64, waiting: u64| {
        let mut intervals = intervals();
        for interval in &mut intervals {
            let length = interval.span.to_ns - interval.span.from_ns;
            interval.run.cpu_ns = vec![length * cpu / 100];
            interval.run.spin_ns = vec![0];
            interval.run.waiting_ns = vec![length * waiting / 100];
        }
        let run = in_memory(&plan, &intervals, RunState::Complete);
        analysis::summarise(&run).measurement.unwrap()
    };
    assert_eq!(verdict(80, 20).verdict, "VALID");
    let busy = verdict(90, 0);
    assert_eq!(busy.verdict, "DEGRADED");
    assert!(busy.reasons[0].contains("generator CPU 90"), "{busy:?}");
    let crowded = verdict(10, 40);
    assert_eq!(crowded.verdict, "DEGRADED");
    assert!(
        crowded.reasons[0].contains("waited for a CPU for 40 % of the time"),
        "{crowded:?}"
    );
}

#[test]
fn stopped_run_counts_due_arrivals() {
    let run = in_memory(&plan(&[]), &intervals()[..3], RunState::Interrupted);
    let summary = analysis::summarise(&run);
    let arrivals = summary.arrivals.as_ref().unwrap();
    assert_eq!(
        (arrivals.planned, arrivals.until_stop, arrivals.unsent),
        (Some(20), true, Some(0))
    );
    let text = console::summary_text(&summary);
    assert!(
        text.contains("20 due = 20 started") && text.contains("ended early"),
        "{text}"
    );
}

#[test]
fn killed_run_has_requests_in_flight() {
    let mut intervals = intervals();
    intervals.truncate(3);
    let slot = intervals[2].slots.get_mut(&(0, 0)).unwrap();
    slot.counters.issued += 2;
    intervals[2].run.due += 1;
    intervals[2].run.started += 1;
    let run = in_memory(&plan(&[]), &intervals, RunState::Running);
    let summary = analysis::summarise(&run);
    assert_eq!(
        (summary.requests.in_flight, summary.requests.adds_up),
        (2, true)
    );
    assert_eq!(summary.arrivals.as_ref().unwrap().in_flight, 1);
    let text = console::summary_text(&summary);
    assert!(
        text.contains("without a response (timeout 1) + 2 in flight"),
        "{text}"
    );
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("it covers the first 2 s"), "{text}");
    let run = in_memory(&plan(&[]), &intervals, RunState::Complete);
    let text = console::summary_text(&analysis::summarise(&run));
    assert_eq!(text.matches("DOES NOT ADD UP").count(), 2, "{text}");
}

#[test]
fn rates_end_with_the_last_completion_or_the_load() {
    let quick = analysis::summarise(&in_memory(
        &plan(&[]),
        &[alike(300, MS, RequestOutcome::Ok)],
        RunState::Complete,
    ));
    assert_eq!(
        quick.run.elapsed_ns,
        3 * SECOND,
        "the load lasts longer than its last answer"
    );
    assert!((quick.all.per_second - 100.0).abs() < 1e-9);
    let mut late = alike(300, MS, RequestOutcome::Ok);
    late.run.last_end_ns = 6 * SECOND;
    let late = analysis::summarise(&in_memory(&plan(&[]), &[late], RunState::Complete));
    assert!((late.all.per_second - 50.0).abs() < 1e-9);
}

#[test]
fn warnings_of_the_run_and_lost_lines_are_notes() {
    let plan = plan(&[]);
    let manifest = Manifest::new(&plan, started());
    let mut writer = Writer::in_memory(&manifest, labels().all(), Redactor::default());
    writer.event(&Event::new(5, EventKind::Warning, "more than 200 labels"));
    let mut interval = alike(1, MS, RequestOutcome::Ok);
    interval.run.lines_lost = 1234;
    writer.interval(&interval, &HostSample::default());
    let notes = analysis::summarise(&writer.finish(RunState::Complete, end()).0).notes;
    assert_eq!(
        notes[..2],
        ["`think: 0.5` is half a second", "more than 200 labels"]
    );
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("1,234 lines were not printed")),
        "{notes:?}"
    );
}

#[test]
fn progress() {
    let interval = &intervals()[1];
    let line = console::progress_line(interval, 3 * SECOND, 2);
    assert_eq!(
        line,
        "2 s of 3 s: 20.0 requests/s, p50 1.21 ms, p99 no answer, 2 in flight, 2 errors"
    );
    let line = console::progress_line(interval, SECOND, 2);
    assert_eq!(
        line,
        "2 s, after the load of 1 s: waiting for 2 in flight, 2 errors"
    );
}

#[test]
fn unanswered_request_has_no_service_time() {
    for (took_ns, is_shown) in [(0, false), (5 * MS, true)] {
        let mut run = in_memory(
            &plan(&[]),
            &[alike(200, took_ns, RequestOutcome::Ok)],
            RunState::Complete,
        );
        for label in run.labels.iter_mut().filter(|label| label.id == 2) {
            label.group = measure::label::LabelGroup::Mqtt;
        }
        let summary = analysis::summarise(&run);
        let row = &summary.labels[0];
        assert_eq!((row.count, row.response.is_some()), (200, true));
        assert_eq!(row.service.is_some(), is_shown);
        assert_eq!(summary.all.service.is_some(), is_shown);
        assert!(!console::summary_text(&summary).contains(" 0 ns"));
    }
}

#[test]
fn iteration_has_times_with_and_without_pauses() {
    let folder = Folder::new();
    let mut page = analysis::page::build(&write(&folder.0, &plan(&[])));
    let without = page.summary.iterations[0].iteration.clone();
    page.summary.iterations[0].unpaused = without;
    let text = console::summary_text(&page.summary);
    assert!(text.contains("\n  without pauses "), "{text}");
    let text = report::markdown::render(&page).text;
    assert!(
        text.contains("| iteration checkout, without pauses "),
        "{text}"
    );
    let key_figures = analysis::conclusions::headline(&page.summary).key_figures;
    let named = |name: &str| {
        key_figures
            .iter()
            .find(|figure| figure.name == name)
            .unwrap()
    };
    assert_eq!(named("p50").note.as_deref(), Some("response time"));
    let note = named("iteration p95").note.clone().unwrap();
    assert!(
        note.starts_with("checkout; 3.49 ms? without pauses"),
        "{note}"
    );
}

#[test]
fn a_summary_fits_the_terminal_that_it_is_shown_in() {
    let folder = Folder::new();
    let run = write(&folder.0, &plan(&["p50 < 250ms", "p99 of \"POST *\" < 1s"]));
    let summary = analysis::summarise(&run);
    for (width, without) in [(100, ""), (80, "mean"), (72, "p90")] {
        let text = console::summary_in(
            &summary,
            console::Columns::new(width),
            console::Detail::Full,
        );
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        let reported = text
            .lines()
            .find(|line| line.starts_with("too narrow for "));
        assert_eq!(
            reported.is_some_and(|line| line.contains(without)),
            width < 100,
            "{text}"
        );
        let heads = text
            .lines()
            .find(|line| line.starts_with("response time "))
            .unwrap();
        assert!(
            heads.contains(" p50 ") && heads.contains(" p99 ") && heads.ends_with(" max"),
            "{heads}"
        );
    }
}
