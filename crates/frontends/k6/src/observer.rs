//! Prints a run as k6 does, and determines the exit code.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use analysis::page::Page;
use k6::{
    exit::{NO_ITERATIONS_WARNING, RunError},
    log::Level,
};
use measure::ScriptThreshold;
use record::Run;
use script::k6::SummaryOutput;
use session::{Observer, RunObserver, RunOutcome, SharedMessageSink, StartError, exit};

use crate::{command::INVALID_CONFIG, screen::Screen, shared::Shared};

/// Signal number of SIGTERM.
const TERMINATED: u8 = 15;

/// The front end during a run.
pub struct K6Observer<'a> {
    screen: Screen<'a>,
}

impl<'a> K6Observer<'a> {
    pub fn new(
        shared: &'a Arc<Shared>,
        script: &'a str,
        sink: &'a SharedMessageSink,
    ) -> K6Observer<'a> {
        K6Observer {
            screen: Screen::new(shared, script, sink),
        }
    }
}

impl RunObserver for K6Observer<'_> {
    fn page(&self, run: &Run) -> Page {
        audit::page(run)
    }

    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.screen
    }

    fn not_run(&mut self, reason: &StartError) -> u8 {
        let lines = match reason {
            StartError::Refused(refused) => {
                refused.problems.iter().map(ToString::to_string).collect()
            }
            StartError::Before { reason, .. } => vec![reason.clone()],
        };
        let lines: Vec<String> = lines;
        lines
            .iter()
            .for_each(|line| self.say(Level::Error, line, &[]));
        INVALID_CONFIG
    }

    fn thresholds(&mut self) -> Vec<ScriptThreshold> {
        let mut outcome = self.screen.shared.outcome();
        let result = outcome.result.as_mut();
        result.map_or_else(Vec::new, |result| std::mem::take(&mut result.thresholds))
    }

    fn files_written(&mut self, report: Option<&Path>) {
        self.screen.erase();
        if let Some(path) = report {
            let text = format!("loadline: report {}", path.display());
            self.say(Level::Info, &text, &[]);
        }
    }

    fn code(&mut self, outcome: &RunOutcome<'_>) -> u8 {
        let shared = self.screen.shared;
        let ended = std::mem::take(&mut *shared.outcome());
        let result = ended.result.unwrap_or_default();
        self.screen.erase();
        for output in &result.outputs {
            self.write(output);
        }
        self.screen.draw();
        self.screen.leave();
        for line in shared.take_outputs().finish() {
            self.say(Level::Error, &line, &[]);
        }
        if shared.progress.completed.load(Relaxed) == 0 {
            self.say(Level::Warning, NO_ITERATIONS_WARNING, &[]);
        }
        let mut reasons: Vec<RunError> = ended.aborted.into_iter().collect();
        match outcome.signal {
            Some(TERMINATED) => reasons.push(RunError::Terminated),
            Some(_) => reasons.push(RunError::Interrupted),
            None => {}
        }
        if let Some(error) = outcome.error {
            reasons.push(RunError::Other(error.to_string()));
        }
        if ended.is_failed {
            reasons.push(RunError::MarkedAsFailed);
        }
        if !result.crossed.is_empty() {
            reasons.push(RunError::ThresholdsCrossed(result.crossed));
        }
        let Some(error) = RunError::decisive(reasons) else {
            // Criteria and stop rules come from the environment and are not part of k6.
            return match exit::is_failed(outcome) {
                true => exit::FAIL,
                false => exit::PASS,
            };
        };
        let fields: Vec<(&str, &str)> = error
            .hint()
            .map(|hint| ("hint", hint))
            .into_iter()
            .collect();
        self.say(Level::Error, &error.message(), &fields);
        error.exit_code()
    }
}

impl K6Observer<'_> {
    fn say(&self, level: Level, text: &str, fields: &[(&str, &str)]) {
        self.screen.shared.logger.write(level, text, fields);
    }

    /// Writes one output of the summary.
    fn write(&self, output: &SummaryOutput) {
        let text = || String::from_utf8_lossy(&output.content);
        match output.target.as_str() {
            "stdout" => self.screen.sink.out(&text()),
            "stderr" => self.screen.sink.say(&text()),
            path => {
                if let Err(error) = std::fs::write(path, &output.content) {
                    let text = "failed to handle the end-of-test summary";
                    let error = format!("{path}: {error}");
                    self.say(Level::Error, text, &[("error", &error)]);
                }
            }
        }
    }
}
