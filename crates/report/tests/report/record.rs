use std::{collections::BTreeSet, fs, path::Path};

use measure::{Interval, accumulator::Tally};
use plan::rng::{Purpose, Rng};
use proptest::prelude::*;
use record::{
    HostSample, Manifest, Run, RunContext, RunLocation, RunState, Writer, redact::Redactor,
};

use crate::support::{
    self, Folder, SECOND, WALL, end, intervals, labels, plan, write, writer, writer_of_all,
    writer_of_part,
};

pub fn figures(run: &Run) -> String {
    let mut text = String::new();
    for (key, part) in &run.totals.parts {
        let mut counters = part.slot.counters.clone();
        counters.codes.0.sort_unstable();
        counters.faults.0.sort_by_key(|(fault, _)| fault.name());
        text.push_str(&format!("{key:?} {counters:?} {:?}\n", part.failures));
        for (kind, outcome, h) in part.slot.histograms() {
            let cells: Vec<_> = h.cells().collect();
            text.push_str(&format!(
                "  {kind:?} {outcome:?} {} {} {:?} {:?} {cells:?}\n",
                h.count(),
                h.sum(),
                h.min(),
                h.max()
            ));
        }
    }
    for row in run.totals.rows.iter() {
        text.push_str(&format!("{row:?}\n"));
    }
    text
}

#[test]
fn written_packets_are_read_back() {
    let folder = Folder::new();
    let written = write(&folder.0, &plan(&["p95 < 250ms"]));
    let read = Run::open(written.dir.as_deref().unwrap()).unwrap();
    assert_eq!(read.manifest, written.manifest);
    assert_eq!(read.manifest.state, RunState::Complete);
    assert_eq!(read.labels, written.labels);
    assert_eq!(read.events, written.events);
    assert_eq!(figures(&read), figures(&written));
    assert_eq!(read.totals.label(0).slot.counters.issued, 80);
    assert_eq!(read.totals.rows.len(), 6);
    assert_eq!(analysis::summarise(&read), analysis::summarise(&written));
}

#[test]
fn the_folder_and_its_neighbours() {
    let folder = Folder::new();
    let runs = folder.0.join(".loadline/runs");
    let run = write(&runs, &plan(&[]));
    let dir = run.dir.unwrap();
    assert_eq!(dir.file_name().unwrap(), "20261120T131500Z-beef");
    assert_eq!(
        fs::read_to_string(folder.0.join(".loadline/.gitignore")).unwrap(),
        "*\n"
    );
    assert_eq!(
        fs::read_link(runs.join("last")).unwrap(),
        Path::new("20261120T131500Z-beef")
    );
    for wanted in [
        "last",
        "20261120T131500Z-beef",
        "2026",
        dir.to_str().unwrap(),
    ] {
        assert_eq!(
            Run::find(&runs, wanted).unwrap().manifest.name,
            "shop.yml",
            "{wanted}"
        );
    }
    let second = write(&runs, &plan(&[])).dir.unwrap();
    assert_eq!(
        second.file_name().unwrap(),
        "20261120T131500Z-bef0",
        "a name that is taken is not taken again"
    );
    assert!(
        Run::find(&runs, "2026")
            .unwrap_err()
            .to_string()
            .contains("several runs")
    );
    assert!(
        Run::find(&runs, "1999")
            .unwrap_err()
            .to_string()
            .contains("no run `1999`")
    );
}

fn cut_copy(from: &Path, to: &Path, name: &str, length: usize) {
    for entry in fs::read_dir(from).unwrap().flatten() {
        let mut content = fs::read(entry.path()).unwrap();
        if entry.file_name() == name {
            content.truncate(length);
        }
        fs::write(to.join(entry.file_name()), content).unwrap();
    }
}

fn figures_until(intervals: usize) -> String {
    let folder = Folder::new();
    let plan = plan(&[]);
    let mut writer = writer(&folder.0, &plan, labels().all());
    for interval in support::intervals().iter().take(intervals) {
        assert!(
            writer
                .interval(
                    interval,
                    &HostSample {
                        host_ns: 0,
                        steal_ns: vec![7],
                        throttled_ns: 3
                    }
                )
                .is_none()
        );
    }
    figures(writer.run())
}

#[test]
fn a_record_cut_off_anywhere_keeps_every_finished_interval() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let dir = write(&folder.0, &plan(&[])).dir.unwrap();
    let expected: Vec<String> = (0..=6).map(figures_until).collect();
    for name in [
        "counters.jsonl",
        "intervals.hlog",
        "labels.jsonl",
        "events.jsonl",
        "frontend.jsonl",
    ] {
        let content = fs::read_to_string(dir.join(name)).unwrap();
        let is_end = |line: &str| {
            if name == "counters.jsonl" {
                line.contains("\"end\":true")
            } else {
                line.starts_with("#end ")
            }
        };
        let mut at = 0;
        let ends: Vec<usize> = content
            .split_inclusive('\n')
            .filter_map(|line| {
                at += line.len();
                is_end(line).then_some(at)
            })
            .collect();
        let holds_intervals = ends.len() == 6;
        assert_eq!(
            holds_intervals,
            name == "counters.jsonl" || name == "intervals.hlog"
        );
        let near = ends
            .iter()
            .flat_map(|end| [end - 1, *end, (end + 1).min(content.len())]);
        let spread = (0..=30).map(|part| content.len() * part / 30);
        let lengths: BTreeSet<usize> = near.chain(spread).collect();
        for length in lengths {
            cut_copy(&dir, &copy.0, name, length);
            let run = Run::open(&copy.0).unwrap();
            let whole = if holds_intervals {
                ends.iter().filter(|end| **end <= length).count()
            } else {
                6
            };
            assert_eq!(run.totals.rows.len(), whole, "{name} cut at {length}");
            assert!(figures(&run) == expected[whole], "{name} cut at {length}");
            let summary = analysis::summarise(&run);
            assert!(report::console::summary_text(&summary).contains("Requests"));
            let _ = run.frontend_parts();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn a_record_with_wrong_bytes_is_read_without_a_panic(seed: u64, file in 0..5usize, n in 1..20usize) {
        let (folder, copy) = (Folder::new(), Folder::new());
        let dir = write(&folder.0, &plan(&[])).dir.unwrap();
        let name = ["counters.jsonl", "intervals.hlog", "labels.jsonl", "events.jsonl", "frontend.jsonl"][file];
        cut_copy(&dir, &copy.0, "", 0);
        let mut content = fs::read(dir.join(name)).unwrap();
        let mut rng = Rng::keyed(seed, Purpose::User, 0, 0);
        for _ in 0..n {
            let at = rng.below(content.len() as u64) as usize;
            content[at] = rng.next_u64() as u8;
        }
        fs::write(copy.0.join(name), content).unwrap();
        let run = Run::open(&copy.0).unwrap();
        let _ = (analysis::summarise(&run), run.frontend_parts());
    }
}

#[test]
fn processes_add_up() {
    let folder = Folder::new();
    let plan = plan(&[]);
    let whole = write(&folder.0.join("whole"), &plan);
    let dir = writer_of_all(&folder.0.join("runs"), &plan, 2)
        .finish(RunState::Complete, end())
        .0
        .dir
        .unwrap();
    for worker in 0..2 {
        let mut writer = writer_of_part(&dir, &plan, labels().all(), worker, 2);
        for snapshot in support::snapshots(worker, 2) {
            let interval = Interval::merge(vec![snapshot], 2, |id| id == 2 || id == 3);
            writer.interval(&interval, &HostSample::default());
        }
        writer.finish(RunState::Complete, end());
    }
    let run = Run::open(&dir).unwrap();
    assert!(run.damage.is_empty() && run.missing.is_empty());
    let (ours, expected) = (analysis::summarise(&run), analysis::summarise(&whole));
    assert_eq!(
        (ours.all, ours.labels, ours.iterations),
        (expected.all, expected.labels, expected.iterations)
    );
    assert_eq!(
        (ours.arrivals, ours.requests),
        (expected.arrivals, expected.requests)
    );
    assert_eq!(ours.lateness, expected.lateness);
    assert_eq!(run.totals.rows.len(), 6);
    let frontends = |run: &Run| {
        run.frontend_parts()
            .into_values()
            .fold(Tally::default(), |mut all, part| {
                all.merge(part);
                all
            })
    };
    assert_eq!(frontends(&run), frontends(&whole));
}

#[test]
fn a_process_with_other_numbers_for_its_labels() {
    let folder = Folder::new();
    let plan = plan(&[]);
    let dir = writer_of_all(&folder.0.join("runs"), &plan, 2).finish(RunState::Complete, end());
    let dir = dir.0.dir.unwrap();
    let [_, part] = [0, 1].map(|process| {
        let mut writer = writer_of_part(&dir, &plan, labels().all(), process, 2);
        for interval in intervals() {
            writer.interval(&interval, &HostSample::default());
        }
        writer.finish(RunState::Complete, end()).0.dir.unwrap()
    });
    let swap = |text: String| {
        text.replace("\"id\":2,", "\"id\":9,")
            .replace("\"id\":3,", "\"id\":2,")
            .replace("\"id\":9,", "\"id\":3,")
    };
    let labels_file = part.join("labels.jsonl");
    fs::write(
        &labels_file,
        swap(fs::read_to_string(&labels_file).unwrap()),
    )
    .unwrap();
    let run = Run::open(&dir).unwrap();
    let count = |text: &str| {
        run.totals
            .label(
                run.labels
                    .iter()
                    .find(|label| label.text == text)
                    .unwrap()
                    .id,
            )
            .slot
            .counters
            .failed
    };
    // In the part, label 3 is GET /cart.
    assert_eq!((count("GET /cart"), count("POST /order")), (2, 2));
    assert_eq!(run.totals.label(0).slot.counters.issued, 160);
}

#[test]
fn the_newest_fifty_are_kept_and_nothing_else_is_touched() {
    let folder = Folder::new();
    let plan = plan(&[]);
    let make = |second: u64| {
        let mut manifest = Manifest::new(
            &plan,
            RunContext {
                wall_ns: WALL + second * SECOND,
                ..support::started()
            },
        );
        manifest.pid = u32::MAX;
        let place = RunLocation::new(Some(folder.0.clone()), 1);
        Writer::create(&place, &manifest, &plan, &[], Redactor::default())
            .unwrap()
            .finish(RunState::Complete, end())
    };
    for stranger in ["20200101T000000Z-0000", "notes", "20200101T000000Z-zzzz"] {
        fs::create_dir(folder.0.join(stranger)).unwrap();
    }
    fs::write(folder.0.join("20200101T000000Z-zzzz/manifest.json"), "{}").unwrap();
    let alive = Manifest::new(
        &plan,
        RunContext {
            wall_ns: WALL - SECOND,
            ..support::started()
        },
    );
    Writer::create(
        &RunLocation::new(Some(folder.0.clone()), 1),
        &alive,
        &plan,
        &[],
        Redactor::default(),
    )
    .unwrap();
    (0..53).for_each(|second| drop(make(second)));
    let mut names: Vec<String> = fs::read_dir(&folder.0)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names.retain(|name| !name.starts_with('.'));
    let stored = |name: &str| names.contains(&name.to_owned());
    assert!(
        stored("20200101T000000Z-0000")
            && stored("notes")
            && stored("20200101T000000Z-zzzz")
            && stored("last")
    );
    assert!(stored("20261120T131459Z-0001"), "a run running is kept");
    assert!(!stored("20261120T131502Z-0001") && stored("20261120T131552Z-0001"));
    let runs = names.iter().filter(|name| name.ends_with("-0001")).count();
    assert_eq!(runs, 51, "fifty, and the one running");
}

#[test]
fn a_run_goes_on_without_its_record() {
    let folder = Folder::new();
    let plan = plan(&[]);
    let manifest = Manifest::new(&plan, support::started());
    let blocked = folder.0.join("file");
    fs::write(&blocked, "").unwrap();
    let place = RunLocation::new(Some(blocked), 1);
    let error = Writer::create(
        &place,
        &manifest,
        &plan,
        labels().all(),
        Redactor::default(),
    )
    .map(|_| ())
    .unwrap_err();
    assert!(
        error.to_string().starts_with("the run is not recorded: "),
        "{error}"
    );
    assert!(error.to_string().contains("--runs"), "{error}");
    let mut memory = Writer::in_memory(&manifest, labels().all(), Redactor::default());
    let mut broken = writer(&folder.0.join("runs"), &plan, labels().all());
    std::os::unix::fs::symlink("/dev/full", broken.dir().unwrap().join("frontend.jsonl")).unwrap();
    let mut warnings = Vec::new();
    for (i, mut interval) in support::intervals().into_iter().enumerate() {
        if i < 3 {
            interval.frontend = Tally::default();
        }
        warnings.extend(broken.interval(&interval, &HostSample::default()));
        assert!(memory.interval(&interval, &HostSample::default()).is_none());
    }
    let (broken, last) = broken.finish(RunState::Complete, end());
    let (memory, none) = memory.finish(RunState::Complete, end());
    assert!(none.is_none() && last.is_none());
    assert_eq!(warnings.len(), 1);
    let warning = warnings[0].to_string();
    assert!(
        warning
            .contains(": No space left on device (os error 28); it ends at 2 s: free some space"),
        "{warning}"
    );
    assert_eq!(figures(&broken), figures(&memory));
    let read = Run::open(broken.dir.as_deref().unwrap()).unwrap();
    assert_eq!(read.totals.rows.len(), 3);
    let notes = analysis::summarise(&read).notes;
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("the record could not be extended and ends at 2 s")),
        "{notes:?}"
    );
}
