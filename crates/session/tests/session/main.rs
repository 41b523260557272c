//! Runs tests through the library: in sequence in one process. The caller stops and observes them.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests are tests"
)]

mod processes;
mod toy;

use std::{path::PathBuf, sync::Arc};

use engine::EngineOptions;
use measure::{Interval, label};
use plan::{FirstArrival, Load, Phase, Plan, Rate, Shape, units::SECOND};
use record::{Run, RunState};
use session::{
    Job, NullSink, Observer, RecentIntervals, RunObserver, RunOutcome, SharedMessageSink,
    StartError, exit, prepare,
};
use worker::{
    OutputLine,
    stop::{Cause, RuleVerdict, StopHandle},
};

struct Runs(PathBuf);

impl Runs {
    fn new(name: &str) -> Runs {
        Runs(std::env::temp_dir().join(format!("loadline-session-{name}-{}", std::process::id())))
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A front end that stops the run after some time and uses native exit codes.
#[derive(Default)]
struct Conductor {
    stop: Option<(StopHandle, Cause)>,
    window: RecentIntervals,
    seen: Option<u64>,
    order: Vec<&'static str>,
}

impl Observer for Conductor {
    fn started(&mut self, run: &Run) {
        assert_eq!(run.manifest.state, RunState::Running);
        self.order.push("started");
    }

    fn interval(&mut self, _: &Interval, _: &Run) {
        if let Some(last) = self.window.last(SECOND, label::ALL) {
            self.seen.get_or_insert(last.ended());
        }
        if let Some((stop, cause)) = &self.stop {
            stop.stop(cause.clone());
        }
    }

    fn line(&mut self, _: &OutputLine) {}
}

impl RunObserver for Conductor {
    fn page(&self, run: &record::Run) -> analysis::page::Page {
        analysis::page::build(run)
    }

    fn observer(&mut self) -> &mut dyn Observer {
        self
    }

    fn not_run(&mut self, error: &StartError) -> u8 {
        exit::of_not_run(error)
    }

    fn files_written(&mut self, report: Option<&std::path::Path>) {
        assert!(report.is_some_and(std::path::Path::is_file));
        self.order.push("kept");
    }

    fn code(&mut self, outcome: &RunOutcome<'_>) -> u8 {
        self.order.push("code");
        exit::code(outcome)
    }
}

fn at_a_rate(address: &str, seconds: u64) -> Plan {
    let target = format!("http://{address}/api/sum?a=1&b=2");
    let options = formats::UrlOptions::default();
    let mut plan: Plan = formats::url_plan(&target, &options).unwrap();
    let phase = Phase::new(seconds * SECOND, Shape::Rate(Rate::per_second(50)));
    plan.load = Load::Open {
        phases: vec![phase],
        first: FirstArrival::AtStart,
    };
    plan
}

fn job(lab: &lab::Lab, runs: &Runs, seconds: u64, stop: &StopHandle) -> Job {
    let plan = at_a_rate(&lab.address().to_string(), seconds);
    Job {
        runs: Some(runs.0.clone()),
        ..Job::new(
            "run",
            plan,
            EngineOptions {
                stop: stop.clone(),
                drain_ns: Some(SECOND),
                ..EngineOptions::default()
            },
        )
    }
}

fn sink() -> SharedMessageSink {
    Arc::new(NullSink)
}

#[test]
fn two_runs_in_one_process_and_the_second_is_stopped_with_a_cause() {
    let lab = lab::Lab::start("sum", &lab::LabOptions::default()).unwrap();
    let runs = Runs::new("two");

    let mut frontend = Conductor::default();
    let first = prepare(job(&lab, &runs, 1, &StopHandle::default()), &sink());
    let code = first.unwrap().conduct(&mut frontend);
    assert_eq!(frontend.order, ["started", "kept", "code"]);
    let run = Run::find(&runs.0, "last").unwrap();
    assert_eq!(run.manifest.state, RunState::Complete);
    assert_eq!(analysis::summarise(&run).requests.issued, 50);
    assert!([exit::PASS, exit::INVALID].contains(&code), "{code}");

    let stop = StopHandle::default();
    let cause = Cause::Rule {
        verdict: RuleVerdict::Fail,
        text: "rate > 1/s".into(),
    };
    let window = RecentIntervals::keeping(10 * SECOND);
    let mut frontend = Conductor {
        stop: Some((stop.clone(), cause.clone())),
        window: window.clone(),
        ..Conductor::default()
    };
    let second = prepare(job(&lab, &runs, 3600, &stop), &sink()).unwrap();
    let ended = second.run_with(&mut frontend, &window).unwrap();
    assert_eq!(ended.cause, Some(cause));
    let code = ended.finish(&mut frontend);
    assert!([exit::FAIL, exit::INVALID].contains(&code), "{code}");
    let run = Run::find(&runs.0, "last").unwrap();
    let end = run.manifest.end.clone().unwrap();
    assert_eq!(run.manifest.state, RunState::Interrupted);
    assert_eq!(end.cause.as_deref(), Some("rule fail"));
    assert_eq!(end.reason.as_deref(), Some("the stop rule `rate > 1/s`"));
    let all = analysis::summarise(&run).requests.issued;
    assert!(all > 0 && all < 3600 * 50, "{all}");
    assert!(frontend.seen.is_some_and(|seen| seen <= all));
}

#[test]
fn extensions_without_a_hook_are_refused() {
    let runs = Runs::new("hookless");
    let lab = lab::Lab::start("truth", &lab::LabOptions::default()).unwrap();
    let mut job = job(&lab, &runs, 1, &StopHandle::default());
    let plan::Step::Request(request) = &mut job.plan.work.scenarios_mut()[0].steps[0] else {
        panic!("it begins with a request")
    };
    request.extension = plan::Extension::new("looked at").ok();
    let refused = prepare(job, &sink()).err().unwrap();
    assert!(refused.bad_input && refused.problems[0].to_string().contains("hooks"));
}

#[test]
fn undecidable_criteria_are_refused_before_the_record() {
    let lab = lab::Lab::start("sum", &lab::LabOptions::default()).unwrap();
    let runs = Runs::new("refused");
    let mut job = job(&lab, &runs, 1, &StopHandle::default());
    let criterion = plan::criteria::parse_criterion("p99 of \"GET /elsewhere\" < 1s");
    job.plan.policy.criteria.push(criterion.unwrap());
    let refused = prepare(job, &sink()).err().unwrap();
    assert!(refused.bad_input && refused.problems.len() == 1);
    assert!(!runs.0.exists());
}
