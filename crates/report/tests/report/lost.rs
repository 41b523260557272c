use std::path::{Path, PathBuf};

use analysis::summary::Summary;
use decisions::compare::{self, ComparedRun, Side};
use measure::{Interval, TimeSpan};
use plan::{Plan, Share};
use proptest::prelude::*;
use record::{Event, EventKind, HostSample, NodeLost, Run, RunState};
use report::{console, markdown};

use crate::support::{
    self, Every, Folder, MS, SECOND, end, labels, plan, snapshots_of, writer_of_all, writer_of_part,
};

#[derive(Clone, Copy)]
struct How {
    lease_ends_ns: u64,
    taken_over_from_ns: Option<u64>,
    recorded: usize,
    closes: bool,
    lost: bool,
    ends: RunState,
}

const HOW: How = How {
    lease_ends_ns: 1_200 * MS,
    taken_over_from_ns: Some(1_500 * MS),
    recorded: 1,
    closes: false,
    lost: true,
    ends: RunState::Complete,
};

const LOST: Share = Share { index: 2, of: 3 };

fn lost_node(plan: &Plan, how: How) -> NodeLost {
    let lost = NodeLost {
        node: 2,
        name: "worker-c".into(),
        // The wall clock is at 0.3 s.
        recorded_to_ns: 700 * MS,
        lease_ends_ns: how.lease_ends_ns,
        taken_over_from_ns: how.taken_over_from_ns,
        by: how.taken_over_from_ns.map_or(Vec::new(), |_| vec![0, 1]),
        ..NodeLost::default()
    };
    lost.counted(&plan.schedule(1), &[(LOST, 0)])
}

/// Loses a node. There is an arrival every 0.1 s up to 2 s, then every 0.05 s: 40 arrivals.
fn lose(folder: &Path, plan: &Plan, how: How) -> PathBuf {
    let schedule = plan.schedule(1);
    let mut whole = writer_of_all(folder, plan, 3);
    if how.lost {
        let lost = lost_node(plan, how);
        let event = Event {
            lost: Some(lost.clone()),
            ..Event::new(
                how.lease_ends_ns,
                EventKind::NodeLost,
                lost.text(lost.due - lost.recorded),
            )
        };
        assert!(whole.event(&event).is_none());
    }
    let dir = whole.finish(how.ends, end()).0.dir.unwrap();
    for index in 0..3 {
        let own = Share { index, of: 3 };
        let is_lost = own == LOST;
        let taken_share = LOST.part(index.min(1), 2);
        let arrivals = schedule.shard(0, 1).filter(|arrival| {
            let taken_over = how
                .taken_over_from_ns
                .is_some_and(|from_ns| arrival.intended_ns >= from_ns);
            if is_lost {
                return own.has(arrival.number) && arrival.intended_ns < how.lease_ends_ns;
            }
            own.has(arrival.number) || taken_over && taken_share.has(arrival.number)
        });
        let mut writer = writer_of_part(&dir, plan, labels().all(), index, 3);
        let snapshots = snapshots_of(index, arrivals, Box::<Every>::default());
        let stored = if is_lost { how.recorded } else { usize::MAX };
        for snapshot in snapshots.into_iter().take(stored) {
            let interval = Interval::merge(vec![snapshot], 3, |id| id == 2 || id == 3);
            assert!(writer.interval(&interval, &HostSample::default()).is_none());
        }
        if !is_lost || how.closes {
            let ends = if is_lost {
                RunState::Interrupted
            } else {
                how.ends
            };
            writer.finish(ends, end());
        }
    }
    dir
}

fn summary(how: How, criteria: &[&str]) -> (Run, Summary) {
    let folder = Folder::new();
    let run = Run::open(&lose(&folder.0, &plan(criteria), how)).unwrap();
    let summary = analysis::summarise(&run);
    (run, summary)
}

fn ledger(summary: &Summary) -> (u64, u64, u64, u64) {
    let arrivals = summary.arrivals.as_ref().unwrap();
    assert!(arrivals.adds_up && summary.requests.adds_up, "{arrivals:?}");
    let (planned, unsent) = (arrivals.planned.unwrap(), arrivals.unsent.unwrap());
    assert_eq!(
        planned,
        arrivals.started + arrivals.skipped + unsent + arrivals.unknown
    );
    (planned, arrivals.started, unsent, arrivals.unknown)
}

#[test]
fn every_planned_arrival_is_started_unsent_or_unknown() {
    // The node's arrivals 2, 5, 8, 11, 14, … are 0.1 s apart: 2 and 5 are recorded, 8 and 11 are
    // unknown, 14 is unsent.
    let (run, reported) = summary(HOW, &[]);
    assert_eq!(ledger(&reported), (40, 37, 1, 2));
    assert_eq!(
        (run.unknown(), run.lost().count(), run.missing.len()),
        (2, 0, 0)
    );
    assert!(run.is_whole());
    let loss = &reported.lost[0];
    assert_eq!(
        (loss.from_ns, loss.to_ns, loss.unsent, loss.unknown),
        (700 * MS, 1_500 * MS, 1, 2)
    );
    // The node's part is copied later and lacks the last interval. 8 and 11 are close to the end of
    // the part.
    let (_, later) = summary(How { recorded: 2, ..HOW }, &[]);
    assert_eq!(ledger(&later), (40, 39, 1, 0));
    let closed = How {
        recorded: usize::MAX,
        closes: true,
        ..HOW
    };
    let (run, closed) = summary(closed, &[]);
    assert_eq!(ledger(&closed), (40, 39, 1, 0));
    assert!(run.is_whole());
    let (_, left) = summary(
        How {
            taken_over_from_ns: None,
            ..HOW
        },
        &[],
    );
    assert_eq!(ledger(&left), (40, 29, 9, 2));
    assert_eq!((left.lost[0].to_ns, left.lost[0].unsent), (3 * SECOND, 9));
}

#[test]
fn missing_part_is_unknown_and_reported_once() {
    let folder = Folder::new();
    let dir = lose(&folder.0, &plan(&[]), HOW);
    std::fs::remove_dir_all(dir.join("parts/2")).unwrap();
    let run = Run::open(&dir).unwrap();
    let summary = analysis::summarise(&run);
    assert_eq!(ledger(&summary), (40, 35, 1, 4));
    assert!(
        run.damage.is_empty() && run.missing.is_empty(),
        "{:?}",
        run.damage
    );
}

#[test]
fn lost_node_degrades_the_run_and_is_reported_once() {
    let (_, reported) = summary(HOW, &[]);
    let message = "node 2 (worker-c) was lost at 00:00: 1 arrival unsent until 2 others took over at 00:01, 2 unknown";
    let measurement = reported.measurement.clone().unwrap();
    assert_eq!(
        (measurement.verdict.as_str(), measurement.reasons),
        ("DEGRADED", vec![message.to_owned()])
    );
    let text = console::summary_text(&reported);
    assert!(
        text.contains("40 planned = 37 started + 0 skipped + 1 unsent + 2 unknown"),
        "{text}"
    );
    assert!(
        !text.contains("did not finish") && !text.contains("processes did not"),
        "{text}"
    );
    let folder = Folder::new();
    let run = Run::open(&lose(&folder.0, &plan(&[]), HOW)).unwrap();
    assert!(
        markdown::render(&analysis::page::build(&run))
            .text
            .contains("2 unknown")
    );
    let silent = How {
        lost: false,
        taken_over_from_ns: None,
        ..HOW
    };
    let (run, silent) = summary(silent, &[]);
    assert_eq!((run.lost().count(), ledger(&silent)), (1, (40, 29, 0, 11)));
    assert_eq!(silent.measurement.unwrap().verdict, "INVALID");
}

#[test]
fn unsent_arrivals_of_other_nodes_still_count() {
    let folder = Folder::new();
    let plan = plan(&[]);
    let dir = lose(&folder.0, &plan, HOW);
    let path = dir.join("parts/0/counters.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let due = text.find("\"due\":").unwrap();
    let end = due + text[due..].find([',', '}']).unwrap();
    let n: u64 = text[due + 6..end].parse().unwrap();
    std::fs::write(
        &path,
        format!("{}\"due\":{}{}", &text[..due], n + 1, &text[end..]),
    )
    .unwrap();
    let run = Run::open(&dir).unwrap();
    let measurement = analysis::summarise(&run).measurement.unwrap();
    assert_eq!(measurement.verdict, "INVALID");
    assert!(
        measurement
            .reasons
            .iter()
            .any(|reason| reason.contains("was never started"))
    );
    assert!(
        measurement
            .reasons
            .iter()
            .any(|reason| reason.contains("worker-c"))
    );
}

#[test]
fn criteria_leave_out_the_seconds_that_it_touched_and_say_so() {
    let criteria = [
        "max < 5s",
        "max in \"warm\" < 5s",
        "max in \"peak\" < 5s",
        "errors < 100%",
        "rate < 1000/s",
        "p50 of \"GET /cart\" < 5s",
        "in-flight < 100",
        "unsent < 50%",
    ];
    let (run, reported) = summary(HOW, &criteria);
    assert_eq!(run.totals.left_out(), [TimeSpan::new(700 * MS, 1_500 * MS)]);
    let without = "without 00:00 to 00:01, affected by the loss of a node";
    for judged in &reported.criteria {
        let is_touched = !judged.text.contains("peak") && !judged.text.contains("unsent");
        let says_so = judged
            .reason
            .as_ref()
            .is_some_and(|reason| reason.contains(without));
        assert_eq!(says_so, is_touched, "{judged:?}");
    }
    // 0.7 s to 1.7 s is excluded: ten of 19 arrivals in the warm-up.
    let of_warm = |judged: bool| {
        let wanted = |id, phase| id == 4 && phase == 0;
        let part = if judged {
            run.totals.judged(wanted)
        } else {
            run.totals.sum(wanted)
        };
        part.slot.counters.ended()
    };
    let in_it = run
        .totals
        .rows
        .iter()
        .filter(|row| run.totals.leaves_out(row.span));
    let spans: Vec<TimeSpan> = in_it.map(|row| row.span).collect();
    assert_eq!(spans, [TimeSpan::new(700 * MS, 1_700 * MS)]);
    assert!(
        of_warm(true) > 0 && of_warm(true) + 7 <= of_warm(false),
        "{} {}",
        of_warm(true),
        of_warm(false)
    );
    let value = |text: &str| {
        let mut judged = reported.criteria.iter();
        judged
            .find(|judged| judged.text == text)
            .unwrap()
            .value
            .unwrap()
    };
    let elapsed = reported.run.elapsed_ns as f64 / 1e9 - 1.0;
    let ended = run.totals.judged(|id, _| id == 0).slot.counters.ended() as f64;
    assert!((value("rate < 1000/s") - ended / elapsed).abs() < 1e-9);
    let never = How {
        taken_over_from_ns: None,
        ..HOW
    };
    let (_, never) = summary(never, &["max in \"peak\" < 5s"]);
    assert_eq!(
        never.criteria[0].judgement,
        analysis::verdict::Judgement::Inconclusive
    );
}

#[test]
fn run_that_ended_early_plans_arrivals_due_until_its_end() {
    let ended = How {
        ends: RunState::Interrupted,
        ..HOW
    };
    let (_, ended) = summary(ended, &[]);
    assert_eq!(ledger(&ended), (40, 37, 1, 2));
    let not_taken_over = How {
        ends: RunState::Interrupted,
        taken_over_from_ns: None,
        ..HOW
    };
    let (_, not_taken_over) = summary(not_taken_over, &[]);
    let (planned, started, unsent, unknown) = ledger(&not_taken_over);
    assert_eq!((started, unknown), (29, 2));
    assert!(
        planned.abs_diff(40) <= 2 && unsent.abs_diff(9) <= 2,
        "{planned} {unsent}"
    );
}

#[test]
fn run_with_lost_node_is_not_a_baseline() {
    let folder = Folder::new();
    let (_, lost) = summary(HOW, &[]);
    let whole = support::write(&folder.0, &plan(&[]));
    let side = |summary: &Summary| Side {
        name: "a".into(),
        runs: vec![ComparedRun {
            name: "a".into(),
            summary: summary.clone(),
            run: None,
            plan: serde_json::Value::Null,
        }],
    };
    let other = side(&analysis::summarise(&whole));
    let found = compare::incompatibilities(&side(&lost), &other);
    let message = "a lost a node: from 00:00 to 00:01 its load differed from the plan";
    assert!(
        found.iter().any(|hindrance| hindrance.text == message),
        "{found:?}"
    );
}

proptest! {
#![proptest_config(ProptestConfig::with_cases(24))]
#[test]
fn ledger_adds_up_for_every_loss_and_takeover(
lease_ms in 700u64..2_800, gap_ms in 1u64..1_500, is_taken_over: bool, recorded in 0usize..6, closes: bool, is_there: bool,
) {
let lease_ends_ns = lease_ms * MS;
let how = How {
lease_ends_ns,
taken_over_from_ns: is_taken_over.then_some(lease_ends_ns + gap_ms * MS),
recorded,
closes,
..HOW
};
let folder = Folder::new();
let dir = lose(&folder.0, &plan(&[]), how);
if !is_there {
std::fs::remove_dir_all(dir.join("parts/2")).unwrap();
}
let run = Run::open(&dir).unwrap();
let summary = analysis::summarise(&run);
let (planned, started, unsent, unknown) = ledger(&summary);
let schedule = plan(&[]).schedule(1);
let until = |from_ns, at_ns| schedule.due_of_share(LOST, from_ns, at_ns);
let (due, all) = (until(0, lease_ends_ns), until(0, u64::MAX));
let taken_over = how.taken_over_from_ns.map_or(0, |from_ns| until(from_ns, u64::MAX));
let recorded = run.processes.iter().find(|process| process.share == LOST).map_or(0, |process| process.due);
prop_assert_eq!(planned, 40);
prop_assert_eq!(started, 40 - all + recorded + taken_over);
let is_closed = closes && is_there;
if !is_closed {
prop_assert_eq!(unknown, due - recorded);
prop_assert_eq!(unsent, all - due - taken_over);
}
prop_assert_eq!(unsent + unknown, all - recorded - taken_over);
let verdict = summary.measurement.unwrap().verdict;
prop_assert_eq!(verdict.as_str(), "DEGRADED");
}
}
