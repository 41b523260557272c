//! What a front door has to say of a run: it hears of it while it goes on, shows it in its tool's own words, and decides the exit code.
//! When it is asked is the pipeline's business; a door has no pipeline of its own.

use std::path::Path;

use analysis::{page::Page, summary::Summary};
use engine::{Cause, OutputLine, RunError};
use measure::Interval;
use record::Run;

use crate::{FinishedRun, StartError, exit};

/// Hears of a run while it goes on.
pub trait Observer: Send {
    /// The run is about to start.
    fn started(&mut self, run: &Run);
    /// An interval is complete and written.
    fn interval(&mut self, interval: &Interval, run: &Run);
    /// A scenario or a trace prints something; secrets in traces are hidden already.
    fn line(&mut self, line: &OutputLine);
}

/// A front door: shows a run and gives it its code. Asked in the order of these.
pub trait RunObserver {
    /// Who hears of the run while it goes on.
    fn observer(&mut self) -> &mut dyn Observer;
    /// There is no load: why, and with which code that ends.
    fn not_run(&mut self, why: &StartError) -> u8;
    /// The load is over and recorded; nothing is computed of it yet.
    fn ended(&mut self, _ended: &FinishedRun) {}
    /// Computes what is shown of the run.
    fn page(&self, run: &Run) -> Page;
    /// Everything that is shown is computed.
    fn computed(&mut self, _page: &Page) {}
    /// What is derived is kept with the record; the report, where there is one.
    fn kept(&mut self, _report: Option<&Path>) {}
    /// Everything is written: the last words, and the code to exit with.
    fn code(&mut self, outcome: &RunOutcome<'_>) -> u8;
    /// The code where everything was well but the steps behind the load; natively nothing that was measured has changed.
    fn after_failed(&self) -> u8 {
        exit::PASS
    }
}

/// How a run came out, for its exit code.
#[derive(Debug)]
pub struct RunOutcome<'a> {
    /// Its record.
    pub run: &'a Run,
    /// Every figure, and the verdict.
    pub summary: &'a Summary,
    /// What ended it early, if something did.
    pub cause: Option<&'a Cause>,
    /// The signal that it ended by; a button counts as Ctrl-C.
    pub signal: Option<u8>,
    /// Why the engine could not carry it through.
    pub error: Option<&'a RunError>,
    /// Whether every file that the user asked for is written.
    pub files_written: bool,
    /// Whether a run that lost one of its processes is to end as one that could not be measured.
    pub strict: bool,
}
