//! Callbacks of a front end. It observes the run, prints it in its tool's format and decides the
//! exit code.

use std::path::Path;

use analysis::{page::Page, summary::Summary};
use engine::RunError;
use measure::Interval;
use record::Run;
use worker::{OutputLine, stop::Cause};

use crate::{FinishedRun, StartError, exit};

/// Observes a run.
pub trait Observer: Send {
    /// The run is about to start.
    fn started(&mut self, run: &Run);
    /// An interval is complete and recorded.
    fn interval(&mut self, interval: &Interval, run: &Run);
    /// A scenario or a trace prints a line. Secrets in traces are already hidden.
    fn line(&mut self, line: &OutputLine);
}

/// A front end during a run. The methods are called in this order.
pub trait RunObserver {
    /// Returns the observer for the run.
    fn observer(&mut self) -> &mut dyn Observer;
    /// There is no load. Returns the exit code.
    fn not_run(&mut self, reason: &StartError) -> u8;
    /// The load has ended and is recorded. Nothing is computed yet.
    fn ended(&mut self, _ended: &FinishedRun) {}
    /// Computes the results of the run.
    fn page(&self, run: &Run) -> Page;
    /// All results are computed.
    fn computed(&mut self, _page: &Page) {}
    /// Derived files were written. Receives the report's path if there is one.
    fn files_written(&mut self, _report: Option<&Path>) {}
    /// Everything was written. Prints the last lines and returns the exit code.
    fn code(&mut self, outcome: &RunOutcome<'_>) -> u8;
    /// Exit code if `teardown` is all that failed.
    fn after_failed(&self) -> u8 {
        exit::PASS
    }
}

/// Result of a run, for its exit code.
#[derive(Debug)]
pub struct RunOutcome<'a> {
    /// The record of the run.
    pub run: &'a Run,
    /// All figures, and the verdict.
    pub summary: &'a Summary,
    /// What ended the run early, if anything.
    pub cause: Option<&'a Cause>,
    /// The signal that ended the run, if any. The stop button counts as Ctrl-C.
    pub signal: Option<u8>,
    /// Why the engine could not complete the run, if it could not.
    pub error: Option<&'a RunError>,
    /// Whether all requested files were written.
    pub files_written: bool,
    /// Whether a lost process makes the run invalid.
    pub strict: bool,
}
