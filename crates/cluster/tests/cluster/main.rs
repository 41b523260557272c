//! Tests of the public API: records that are copied in pieces, and the cost of a conductor with
//! many nodes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use cluster::merge::Merger;
use measure::{
    Interval, Label, LabelId, OutcomeClass, Slot, TimeKind, TimeSpan,
    label::{self, LabelGroup},
};
use plan::{FirstArrival, Load, Phase, Plan, Rate, Shape, Share, units::SECOND};
use record::{
    Copier, HostSample, Manifest, RecordPiece, Replica, Run, RunContext, RunEnd, RunLocation,
    RunState, Writer, merge,
    redact::{Redactor, Salt},
};
use worker::clock;

const RATE: u64 = 1_000;
const NAMES: u16 = 20;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Vec<u8>>>>);

impl Copier for Kept {
    fn take(&mut self, piece: RecordPiece) {
        self.0.lock().unwrap().push(piece.to_bytes());
    }
}

fn plan() -> Plan {
    let phase = Phase::new(60 * SECOND, Shape::Rate(Rate::per_second(3 * RATE)));
    let load = Load::Open {
        phases: vec![phase],
        first: FirstArrival::AtStart,
    };
    let url = "http://127.0.0.1:9/";
    Plan {
        load,
        ..formats::url_plan(url, &formats::UrlOptions::default()).unwrap()
    }
}

fn labels() -> Vec<Label> {
    let mut all = measure::Labels::default().all().to_vec();
    all.extend((2..NAMES + 2).map(|id| Label {
        id,
        group: LabelGroup::Request,
        method: "GET".into(),
        name: format!("/a/{id}"),
        text: format!("GET /a/{id}"),
    }));
    all
}

fn interval(index: u64, share: Share) -> Interval {
    let mut interval = Interval {
        index,
        span: TimeSpan::new(index * SECOND, (index + 1) * SECOND),
        ..Interval::default()
    };
    interval.run.cpu_ns = vec![80_000_000];
    let mut random = share.index * 7_919 + index;
    for number in 0..RATE {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let ns = 200_000 + (random >> 33) % 40_000_000;
        let id = 2 + (number % u64::from(NAMES)) as LabelId;
        for id in [label::ALL, id] {
            let slot: &mut Slot = interval.slots.entry((id, 0)).or_default();
            (slot.counters.issued, slot.counters.ok) =
                (slot.counters.issued + 1, slot.counters.ok + 1);
            slot.record(TimeKind::Service, OutcomeClass::Ok, ns);
            slot.record(TimeKind::Response, OutcomeClass::Ok, ns + 90_000);
        }
        (interval.run.due, interval.run.started) = (interval.run.due + 1, interval.run.started + 1);
    }
    interval
}

fn recorded(folder: &std::path::Path, share: Share, seconds: u64, ends: bool) -> Vec<Vec<u8>> {
    let plan = plan();
    let started = RunContext {
        share: Some(share),
        node: Some(format!("machine-{}", share.index)),
        run_id: "r".into(),
        workers: 1,
        ..RunContext::default()
    };
    let stored = Kept::default();
    let redactor = || Redactor::new(&plan, &[], Salt::new([7; 16]));
    let manifest = Manifest::new(&plan, started);
    let copier: Box<dyn Copier> = Box::new(stored.clone());
    let writer = Writer::create_part(
        folder,
        &manifest,
        &plan,
        &labels(),
        redactor(),
        Some(copier),
    );
    let mut writer = writer.unwrap();
    for index in 0..seconds {
        assert!(
            writer
                .interval(&interval(index, share), &HostSample::default())
                .is_none()
        );
    }
    if ends {
        let end = RunEnd {
            ns: seconds * SECOND,
            reason: None,
            cause: None,
            record_ends_ns: None,
            recorded_to_ns: None,
            lines: None,
        };
        assert!(writer.finish(RunState::Complete, end).1.is_none());
    }
    std::mem::take(&mut *stored.0.lock().unwrap())
}

struct Temporary(PathBuf);

impl Temporary {
    fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn temporary() -> Temporary {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let name = format!("loadline-cluster-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&path).unwrap();
    Temporary(path)
}

fn share(index: u64, of: u64) -> Share {
    Share { index, of }
}

#[test]
fn a_copy_is_the_record_byte_for_byte() {
    let (own, decoded) = (temporary(), temporary());
    let pieces = recorded(own.path(), share(1, 3), 4, true);
    let mut replica = Replica::new(decoded.path(), 1);
    let mut seconds = 0;
    for piece in &pieces {
        let piece = RecordPiece::from_bytes(piece).unwrap();
        seconds += usize::from(replica.take(&piece).unwrap().is_some());
    }
    assert_eq!(seconds, 4);
    let files = |folder: PathBuf| {
        let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, std::fs::read(path).unwrap())
            })
            .collect();
        files.sort();
        files
    };
    assert_eq!(
        files(own.path().join("parts/1")),
        files(decoded.path().join("parts/1"))
    );
    let mut late = Replica::new(temporary().path(), 2);
    assert!(
        late.take(&RecordPiece::from_bytes(pieces.last().unwrap()).unwrap())
            .is_err()
    );
    assert!(
        late.take(&RecordPiece::from_bytes(&pieces[2]).unwrap())
            .is_err()
    );
}

#[test]
fn parts_are_merged_and_fuller_copy_is_used() {
    let (first, second, torn, runs) = (temporary(), temporary(), temporary(), temporary());
    recorded(first.path(), share(0, 2), 3, true);
    recorded(second.path(), share(1, 2), 3, true);
    recorded(torn.path(), share(1, 2), 2, false);
    let place = || RunLocation::new(Some(runs.path().to_owned()), 9);
    let bring = |folders: &[&Temporary]| -> Vec<PathBuf> {
        folders
            .iter()
            .map(|folder| folder.path().to_owned())
            .collect()
    };
    for order in [[&torn, &first, &second], [&second, &torn, &first]] {
        let gathered = merge(&bring(&order), &place()).unwrap();
        assert!(gathered.missing.is_empty());
        let run = gathered.run;
        assert_eq!(run.totals.label(label::ALL).slot.counters.issued, 6 * RATE);
        assert_eq!(
            (run.manifest.state, run.manifest.load.planned),
            (RunState::Complete, Some(60 * 3 * RATE))
        );
        assert_eq!(run.nodes.len(), 2);
        assert!(run.damage.is_empty(), "{:?}", run.damage);
    }
    let gathered = merge(&bring(&[&torn]), &place()).unwrap();
    assert_eq!(gathered.missing, [0]);
    assert_eq!(gathered.run.manifest.state, RunState::Interrupted);
    assert_eq!(
        gathered.run.totals.label(label::ALL).slot.counters.issued,
        2 * RATE
    );
    let none = merge(&[runs.path().to_owned()], &place()).unwrap_err();
    assert!(none[0].contains("is not a run record"), "{none:?}");
}

#[test]
fn live_merge_equals_merge_of_records() {
    let (own, decoded) = (temporary(), temporary());
    let mut merger = Merger::new(3);
    let mut issued = 0;
    let mut count = |merged: Vec<cluster::merge::Merged>| {
        for merged in merged {
            let all = merged.decoded.frame.parts.get(&(label::ALL, 0)).unwrap();
            issued += all.slot.counters.issued;
        }
    };
    for node in 0..3 {
        let mut replica = Replica::new(decoded.path(), node);
        for piece in recorded(own.path(), share(node, 3), 5, true) {
            let piece = RecordPiece::from_bytes(&piece).unwrap();
            let unfolded = replica.take(&piece).unwrap();
            if let (RecordPiece::Chunk { in_flight_ages, .. }, Some(unfolded)) = (piece, unfolded) {
                count(merger.take(node, unfolded, in_flight_ages));
            }
        }
        count(merger.ends(node));
    }
    assert_eq!(issued, 15 * RATE);
    let runs = temporary();
    let place = RunLocation::new(Some(runs.path().to_owned()), 1);
    let run: Run = merge(&[decoded.path().to_owned()], &place).unwrap().run;
    assert_eq!(run.totals.label(label::ALL).slot.counters.issued, issued);
}

/// Run it with `cargo test --release -p cluster -- --ignored --nocapture`.
#[test]
#[ignore = "measures: takes the machine for itself"]
fn sixty_four_nodes_take_less_than_a_quarter_of_a_core() {
    const NODES: u64 = 64;
    const SECONDS: u64 = 20;
    let (own, decoded) = (temporary(), temporary());
    let message: Vec<Vec<Vec<u8>>> = (0..NODES)
        .map(|node| recorded(own.path(), share(node, NODES), SECONDS, true))
        .collect();
    let bytes: usize = message.iter().flatten().map(Vec::len).sum();
    let mut replicas: Vec<Replica> = (0..NODES)
        .map(|node| Replica::new(decoded.path(), node))
        .collect();
    let mut merger = Merger::new(NODES);
    let plan = plan();
    let manifest = Manifest::new(&plan, RunContext::default());
    let mut writer = Writer::in_memory(
        &manifest,
        &labels(),
        Redactor::new(&plan, &[], Salt::new([7; 16])),
    );
    let longest = message.iter().map(Vec::len).max().unwrap();
    let before_ns = clock::thread_cpu_ns();
    let mut seconds = 0;
    for at in 0..longest {
        for (node, replica) in (0..).zip(&mut replicas) {
            let Some(piece) = message[node as usize].get(at) else {
                continue;
            };
            let piece = RecordPiece::from_bytes(piece).unwrap();
            let unfolded = replica.take(&piece).unwrap();
            if let (RecordPiece::Chunk { in_flight_ages, .. }, Some(unfolded)) = (piece, unfolded) {
                for merged in merger.take(node, unfolded, in_flight_ages) {
                    seconds += 1;
                    writer.interval_of_parts(merged.decoded);
                }
            }
        }
    }
    let cpu = (clock::thread_cpu_ns() - before_ns) as f64 / 1e9 / SECONDS as f64;
    println!(
        "{NODES} nodes, {NAMES} names, {RATE} requests/s each: {:.1} % of a core, {:.0} kB/s from each node",
        cpu * 100.0,
        bytes as f64 / NODES as f64 / SECONDS as f64 / 1e3
    );
    assert_eq!(seconds, SECONDS);
    assert!(cpu < 0.25, "{cpu}");
}
