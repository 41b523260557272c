//! Callbacks of a front end. The front end observes the run, prints it in its tool's format and
//! determines the exit code.

use std::path::Path;

use analysis::{page::Page, summary::Summary};
use engine::RunError;
use measure::{Interval, ScriptThreshold};
use record::Run;
use worker::{OutputLine, stop::Cause};

use crate::{FinishedRun, StartError, exit};

/// Observes a run while it is in progress.
pub trait Observer: Send {
    /// Called when the run is about to start.
    fn started(&mut self, run: &Run);
    /// Called when an interval is complete and recorded.
    fn interval(&mut self, interval: &Interval, run: &Run);
    /// Called when a scenario or a trace prints a line. Secrets in traces are already hidden.
    fn line(&mut self, line: &OutputLine);
}

/// The callbacks of a front end during a run, in the order in which they are called.
pub trait RunObserver {
    /// Returns the observer for the run.
    fn observer(&mut self) -> &mut dyn Observer;
    /// Called if there is no load. Returns the exit code.
    fn not_run(&mut self, reason: &StartError) -> u8;
    /// Called when the load has ended and is recorded, before results are computed.
    fn ended(&mut self, _ended: &FinishedRun) {}
    /// Returns the results of the script's thresholds, which become criteria of the report.
    fn thresholds(&mut self) -> Vec<ScriptThreshold> {
        Vec::new()
    }
    /// Computes the results of the run.
    fn page(&self, run: &Run) -> Page;
    /// Called when all results are computed.
    fn computed(&mut self, _page: &Page) {}
    /// Called when the derived files are written, with the path of the report if there is one.
    fn files_written(&mut self, _report: Option<&Path>) {}
    /// Called when all files are written. Prints the last lines and returns the exit code.
    fn code(&mut self, outcome: &RunOutcome<'_>) -> u8;
    /// Returns the exit code for a run in which only `teardown` failed.
    fn after_failed(&self) -> u8 {
        exit::PASS
    }
}

/// The result of a run, which determines its exit code.
#[derive(Debug)]
pub struct RunOutcome<'a> {
    /// Record of the run.
    pub run: &'a Run,
    /// All figures of the run, and the verdict.
    pub summary: &'a Summary,
    /// Cause of an early end, if the run ended early.
    pub cause: Option<&'a Cause>,
    /// Signal that ended the run, if any. The stop button counts as Ctrl-C.
    pub signal: Option<u8>,
    /// Error that prevented the engine from completing the run, if any.
    pub error: Option<&'a RunError>,
    /// Whether all requested files were written.
    pub files_written: bool,
    /// Whether a lost process makes the run invalid.
    pub strict: bool,
}
