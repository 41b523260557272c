use std::{
    fs,
    path::{Path, PathBuf},
};

use analysis::{page, summary::Summary};
use measure::accumulator::Tally;
use record::{HostSample, Run, RunState, Truncation};
use report::derived;

use crate::support::{
    Folder, MS, SECOND, end, intervals, labels, plan, write, writer, writer_of_all, writer_of_part,
};

const WHOLE: u64 = 3 * SECOND + 10 * MS;

fn changed(name: &str, change: impl Fn(&mut Vec<u8>)) -> (Folder, PathBuf) {
    let folder = Folder::new();
    let dir = write(&folder.0, &plan(&["unsent < 1%"])).dir.unwrap();
    let path = dir.join(name);
    let mut content = fs::read(&path).unwrap();
    change(&mut content);
    fs::write(path, content).unwrap();
    (folder, dir)
}

fn before_last(content: &[u8], n: usize, end: &str) -> usize {
    let text = std::str::from_utf8(content).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let ends: Vec<usize> = (0..lines.len())
        .filter(|i| lines[*i].contains(end))
        .collect();
    let keep = ends[ends.len() - 1 - n];
    lines[..=keep].iter().map(|line| line.len()).sum()
}

fn open(dir: &Path) -> (Run, Summary) {
    let run = Run::open(dir).unwrap();
    let summary = analysis::summarise(&run);
    (run, summary)
}

#[test]
fn figures_that_contradict_each_other_are_damage() {
    let whole = |content: &mut Vec<u8>| content.truncate(content.len());
    let (_folder, dir) = changed("counters.jsonl", whole);
    assert_eq!(open(&dir).0.damage, Vec::<String>::new());
    let more_answers = |content: &mut Vec<u8>| {
        let text = String::from_utf8(content.clone()).unwrap();
        let at = text.find("\"label\":2").unwrap();
        let (before, rest) = text.split_at(at);
        *content = (before.to_owned() + &rest.replacen("\"ok\":", "\"ok\":9", 1)).into_bytes();
    };
    let (_folder, dir) = changed("counters.jsonl", more_answers);
    let damage = open(&dir).0.damage;
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert!(
        damage[0].contains("in 1 intervals the labels do not add up"),
        "{damage:?}"
    );
}

fn assert_only_the_readable_part_counts(dir: &Path, damaged: bool, word: &str) {
    let (run, summary) = open(dir);
    let at_ns = run.totals.rows.end_ns;
    assert!(at_ns < WHOLE);
    let cut = Truncation {
        at_ns,
        of_ns: Some(WHOLE),
        damaged,
    };
    assert_eq!(run.cut, Some(cut));
    assert_eq!(summary.run.record_ends_ns, Some(at_ns));
    let arrivals = summary.arrivals.as_ref().unwrap();
    assert_eq!(
        arrivals.unsent,
        Some(0),
        "nothing is known of what came later"
    );
    assert!(arrivals.until_stop && arrivals.adds_up, "{arrivals:?}");
    assert!(summary.requests.adds_up);
    assert!(
        summary.run.elapsed_ns <= WHOLE - 10 * MS,
        "rates are by the time that is there"
    );
    let reasons = summary.measurement.as_ref().unwrap().reasons.join(" ");
    assert!(!reasons.contains("never started"), "{reasons}");
    assert!(
        summary
            .verdict
            .sentence
            .starts_with("The record covers only the first "),
        "{}",
        summary.verdict.sentence
    );
    let note = summary.notes.iter().find(|note| note.starts_with(word));
    assert!(
        note.is_some_and(|note| note.contains("run continued until 3.01 s")),
        "{:?}",
        summary.notes
    );
    let text = report::console::summary_text(&summary);
    assert!(text.contains("the record ends at"), "{text}");
    assert!(
        report::markdown::render(&page::build(&run))
            .text
            .contains("**the record ends at")
    );
}

#[test]
fn a_flipped_byte_among_the_histograms() {
    let (_folder, dir) = changed("intervals.hlog", |content| {
        let at = before_last(content, 3, "#end ") + 60;
        content[at] ^= 1;
    });
    assert_only_the_readable_part_counts(&dir, true, "the record is damaged at ");
}

#[test]
fn counters_without_their_tail() {
    let (_folder, dir) = changed("counters.jsonl", |content| {
        content.truncate(before_last(content, 2, "\"end\":true"));
    });
    assert_only_the_readable_part_counts(&dir, true, "the record is damaged at ");
}

#[test]
fn counters_that_are_gone() {
    let (_folder, dir) = changed("counters.jsonl", Vec::clear);
    let (run, summary) = open(&dir);
    assert_eq!(run.cut.map(|cut| cut.at_ns), Some(0));
    let message = summary.verdict.sentence;
    assert_eq!(
        message,
        "The record contains no data from the run, so there is nothing to judge."
    );
    assert_eq!(
        summary.conclusions[0].text,
        "The record contains no requests, so no conclusions are possible."
    );
}

#[test]
fn unreadable_frontend_lines_are_reported() {
    let (_folder, dir) = changed("frontend.jsonl", |content| {
        content[0] = b'#';
        content.extend(b"{\"i\":\"none\"}\n torn");
    });
    let message = "the record is damaged: 2 lines of frontend.jsonl cannot be read";
    let (run, summary) = open(&dir);
    assert_eq!(run.damage, [message]);
    assert!(summary.notes.iter().any(|note| note.contains(message)));
}

#[test]
fn full_disk_is_neither_damage_nor_loss() {
    let folder = Folder::new();
    let mut broken = writer(&folder.0, &plan(&["unsent < 1%"]), labels().all());
    let dir = broken.dir().unwrap().to_owned();
    std::os::unix::fs::symlink("/dev/full", dir.join("frontend.jsonl")).unwrap();
    let mut warned = 0;
    for (i, mut interval) in intervals().into_iter().enumerate() {
        if i < 3 {
            interval.frontend = Tally::default();
        }
        let warning = broken.interval(&interval, &HostSample::default());
        warned += usize::from(warning.is_some());
    }
    assert_eq!(warned, 1);
    let (live, _) = broken.finish(RunState::Complete, end());
    assert!(live.is_whole() && analysis::summarise(&live).run.record_ends_ns.is_none());
    assert_only_the_readable_part_counts(&dir, false, "the record could not be extended");
}

#[test]
fn a_killed_run_is_torn_not_damaged() {
    let kill = |dir: &Path| {
        let path = dir.join("manifest.json");
        let mut manifest: serde_json::Value =
            serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        manifest["state"] = "running".into();
        manifest["end"] = serde_json::Value::Null;
        fs::write(path, manifest.to_string()).unwrap();
    };
    let (_folder, dir) = changed("counters.jsonl", |content| {
        let end = before_last(content, 1, "\"end\":true");
        content.truncate(end + 20);
    });
    kill(&dir);
    assert_eq!(
        Run::open(&dir).unwrap().cut,
        None,
        "the interval in progress"
    );
    let (_folder, dir) = changed("counters.jsonl", |content| {
        let end = before_last(content, 4, "\"end\":true");
        content[end + 3] = b'\n';
    });
    kill(&dir);
    let cut = Run::open(&dir).unwrap().cut.unwrap();
    assert_eq!(
        (cut.of_ns, cut.damaged),
        (None, true),
        "it is based on more intervals"
    );
}

#[test]
fn figures_with_lost_name_are_counted() {
    let (_folder, dir) = changed("labels.jsonl", |content| {
        let at = content.windows(5).position(|w| w == b"\"id\":").unwrap();
        content[at] = b'?';
        let at = content.iter().rposition(|byte| *byte == b'{').unwrap();
        content[at] = b'?';
    });
    let (run, summary) = open(&dir);
    assert_eq!(run.cut, None, "every interval is there");
    let folder = Folder::new();
    let whole = analysis::summarise(&write(&folder.0, &plan(&["unsent < 1%"])));
    let counts = |summary: &Summary| {
        let rows = summary.labels.iter().chain(&summary.iterations);
        let mut counts: Vec<u64> = rows.map(|row| row.count).collect();
        counts.sort_unstable();
        counts
    };
    assert_eq!(counts(&summary), counts(&whole));
    assert_eq!(summary.arrivals, whole.arrivals);
    let all = format!("{:?}{:?}", summary.labels, summary.iterations);
    assert!(all.contains("(name lost, number "), "{all}");
    assert!(
        summary
            .notes
            .iter()
            .any(|note| note.contains("labels.jsonl")),
        "{:?}",
        summary.notes
    );
}

#[test]
fn only_intervals_of_all_processes_count() {
    let folder = Folder::new();
    let plan = plan(&[]);
    let dir = writer_of_all(&folder.0.join("runs"), &plan, 2)
        .finish(RunState::Complete, end())
        .0
        .dir
        .unwrap();
    for process in 0..2 {
        let mut writer = writer_of_part(&dir, &plan, labels().all(), process, 2);
        for interval in intervals() {
            writer.interval(&interval, &Default::default());
        }
        writer.finish(RunState::Complete, end());
    }
    let counters = dir.join("parts/1/counters.jsonl");
    let mut content = fs::read(&counters).unwrap();
    content.truncate(before_last(&content, 2, "\"end\":true"));
    fs::write(counters, content).unwrap();
    let run = Run::open(&dir).unwrap();
    let cut = run.cut.unwrap();
    assert!(cut.at_ns < WHOLE && run.totals.rows.end_ns == cut.at_ns);
    assert_eq!(run.frames().unwrap().last().unwrap().span.to_ns, cut.at_ns);
}

#[test]
fn a_poorer_report_is_known_as_one() {
    let (_folder, dir) = changed("counters.jsonl", |_| {});
    let (run, whole) = open(&dir);
    derived::write(&dir, &page::build(&run)).unwrap();
    assert!(!derived::is_poorer(&dir, &whole), "the same again");
    let path = dir.join("counters.jsonl");
    let mut content = fs::read(&path).unwrap();
    content.truncate(before_last(&content, 2, "\"end\":true"));
    fs::write(path, content).unwrap();
    let (_, left) = open(&dir);
    assert!(derived::is_poorer(&dir, &left));
    fs::remove_file(dir.join("summary.json")).unwrap();
    assert!(!derived::is_poorer(&dir, &left), "there is nothing better");
}
