use analysis::{
    series,
    summary::Summary,
    verdict::{self, Judgement},
};
use measure::{
    Fault, Intended, Interval, Labels, OutcomeClass, Recorder, TimeKind, cuts::Cuts,
    label::LabelGroup, sample::RequestOutcome,
};
use record::{HostSample, Run, RunState};
use report::export;

use crate::support::{Folder, MS, SECOND, WALL, end, labels, plan, snapshots, write, writer};

const PAY: u16 = 5;
const PAUSE: u64 = 30 * MS;
const fn took(k: u64) -> u64 {
    40 * MS + k * MS
}

fn all_labels() -> Labels {
    let mut labels = labels();
    assert_eq!(labels.id(LabelGroup::Transaction, "", "pay"), PAY);
    labels
}

fn with_transactions() -> Vec<Interval> {
    let schedule = plan(&[]).schedule(1);
    let cuts = Cuts::new(WALL, schedule.phase_ends());
    let mut recorder = Recorder::new(1, cuts, all_labels().all().len(), None);
    let mut ends: Vec<(u64, u64, RequestOutcome)> = schedule
        .shard(0, 1)
        .map(|arrival| {
            let ended = if arrival.number % 20 == 7 {
                RequestOutcome::Unanswered(Fault::ResponseTimeout)
            } else {
                RequestOutcome::Ok
            };
            let at = arrival.intended_ns;
            (at + took(arrival.number), at, ended)
        })
        .collect();
    ends.sort_by_key(|(done_ns, ..)| *done_ns);
    for (done_ns, at, ended) in ends {
        let intended = Intended::scheduled(at);
        recorder.issued(done_ns, PAY, intended);
        recorder.iteration(done_ns, PAY, intended, ended);
        recorder.unpaused(done_ns, PAY, intended, PAUSE, ended);
    }
    recorder.finish(3 * SECOND + 200 * MS);
    let mut own = snapshots(0, 1).into_iter();
    let merged = recorder.take_full().into_iter().map(|snapshot| {
        let own_snapshot = own.next().filter(|own| own.index == snapshot.index);
        let both = own_snapshot.into_iter().chain([snapshot]).collect();
        Interval::merge(both, 2, |id| id == 2 || id == 3)
    });
    merged.collect()
}

fn run(folder: &Folder, criteria: &[&str]) -> Run {
    let mut writer = writer(&folder.0, &plan(criteria), all_labels().all());
    for interval in with_transactions() {
        assert!(writer.interval(&interval, &HostSample::default()).is_none());
    }
    writer.finish(RunState::Complete, end()).0
}

fn others(summary: &Summary) -> String {
    let rows = |rows: &[analysis::summary::Row]| -> Vec<_> {
        let reported = |row: &analysis::summary::Row| {
            (
                row.text.clone(),
                row.count,
                row.errors,
                row.iteration.clone(),
                row.bytes_in,
            )
        };
        rows.iter().map(reported).collect()
    };
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        (summary.all.count, summary.all.errors, &summary.all.service),
        rows(&summary.labels),
        rows(&summary.iterations),
        summary.arrivals,
        summary.requests,
        summary.errors,
        summary.confidence,
        summary.headline(),
    )
}

#[test]
fn transactions_are_counted_separately() {
    let (folder, without) = (Folder::new(), Folder::new());
    let run = run(&folder, &[]);
    let summary = analysis::summarise(&run);
    let plain = analysis::summarise(&write(&without.0, &plan(&[])));
    assert_eq!(others(&summary), others(&plain));
    assert!(plain.transactions.is_empty());
    let [row] = summary.transactions.as_slice() else {
        panic!("{:?}", summary.transactions);
    };
    assert_eq!(
        (row.group, row.text.as_str()),
        (LabelGroup::Transaction, "pay")
    );
    assert_eq!((row.count, row.errors, row.bytes_in), (40, 2, 0));
    assert_eq!((&row.service, &row.response), (&None, &None));
    let mean = |stats: &Option<analysis::summary::Stats>| stats.as_ref().unwrap().mean_ns.unwrap();
    assert_eq!(mean(&row.iteration) - mean(&row.unpaused), PAUSE as f64);
    let again = Run::open(run.dir.as_ref().unwrap()).unwrap();
    assert_eq!(
        analysis::summarise(&again).transactions,
        summary.transactions
    );
    let series = series::build(&run, &summary);
    let series_of_label = series
        .labels
        .iter()
        .find(|series_of_label| series_of_label.id == PAY);
    let series_of_label = series_of_label.unwrap();
    assert_eq!(series_of_label.time.as_deref(), Some("iteration"));
    assert_eq!(series_of_label.count.iter().sum::<u64>(), 40);
    assert!(series_of_label.p50.iter().flatten().count() > 0);
    assert!(
        summary
            .percentiles
            .iter()
            .any(|row| row.id == PAY && row.time == "iteration")
    );
}

#[test]
fn criteria_are_of_transactions_or_of_iterations_and_never_of_both() {
    let folder = Folder::new();
    let criteria = [
        "transaction mean < 50ms",
        "transaction max of \"p*\" > 30ms",
        "iteration max < 150ms",
        "iteration max of \"checkout\" < 150ms",
        "errors of \"*\" < 5",
        "rate of \"*\" < 30/s",
    ];
    let run = run(&folder, &criteria);
    let judged = verdict::so_far(&run, 3 * SECOND + 10 * MS);
    let values: Vec<_> = judged.iter().map(|judged| judged.value).collect();
    let slot = |id| run.totals.label(id).slot;
    let mean = slot(PAY)
        .histogram(TimeKind::Iteration, OutcomeClass::Ok)
        .unwrap()
        .mean();
    assert_eq!(values[0], mean);
    assert_eq!((judged[1].judgement, values[1]), (Judgement::Pass, None));
    assert_eq!(judged[2].judgement, judged[3].judgement);
    assert_eq!(
        (values[2], &judged[2].measured),
        (values[3], &judged[3].measured)
    );
    // Only requests: 80, of which 2 failed and 2 were unanswered.
    assert_eq!(values[4], Some(4.0));
    let of_requests = 80.0 / (3.0 + 0.01);
    assert!(
        (values[5].unwrap() - of_requests).abs() < 0.01,
        "{:?}",
        values[5]
    );
    for (text, reason) in [
        (
            "iteration p95 of \"pay\" < 1s",
            "no label matches \"pay\" (there are \"checkout\")",
        ),
        (
            "transaction p95 of \"checkout\" < 1s",
            "no label matches \"checkout\" (there are \"pay\")",
        ),
        (
            "p95 of \"pay\" < 1s",
            "no label matches \"pay\" (there are \"GET /cart\", \"POST /order\")",
        ),
    ] {
        let criterion = plan::criteria::parse_criterion(text).unwrap();
        let reported = verdict::without_subject(
            &run.manifest,
            Some(all_labels().all()),
            &run.server,
            &criterion,
        );
        assert_eq!(
            reported,
            Some(format!("`{text}` cannot be judged: {reason}"))
        );
    }
    let criterion = plan::criteria::parse_criterion("transaction p95 < 1s").unwrap();
    let reported =
        verdict::without_subject(&run.manifest, Some(labels().all()), &run.server, &criterion);
    assert_eq!(
        reported.unwrap(),
        "`transaction p95 < 1s` cannot be judged: no `group` in the plan has a name"
    );
}

#[test]
fn every_rendering_of_the_crate_has_a_row() {
    let folder = Folder::new();
    let run = run(&folder, &[]);
    let text = export::prometheus(&run);
    let line = |name: &str| text.lines().any(|line| line == name);
    assert!(
        line("loadline_transactions_total{transaction=\"pay\",outcome=\"ok\"} 38"),
        "{text}"
    );
    assert!(line(
        "loadline_transactions_total{transaction=\"pay\",outcome=\"none\"} 2"
    ));
    assert!(line(
        "loadline_transaction_duration_seconds_count{transaction=\"pay\"} 40"
    ));
    assert!(line(
        "loadline_iterations_total{scenario=\"checkout\",outcome=\"ok\"} 36"
    ));
    assert!(!text.contains("label=\"pay\""));
    assert!(!text.contains("scenario=\"pay\""));
    let without = write(&Folder::new().0, &plan(&[]));
    assert!(!export::prometheus(&without).contains("transaction"));
    let mut csv = Vec::new();
    assert!(export::csv(&run, &mut csv).unwrap());
    let csv = String::from_utf8(csv).unwrap();
    let rows = csv
        .lines()
        .filter(|line| line.contains(",transaction,pay,"));
    let done = rows.map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[9], "", "{line}");
        cells[10].parse::<u64>().unwrap()
    });
    assert_eq!(done.sum::<u64>(), 40, "{csv}");
}
