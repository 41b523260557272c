//! A test of Locust's while it runs: a session behind a bridge, on a thread of its own. Whoever holds it sends requests over the bridge
//! and says when the test is over.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::JoinHandle,
};

use analysis::{page::Page, summary::Summary};
use engine::{Line, Options, StopHandle, driver::bridge::Bridge};
use measure::{Fault, Interval, label::Group};
use plan::{
    Format, Load, Plan, Problem, Work,
    criteria::parse_criterion,
    units::{DAY, SECOND},
    work::External,
};
use record::{Run, units};
use report::console::criteria;
use session::{
    Door, Hosts, Job, NotRun, Observer, Outcome, SharedVoice, exit, inputs, live, prepare,
};

/// Criteria, separated by semicolons or lines.
const CHECKS: &str = "LOADLINE_CHECK";
/// Who decides.
const LOCUST: &str = "locust";
/// What is under way when the test is over has been given up by Locust already.
const DRAIN_NS: u64 = SECOND;

/// What is known of a test before it starts.
#[derive(Debug, Clone, Default)]
pub struct Test {
    /// The base host, as the first user class has it.
    pub target: Option<String>,
    /// So many users at most, as far as anybody knows.
    pub users: u32,
    /// For so long, if somebody said so.
    pub duration_ns: Option<u64>,
    /// The test's files.
    pub files: Vec<String>,
    /// User classes with their weights, and whatever else tells this test from another.
    pub settings: Vec<(String, String)>,
}

/// How a test came out.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// What there is to say of it, line by line.
    pub lines: Vec<String>,
    /// Whether a criterion failed or could not be decided.
    pub failed: bool,
    /// Where its record is.
    pub record: Option<String>,
}

/// A test that runs.
#[derive(Debug)]
pub struct Running {
    bridge: Arc<Bridge>,
    thread: JoinHandle<Told>,
    /// Where the record is, from the start.
    pub record: Option<String>,
}

impl Running {
    /// Starts it: requests may be sent when this returns.
    ///
    /// # Errors
    /// Why it cannot start, a line each.
    pub fn begin(test: &Test, voice: &SharedVoice) -> Result<Running, Vec<String>> {
        let refused = |line: String| vec![line];
        let (exports, live) = live::beside_a_door().map_err(refused)?;
        let seed = inputs::seed_beside_a_door().map_err(|line| refused(line.to_owned()))?;
        let (bridge, driver) = Bridge::new(1).map_err(|error| refused(error.to_string()))?;
        let bridge = Arc::new(bridge);
        let options = Options {
            workers: Some(1),
            seed,
            drain_ns: Some(DRAIN_NS),
            driver: Some(driver),
            stop: StopHandle::default(),
            ..Options::default()
        };
        let job = Job {
            hosts: Hosts::BesideDoor,
            hears_signals: false,
            live,
            exports,
            never_checks: true,
            ..Job::new(LOCUST, plan(test)?, options)
        };
        let ready = prepare(job, voice).map_err(|why| lines(&why.problems))?;
        let (began, begun) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("session".into())
            .spawn(move || {
                let told = Mutex::new(Told::default());
                let mut door = Behind { told: &told, began };
                ready.conduct(&mut door);
                told.into_inner().unwrap_or_else(PoisonError::into_inner)
            })
            .map_err(|error| refused(format!("no thread for the test: {error}")))?;
        let Ok(record) = begun.recv() else {
            // It ended before it began, and its thread knows why.
            let told = thread.join().unwrap_or_default();
            return Err(told.lines);
        };
        Ok(Running {
            bridge,
            thread,
            record,
        })
    }

    /// The way to the engine.
    #[must_use]
    pub fn bridge(&self) -> &Arc<Bridge> {
        &self.bridge
    }

    /// Ends it, and tells how it came out.
    #[must_use]
    pub fn end(self) -> Told {
        self.bridge.end();
        self.thread.join().unwrap_or(Told {
            lines: vec!["the engine's thread died: the record ends where it did".to_owned()],
            failed: true,
            record: self.record,
        })
    }
}

fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

fn plan(test: &Test) -> Result<Plan, Vec<String>> {
    let load = Load::Closed {
        users: test.users.max(1),
        duration_ns: test.duration_ns.unwrap_or(DAY).min(99 * DAY),
    };
    let work = Work::External(External { by: LOCUST.into() });
    let name = test.files.first().map_or(LOCUST, String::as_str);
    let name = Path::new(name)
        .file_stem()
        .map_or(name.into(), |stem| stem.to_string_lossy().into_owned());
    let target = test.target.clone().unwrap_or_default();
    let mut plan = Plan::new(name, Format(LOCUST), target, load, work);
    // Time-outs are each request's own.
    plan.http.timeouts.total_ns = None;
    plan.http.cookie_jar = false;
    let settings = test.settings.iter();
    plan.door_settings = settings
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let checks = std::env::var(CHECKS).unwrap_or_default();
    for text in checks.split([';', '\n']).map(str::trim) {
        if text.is_empty() {
            continue;
        }
        let criterion =
            parse_criterion(text).map_err(|error| vec![format!("{CHECKS}: {}", error)])?;
        plan.criteria.push(criterion);
    }
    Ok(plan)
}

/// Nobody but Python prints: what there is to say is kept for it.
struct Behind<'t> {
    told: &'t Mutex<Told>,
    began: mpsc::Sender<Option<String>>,
}

impl Observer for Behind<'_> {
    fn started(&mut self, run: &Run) {
        let place = run.dir.as_ref().map(|dir| dir.display().to_string());
        // Whoever waits for it cannot have gone.
        let _ = self.began.send(place);
    }

    fn interval(&mut self, _: &Interval, _: &Run) {}

    fn line(&mut self, _: &Line) {}
}

impl Behind<'_> {
    fn tell(&self, change: impl FnOnce(&mut Told)) {
        change(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Door for Behind<'_> {
    fn observer(&mut self) -> &mut dyn Observer {
        self
    }

    fn not_run(&mut self, why: &NotRun) -> u8 {
        let said = match why {
            NotRun::Refused(refused) => lines(&refused.problems),
            NotRun::Before { why, .. } => vec![why.clone()],
        };
        self.tell(|told| (told.lines, told.failed) = (said, true));
        exit::COULD_NOT_RUN
    }

    fn computed(&mut self, page: &Page) {
        let said = own_lines(&page.summary);
        self.tell(|told| told.lines.extend(said));
    }

    fn kept(&mut self, report: Option<&Path>) {
        if let Some(report) = report {
            let line = format!("report {}", report.display());
            self.tell(|told| told.lines.push(line));
        }
    }

    fn code(&mut self, outcome: &Outcome<'_>) -> u8 {
        let failed = matches!(
            outcome.summary.exit_code,
            exit::FAIL | exit::INCONCLUSIVE | exit::INVALID
        ) && !outcome.summary.criteria.is_empty();
        self.tell(|told| {
            told.failed |= failed;
            told.record.clone_from(&outcome.summary.record);
            if let Some(error) = outcome.error {
                told.lines.push(error.to_string());
            }
        });
        outcome.summary.exit_code
    }
}

/// Requests that did not go over the bridge.
fn by_others(summary: &Summary) -> u64 {
    let labels = summary.labels.iter();
    labels
        .filter(|row| row.group == Group::Script)
        .map(|row| row.count)
        .sum()
}

/// Requests that were given up with their users; the class they are in has others in it.
fn cancelled(summary: &Summary) -> u64 {
    let given_up = summary
        .errors
        .iter()
        .filter(|row| row.reason == Fault::Cancelled.text());
    given_up.map(|row| row.count).sum()
}

/// What Locust does not say: exact percentiles of what the server did, how long scripts were kept waiting, whether it can be trusted.
fn own_lines(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    let requests = &summary.requests;
    let cancelled = match cancelled(summary) {
        0 => String::new(),
        n => format!(
            ", {} of them cancelled when their users were stopped",
            units::count(n)
        ),
    };
    lines.push(format!(
        "{} requests issued{cancelled}",
        units::count(requests.issued)
    ));
    let by_others: u64 = by_others(summary);
    if by_others > 0 {
        lines.push(format!(
            "{} of them were sent and timed by Locust itself or by other clients: of these only how long they took is known",
            units::count(by_others)
        ));
    }
    if let Some(stats) = &summary.all.service {
        lines.push(format!(
            "service time p50 {} p90 {} p99 {} p99.9 {} max {}",
            stats.p50, stats.p90, stats.p99, stats.p999, stats.max,
        ));
    }
    if let (Some(script), Some(lag)) = (&summary.script, &summary.lag) {
        lines.push(format!(
            "as the script saw it p50 {} p99 {} max {}; an answer waited for the script p50 {} p99 {} max {}",
            script.p50, script.p99, script.max, lag.p50, lag.p99, lag.max,
        ));
    }
    lines.extend(criteria(&summary.criteria).lines().map(str::to_owned));
    for note in &summary.notes {
        lines.push(note.clone());
    }
    if let Some(measurement) = &summary.measurement {
        lines.push(measurement.line());
    }
    lines
}
