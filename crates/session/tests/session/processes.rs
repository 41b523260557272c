use std::{
    io::{Read, Write},
    path::Path,
    pin::Pin,
    process::{Child, Command, Stdio},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use engine::{EngineOptions, driver::Driver};
use measure::{
    Sample, Status,
    label::LabelGroup,
    sample::{Intended, RequestOutcome},
};
use plan::{Load, Plan, Share, Work, units::SECOND, work::External};
use record::{EventKind, Run};
use report::{console, markdown};
use session::{Coordinator, Job, RunPartOrder, divide, prepare};
use worker::{Worker, clock};

use crate::{Conductor, Runs, at_a_rate, sink};

/// A driver that assigns users itself and sends nothing. Process `n` gets ten users for each
/// process up to itself.
struct Dealt(u64);

impl Driver for Dealt {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            for _ in 0..10 * (self.0 + 1) {
                let label = worker.label(LabelGroup::Request, "GET", "/");
                let now = worker.clock.now();
                let intended = Intended::after_previous(now, 0);
                worker.issue(now, label, intended);
                let sample = Sample {
                    label,
                    intended,
                    started_ns: now,
                    first_write_ns: Some(now),
                    first_read_ns: Some(now),
                    done_ns: now,
                    ended: RequestOutcome::Ok,
                    status: Some(Status::Http(200)),
                    bytes_out: 0,
                    bytes_in: 0,
                    trace: None,
                };
                worker.record(&sample, String::new);
            }
        })
    }
}

fn job(target: &str, seconds: u64, number: Option<u64>) -> Job {
    let mut plan: Plan = at_a_rate(target, seconds);
    let mut options = EngineOptions {
        drain_ns: Some(SECOND),
        ..EngineOptions::default()
    };
    if let Some(number) = number {
        plan.work = Work::External(External { by: "test".into() });
        plan.load = Load::users(3, SECOND);
        options.driver = Some(Arc::new(move |_| Box::new(Dealt(number))));
    }
    Job::new("run", plan, options)
}

type StartedPart = (RunPartOrder, String, u64, bool);

#[test]
#[ignore = "one process of several: the tests below start it"]
fn one_process() {
    let mut reported = String::new();
    std::io::stdin().read_to_string(&mut reported).unwrap();
    let Ok((part, target, seconds, dealt)) = serde_json::from_str::<StartedPart>(&reported) else {
        return;
    };
    let number = dealt.then_some(part.share.index);
    let ready = prepare(job(&target, seconds, number).part(part), &sink());
    ready.unwrap().run(&mut Conductor::default()).unwrap();
}

struct Processes(Vec<Child>);

impl Processes {
    fn begin(parent: &Coordinator, target: &str, seconds: u64, dealt: bool) -> Processes {
        Processes::of(parent.parts(), target, seconds, dealt)
    }

    fn of(
        parts: impl Iterator<Item = RunPartOrder>,
        target: &str,
        seconds: u64,
        dealt: bool,
    ) -> Processes {
        let start = |part: RunPartOrder| {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["processes::one_process", "--exact", "--ignored"])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let reported: StartedPart = (part, target.to_owned(), seconds, dealt);
            let reported = serde_json::to_vec(&reported).unwrap();
            child.stdin.take().unwrap().write_all(&reported).unwrap();
            child
        };
        Processes(parts.map(start).collect())
    }

    fn wait(&mut self) -> Vec<bool> {
        let ended = self.0.iter_mut().map(|child| child.wait().unwrap());
        ended.map(|status| status.success()).collect()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn begin(runs: &Runs, job: Job, processes: u64) -> Coordinator {
    let job = Job {
        runs: Some(runs.0.clone()),
        ..job
    };
    let divided = divide(job, processes, &sink()).unwrap();
    divided.begin(SECOND / 2).unwrap()
}

#[test]
fn processes_share_arrivals_and_one_finishes_for_all() {
    let lab = lab::Lab::start("sum", &lab::LabOptions::default()).unwrap();
    let (runs, target) = (Runs::new("processes"), lab.address().to_string());
    let parent = begin(&runs, job(&target, 1, None), 3);
    let mut processes = Processes::begin(&parent, &target, 1, false);
    assert_eq!(processes.wait(), [true, true, true]);
    let ended = parent.ended().unwrap();
    let summary = analysis::summarise(&ended.run);
    let arrivals = summary.arrivals.unwrap();
    assert_eq!((arrivals.planned, arrivals.started), (Some(50), 50));
    assert_eq!((summary.requests.ok, ended.run.processes.len()), (50, 3));
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
    let series = &ended.run.server.series;
    assert!(!series.is_empty() && series.iter().all(|series| series.source == "host"));
    let mut frontend = Conductor::default();
    ended.finish(&mut frontend);
    assert_eq!(frontend.order, ["kept", "code"]);
}

#[test]
fn externally_assigned_users_add_up() {
    let runs = Runs::new("dealt");
    let target = "127.0.0.1:9";
    let parent = begin(&runs, job(target, 1, Some(0)), 2);
    let mut processes = Processes::begin(&parent, target, 1, true);
    assert_eq!(processes.wait(), [true, true]);
    let run = parent.ended().unwrap().run;
    let summary = analysis::summarise(&run);
    assert_eq!((summary.requests.issued, summary.requests.ok), (30, 30));
    assert_eq!(run.manifest.load.users, Some(3));
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
}

#[test]
fn late_process_is_accepted_and_missing_parts_are_named() {
    let runs = Runs::new("late");
    let target = "127.0.0.1:9";
    let mut parent = begin(&runs, job(target, 1, Some(0)), 2);
    let mut late = parent.parts().next().unwrap();
    late.share = Share { index: 2, of: 3 };
    let all: Vec<RunPartOrder> = parent.parts().chain([late]).collect();
    let mut processes = Processes::of(all.into_iter(), target, 1, true);
    assert_eq!(processes.wait(), [true, true, true]);
    parent.remark(EventKind::Unmeasured, "the fourth is somebody else's");
    let run = parent.ended().unwrap().run;
    let summary = analysis::summarise(&run);
    assert_eq!((summary.requests.issued, run.processes.len()), (60, 3));
    assert_eq!(summary.notes, ["the fourth is somebody else's"]);
    let measurement = summary.measurement.unwrap();
    assert_ne!(measurement.verdict, "VALID");
    assert!(measurement.reasons.contains(&summary.notes[0]));
}

#[test]
fn killed_process_is_named_and_its_last_arrivals_are_unknown() {
    let lab = lab::Lab::start("sum", &lab::LabOptions::default()).unwrap();
    let (runs, target) = (Runs::new("killed"), lab.address().to_string());
    let mut parent = begin(&runs, job(&target, 4, None), 2);
    let mut processes = Processes::begin(&parent, &target, 4, false);
    let run = parent.parts().next().unwrap().run;
    wait_until_arrivals_are_recorded(&run.join("parts/1"));
    processes.0[1].kill().unwrap();
    assert_eq!(processes.wait(), [true, false]);
    parent.look();
    let run = parent.ended().unwrap().run;
    let summary = analysis::summarise(&run);
    let arrivals = summary.arrivals.clone().unwrap();
    assert_eq!(arrivals.planned, Some(200));
    assert_eq!(arrivals.unsent, Some(0));
    assert!((1..100).contains(&arrivals.unknown), "{arrivals:?}");
    assert_eq!(arrivals.started + arrivals.unknown, 200);
    assert!(arrivals.adds_up && summary.requests.adds_up);
    let named = "process 2 of 2 did not finish";
    let page = analysis::page::build(&run);
    for text in [
        console::summary_text(&summary),
        markdown::render(&page).text,
    ] {
        assert!(text.contains(named), "{text}");
    }
    let measurement = summary.measurement.unwrap();
    assert_eq!(measurement.verdict, "INVALID");
    assert!(
        measurement
            .line()
            .contains("1 of 2 processes did not finish")
    );
    let again = Run::find(&runs.0, "last").unwrap();
    assert_eq!(again.lost().count(), 1);
}

fn wait_until_arrivals_are_recorded(part: &Path) {
    let until = clock::monotonic_ns() + 30 * SECOND;
    while clock::monotonic_ns() < until {
        let counters = std::fs::read_to_string(part.join("counters.jsonl")).unwrap_or_default();
        let lines = counters
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let started = lines.filter_map(|line| line["run"]["arrivals"]["started"].as_u64());
        if started.sum::<u64>() > 0 {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("no arrivals came");
}
