//! Results of a test for Python to print: lines, whether the test failed, and the path of its
//! record.

use std::{
    path::Path,
    sync::{Mutex, PoisonError, mpsc},
};

use analysis::{page::Page, summary::Summary};
use measure::{Fault, Interval, label::LabelGroup};
use plan::{Problem, units::SECOND};
use record::{Run, units};
use report::console::criteria;
use session::{Observer, RunObserver, RunOutcome, StartError, exit};
use worker::OutputLine;

/// Time that requests in flight have to finish after a test.
pub(crate) const DRAIN_NS: u64 = SECOND;

#[derive(Debug, Clone, Default)]
pub struct TestSummary {
    pub lines: Vec<String>,
    pub failed: bool,
    pub record: Option<String>,
}

pub(crate) fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

pub(crate) struct TestObserver<'t> {
    pub summary: &'t Mutex<TestSummary>,
    pub began: Option<mpsc::Sender<Option<String>>>,
}

pub(crate) fn finish_with(finish: impl FnOnce(&mut dyn RunObserver)) -> TestSummary {
    let (reported, began) = (Mutex::default(), None);
    finish(&mut TestObserver {
        summary: &reported,
        began,
    });
    reported
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
}

impl Observer for TestObserver<'_> {
    fn started(&mut self, run: &Run) {
        let place = run.dir.as_ref().map(|dir| dir.display().to_string());
        if let Some(began) = &self.began {
            let _ = began.send(place);
        }
    }

    fn interval(&mut self, _: &Interval, _: &Run) {}

    fn line(&mut self, _: &OutputLine) {}
}

impl TestObserver<'_> {
    fn update(&self, change: impl FnOnce(&mut TestSummary)) {
        change(&mut self.summary.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl RunObserver for TestObserver<'_> {
    fn page(&self, run: &record::Run) -> analysis::page::Page {
        audit::page(run)
    }

    fn observer(&mut self) -> &mut dyn Observer {
        self
    }

    fn not_run(&mut self, cause: &StartError) -> u8 {
        let message = match cause {
            StartError::Refused(refused) => lines(&refused.problems),
            StartError::Before { reason, .. } => vec![reason.clone()],
        };
        self.update(|reported| (reported.lines, reported.failed) = (message, true));
        exit::COULD_NOT_RUN
    }

    fn computed(&mut self, page: &Page) {
        let message = own_lines(&page.summary);
        self.update(|reported| reported.lines.extend(message));
    }

    fn files_written(&mut self, report: Option<&Path>) {
        if let Some(report) = report {
            let line = format!("report {}", report.display());
            self.update(|reported| reported.lines.push(line));
        }
    }

    fn code(&mut self, outcome: &RunOutcome<'_>) -> u8 {
        let failed = exit::is_failed(outcome) || outcome.error.is_some() || !outcome.files_written;
        self.update(|reported| {
            reported.failed |= failed;
            reported.record.clone_from(&outcome.summary.record);
            if let Some(error) = outcome.error {
                reported.lines.push(error.to_string());
            }
        });
        outcome.summary.exit_code
    }
}

fn by_others(summary: &Summary) -> u64 {
    let labels = summary.labels.iter();
    labels
        .filter(|row| row.group == LabelGroup::Script)
        .map(|row| row.count)
        .sum()
}

fn cancelled(summary: &Summary) -> u64 {
    let given_up = summary
        .errors
        .iter()
        .filter(|row| row.reason == Fault::Cancelled.text());
    given_up.map(|row| row.count).sum()
}

fn arrivals(summary: &Summary) -> Vec<String> {
    let ledger = summary.arrivals.as_ref();
    let Some((ledger, planned)) = ledger.and_then(|all| Some((all, all.planned?))) else {
        return Vec::new();
    };
    let mut lines = vec![format!(
        "{} arrivals planned, {} started, {} not started because no user was free",
        units::count(planned),
        units::count(ledger.started),
        units::count(ledger.unsent.unwrap_or(0)),
    )];
    let most = summary.iterations.iter().max_by_key(|row| row.count);
    if let Some((row, stats)) = most.and_then(|row| Some((row, row.iteration.as_ref()?))) {
        lines.push(format!(
            "{} from intended start to end: p50 {} p90 {} p99 {} max {}",
            row.text, stats.p50, stats.p90, stats.p99, stats.max,
        ));
    }
    lines
}

/// Formats the figures that Locust does not report.
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
    lines.extend(arrivals(summary));
    let by_others: u64 = by_others(summary);
    if by_others > 0 {
        lines.push(format!(
            "{} of them were sent and timed by Locust itself or by other clients: only their \
            duration is known",
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
            "script time p50 {} p99 {} max {}; until the script took the response p50 {} p99 {} \
            max {}",
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
