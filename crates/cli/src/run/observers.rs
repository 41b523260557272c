//! Observers that show a run while it is in progress and after it has ended.

use std::path::Path;

use analysis::page::Page;
use measure::{Interval, accumulator::Tally};
use plan::mocks::MockAddress;
use record::Run;
use report::console;
use session::{
    FinishedRun, Observer, RunObserver, RunOutcome, ScriptRun, StartError, exit, mock_process,
};
use worker::OutputLine;

use crate::{log, rerender, shell, terminal::TerminalProgress};

/// Shows a run of Loadline and determines its exit code.
pub(super) struct Native {
    pub(super) progress: ProgressObserver,
    pub(super) script: Option<Box<dyn ScriptRun>>,
    pub(super) opens: bool,
    pub(super) tries: bool,
    pub(super) is_verbose: bool,
    pub(super) is_quiet: bool,
}

impl RunObserver for Native {
    fn page(&self, run: &record::Run) -> analysis::page::Page {
        audit::page(run)
    }

    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.progress
    }

    fn not_run(&mut self, reason: &StartError) -> u8 {
        match reason {
            StartError::Refused(refused) => refused.problems.iter().for_each(log::error),
            StartError::Before { reason, .. } => log::error(reason),
        }
        exit::of_not_run(reason)
    }

    fn ended(&mut self, ended: &FinishedRun) {
        self.progress.screen.end();
        if let Some(script) = &mut self.script {
            script.ended(ended, std::mem::take(&mut self.progress.part));
        }
    }

    fn computed(&mut self, page: &Page) {
        if self.is_quiet {
            return;
        }
        log::summary(&if self.tries {
            console::trial_in(&page.summary, log::columns())
        } else {
            let detail = console::Detail::of(self.is_verbose);
            console::summary_in(&page.summary, log::columns(), detail)
        });
    }

    fn files_written(&mut self, report: Option<&Path>) {
        if !self.is_quiet {
            rerender::report_is_in(report);
        }
        if self.opens
            && let Some(report) = report
        {
            shell::open(report);
        }
    }

    fn after_failed(&self) -> u8 {
        if self.tries { exit::FAIL } else { exit::PASS }
    }

    fn code(&mut self, outcome: &RunOutcome<'_>) -> u8 {
        let trouble = self.script.as_ref().and_then(|script| script.trouble());
        if let Some(trouble) = trouble {
            log::error(trouble);
            return exit::COULD_NOT_RUN;
        }
        if let Some(error) = outcome.error {
            log::error(error);
        }
        // A failed iteration counts as a failure even without criteria.
        let code = match exit::code(outcome) {
            exit::PASS if self.tries && !console::is_through(outcome.summary) => exit::FAIL,
            code => code,
        };
        if !self.tries {
            let line = console::verdict_line(outcome.summary, code, log::columns());
            log::summary(&format!("{line}\n"));
        }
        code
    }
}

/// Shows progress, and stores the figures for a script's `done`.
pub(super) struct ProgressObserver {
    pub(super) mocks: Vec<MockAddress>,
    screen: TerminalProgress,
    part: Tally,
}

impl ProgressObserver {
    pub(super) fn new(is_quiet: bool) -> ProgressObserver {
        ProgressObserver {
            mocks: Vec::new(),
            screen: TerminalProgress::new(is_quiet),
            part: Tally::default(),
        }
    }
}

impl Observer for ProgressObserver {
    fn started(&mut self, run: &Run) {
        if let Err(reason) = mock_process::begin(&self.mocks) {
            log::warning(format_args!(
                "the timeline begins at the first request: {reason}"
            ));
        }
        self.screen.started(run);
    }

    fn interval(&mut self, interval: &Interval, run: &Run) {
        self.screen.interval(interval, run);
        self.part.merge(interval.frontend.clone());
    }

    fn line(&mut self, line: &OutputLine) {
        self.screen.line(line);
    }
}
