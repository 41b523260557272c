use std::{fs, path::Path};

use measure::Interval;
use record::{HostSample, Run, RunState};
use report::{console, markdown};
use serde_json::{Value, json};

use crate::support::{self, Folder, SECOND, end, labels, plan, writer_of_all, writer_of_part};

fn run(folder: &Path, ends: RunState) -> std::path::PathBuf {
    let plan = plan(&[]);
    let whole = writer_of_all(folder, &plan, 2).finish(ends, end()).0;
    let dir = whole.dir.unwrap();
    for number in 0..2 {
        let mut writer = writer_of_part(&dir, &plan, labels().all(), number, 2);
        for snapshot in support::snapshots(number, 2) {
            let interval = Interval::merge(vec![snapshot], 2, |id| id == 2 || id == 3);
            assert!(writer.interval(&interval, &HostSample::default()).is_none());
        }
        writer.finish(ends, end());
    }
    dir
}

fn change(manifest: &Path, how: impl Fn(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap();
    how(&mut value);
    fs::write(manifest, value.to_string()).unwrap();
}

#[test]
fn part_of_another_run_is_refused() {
    let changes: [(&str, Value, &str); 6] = [
        ("run_id", json!("4712"), "it belongs to another run"),
        ("plan_sha256", json!("00"), "it belongs to another plan"),
        ("seed", json!(2), "its seed is 2, but the run's seed is 1"),
        (
            "share",
            json!({"index": 0, "of": 2}),
            "its share of the run is 1 of 2, expected 2 of 2",
        ),
        (
            "share",
            json!(null),
            "its share of the run is none, expected 2 of 2",
        ),
        (
            "start",
            json!({"wall_ns": support::WALL + 3_000_000, "monotonic_ns": 0, "utc": "", "uncertainty_ns": 1_000_000}),
            "its start differs by 3.00 ms from the start of the run, more than the clock accuracy of 1.00 ms",
        ),
    ];
    for (field, value, message) in changes {
        let folder = Folder::new();
        let dir = run(&folder.0, RunState::Complete);
        assert!(Run::open(&dir).is_ok());
        change(&dir.join("parts/1/manifest.json"), |manifest| {
            manifest[field] = value.clone();
        });
        let refused = Run::open(&dir).unwrap_err().to_string();
        assert!(
            refused.contains(message) && refused.contains("parts/1"),
            "{refused}"
        );
    }
    let folder = Folder::new();
    let dir = run(&folder.0, RunState::Complete);
    change(&dir.join("parts/1/manifest.json"), |manifest| {
        manifest["start"]["wall_ns"] = json!(support::WALL + 3_000_000);
        manifest["start"]["uncertainty_ns"] = json!(5_000_000);
    });
    assert!(Run::open(&dir).is_ok());
}

#[test]
fn process_without_record_is_reported_and_its_arrivals_are_unknown() {
    for (ends, planned) in [(RunState::Complete, 40), (RunState::Interrupted, 40)] {
        let folder = Folder::new();
        let dir = run(&folder.0, ends);
        let all = analysis::summarise(&Run::open(&dir).unwrap())
            .arrivals
            .unwrap();
        assert_eq!((all.planned, all.unsent), (Some(40), Some(0)));
        fs::remove_dir_all(dir.join("parts/1")).unwrap();
        let run = Run::open(&dir).unwrap();
        assert_eq!(run.missing, [1]);
        let summary = analysis::summarise(&run);
        let arrivals = summary.arrivals.clone().unwrap();
        assert_eq!(
            (arrivals.planned, arrivals.unsent, arrivals.unknown),
            (Some(planned), Some(0), 20),
            "{ends:?}"
        );
        assert!(arrivals.adds_up);
        let message = "process 2 of 2 left no record: it is unknown whether it sent its arrivals";
        let measurement = summary.measurement.clone().unwrap();
        assert_eq!(measurement.verdict, "INVALID", "{measurement:?}");
        assert!(summary.notes.iter().any(|note| note == message));
        assert!(console::summary_text(&summary).contains("left no record"));
        let page = analysis::page::build(&run);
        assert!(markdown::render(&page).text.contains(message));
    }
    let folder = Folder::new();
    let dir = run(&folder.0, RunState::Complete);
    fs::write(dir.join("parts/0/manifest.json"), "{").unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(
        (run.missing.as_slice(), run.damage.len()),
        ([0].as_slice(), 2)
    );
    assert_eq!(run.totals.rows.end_ns / SECOND, 3);
    let part = Run::open(&dir.join("parts/1")).unwrap();
    assert_eq!(part.manifest.load.planned, Some(20));
    let phases = part.manifest.phases.iter();
    assert_eq!(phases.map(|phase| phase.planned).sum::<u64>(), 20);
}
