use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use measure::{
    Failure, Fault, Intended, Interval, Label, Labels, Recorder, Sample, Status,
    accumulator::{Accumulator, Event, Tally},
    cuts::Cuts,
    interval::Snapshot,
    label::LabelGroup,
    sample::RequestOutcome,
};
use plan::{
    FirstArrival, Format, Load, Note, Phase, Plan, Rate, Shape, Share, criteria::parse_criterion,
    schedule::Arrival,
};
use record::{
    HostSample, Manifest, Run, RunContext, RunEnd, RunLocation, RunState, Writer,
    redact::{Redactor, Salt},
};

pub const SECOND: u64 = 1_000_000_000;
pub const MS: u64 = 1_000_000;
pub const WALL: u64 = 1_795_180_500_300_000_000;

pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("loadline-report-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn plan(criteria: &[&str]) -> Plan {
    let mut warm = Phase::new(2 * SECOND, Shape::Rate(Rate::per_second(10)));
    warm.name = Some("warm".into());
    let peak = Phase {
        name: Some("peak".into()),
        ..Phase::new(SECOND, Shape::Rate(Rate::per_second(20)))
    };
    let load = Load::Open {
        phases: vec![warm, peak],
        first: FirstArrival::AtStart,
    };
    let target = "http://shop.example.test:8080".into();
    let mut plan = Plan::new("shop.yml".into(), Format::NATIVE, target, load, Vec::new());
    plan.policy.criteria = criteria
        .iter()
        .map(|text| parse_criterion(text).unwrap())
        .collect();
    plan.provenance.notes = vec![Note {
        at: None,
        text: "`think: 0.5` is half a second".into(),
    }];
    plan
}

pub fn labels() -> Labels {
    let mut labels = Labels::default();
    labels.id(LabelGroup::Request, "GET", "/cart");
    labels.id(LabelGroup::Request, "POST", "/order");
    labels.id(LabelGroup::Iteration, "", "checkout");
    labels
}

pub fn started() -> RunContext {
    RunContext {
        version: "0.1.0".into(),
        command: vec!["loadline".into(), "run".into(), "shop.yml".into()],
        frontend: "run".into(),
        workers: 1,
        seed: 1,
        wall_ns: WALL,
        monotonic_ns: 5 * SECOND,
        run_id: "4711".into(),
        ..RunContext::default()
    }
}

pub fn sample(
    label: u16,
    intended: Intended,
    service_ns: u64,
    ended: RequestOutcome,
    status: Option<u16>,
) -> Sample {
    let started_ns = intended.ns() + 20_000;
    Sample {
        label,
        intended,
        started_ns,
        first_write_ns: Some(started_ns + 30_000),
        first_read_ns: status.map(|_| started_ns + 30_000 + service_ns / 2),
        done_ns: started_ns + 30_000 + service_ns,
        ended,
        status: status.map(Status::Http),
        bytes_out: 100,
        bytes_in: 500,
        trace: None,
    }
}

#[derive(Default)]
pub struct Every(Tally);

impl Accumulator for Every {
    fn event(&mut self, wall_ns: u64, event: &Event<'_>) {
        let (wall_ms, tally) = (wall_ns / MS, &mut self.0);
        match *event {
            Event::UserStarted { .. } => {
                *tally.counters.entry("users".into()).or_default() += 1;
            }
            Event::Head { sent_wall_ns, .. } => {
                tally.firsts.entry("head".into()).or_insert(wall_ms);
                tally.lasts.insert("head".into(), wall_ms);
                let ms = (wall_ns - sent_wall_ns) as f64 / MS as f64;
                tally.sketches.entry("head".into()).or_default().add(ms);
            }
            _ => {}
        }
    }

    fn take(&mut self) -> Tally {
        std::mem::take(&mut self.0)
    }
}

pub fn snapshots(worker: u64, of: u64) -> Vec<Snapshot> {
    snapshots_with(worker, of, Box::<Every>::default())
}

pub fn snapshots_with(worker: u64, of: u64, frontend: Box<dyn Accumulator>) -> Vec<Snapshot> {
    let schedule = plan(&[]).schedule(1);
    snapshots_of(worker, schedule.shard(worker, of), frontend)
}

pub fn snapshots_of(
    worker: u64,
    arrivals: impl Iterator<Item = Arrival>,
    frontend: Box<dyn Accumulator>,
) -> Vec<Snapshot> {
    let schedule = plan(&[]).schedule(1);
    let cuts = Cuts::new(WALL, schedule.phase_ends());
    let mut recorder = Recorder::new(worker as usize, cuts, labels().all().len(), Some(frontend));
    for arrival in arrivals {
        let at = arrival.intended_ns;
        recorder.advance(at);
        recorder.run.due += 1;
        recorder.run.started += 1;
        recorder.run.in_flight.sample(1 + arrival.number % 3);
        recorder.run.cpu_ns = vec![1000];
        recorder.run.stall_ns = arrival.number;
        recorder.frontend(at, &Event::UserStarted { scenario: 0 });
        let first = sample(
            2,
            Intended::scheduled(at),
            MS + arrival.number * 10_000,
            RequestOutcome::Ok,
            Some(200),
        );
        recorder.issued(at, 2, Intended::scheduled(at));
        recorder.frontend(first.first_write_ns.unwrap(), &Event::RequestSent);
        recorder.sample(&first);
        let sent_wall_ns = WALL + first.first_write_ns.unwrap();
        recorder.frontend(
            first.done_ns,
            &Event::Head {
                step: 2,
                status: 200,
                sent_wall_ns,
                last: true,
                called: None,
                server_ms: None,
            },
        );
        let intended = Intended::after_previous(first.done_ns, 0);
        let (ended, status) = match arrival.number % 20 {
            3 => (RequestOutcome::Failed(Failure::Status(500)), Some(500)),
            7 => (RequestOutcome::Unanswered(Fault::ResponseTimeout), None),
            _ => (RequestOutcome::Ok, Some(201)),
        };
        let second = sample(
            3,
            intended,
            if status.is_none() { 100 * MS } else { 2 * MS },
            ended,
            status,
        );
        recorder.issued(intended.ns(), 3, intended);
        if recorder.is_first(3, ended) {
            recorder.first(
                &second,
                "POST http://shop.example.test:8080/order".to_owned(),
            );
        }
        recorder.sample(&second);
        recorder.iteration(second.done_ns, 4, Intended::scheduled(at), ended);
    }
    recorder.finish(3 * SECOND + 10 * MS);
    recorder.take_full()
}

pub fn intervals() -> Vec<Interval> {
    intervals_with(Box::<Every>::default())
}

pub fn intervals_with(frontend: Box<dyn Accumulator>) -> Vec<Interval> {
    let is_request = |id: u16| id == 2 || id == 3;
    snapshots_with(0, 1, frontend)
        .into_iter()
        .map(|snapshot| Interval::merge(vec![snapshot], 1, is_request))
        .collect()
}

pub fn end() -> RunEnd {
    RunEnd {
        ns: 3 * SECOND + 10 * MS,
        reason: None,
        cause: None,
        record_ends_ns: None,
        recorded_to_ns: None,
        lines: None,
    }
}

pub fn write(runs: &Path, plan: &Plan) -> Run {
    write_all(runs, plan, intervals())
}

pub fn write_all(runs: &Path, plan: &Plan, intervals: Vec<Interval>) -> Run {
    let mut writer = writer(runs, plan, labels().all());
    for interval in intervals {
        assert!(
            writer
                .interval(
                    &interval,
                    &HostSample {
                        host_ns: 0,
                        steal_ns: vec![7],
                        throttled_ns: 3
                    }
                )
                .is_none()
        );
    }
    let (run, warning) = writer.finish(RunState::Complete, end());
    assert!(warning.is_none());
    run
}

pub fn writer_of_all(runs: &Path, plan: &Plan, processes: u64) -> Writer {
    let started = RunContext {
        processes: Some(processes),
        ..started()
    };
    let place = RunLocation::new(Some(runs.to_owned()), 0xbeef);
    let manifest = Manifest::new(plan, started);
    let redactor = Redactor::new(plan, &[], Salt::default());
    Writer::create(&place, &manifest, plan, labels().all(), redactor).unwrap()
}

pub fn writer_of_part(run: &Path, plan: &Plan, labels: &[Label], index: u64, of: u64) -> Writer {
    let started = RunContext {
        share: Some(Share { index, of }),
        ..started()
    };
    let redactor = Redactor::new(plan, &[], Salt::new([index as u8; 16]));
    let manifest = Manifest::new(plan, started);
    Writer::create_part(run, &manifest, plan, labels, redactor, None).unwrap()
}

pub fn writer(runs: &Path, plan: &Plan, labels: &[Label]) -> Writer {
    let place = RunLocation::new(Some(runs.to_owned()), 0xbeef);
    let manifest = Manifest::new(plan, started());
    Writer::create(
        &place,
        &manifest,
        plan,
        labels,
        Redactor::new(plan, &[], Salt::default()),
    )
    .unwrap()
}
