//! Artillery's output during and after a run, and its exit code.

use std::path::{Path, PathBuf};

use analysis::verdict::Judged;
use measure::{Interval, ScriptThreshold};
use record::Run;
use report::console::criteria;
use session::{
    FinishedRun, Observer, RunObserver, RunOutcome, SharedMessageSink, StartError, exit,
};
use worker::OutputLine;

use super::terminal;
use crate::{
    error_names,
    expect::Print,
    plugins::Plugins,
    print::{self, Console, Zone, error_text},
    refusal::{FAILED, WORKER_DIED},
};

const UNEXPECTED: u8 = 21;

pub struct ScreenObserver {
    screen: Screen,
    output: Option<PathBuf>,
    checks: Vec<ScriptThreshold>,
    code: u8,
}

impl ScreenObserver {
    pub fn new(screen: Screen, output: Option<PathBuf>) -> ScreenObserver {
        ScreenObserver {
            screen,
            output,
            checks: Vec::new(),
            code: exit::PASS,
        }
    }
}

impl RunObserver for ScreenObserver {
    fn page(&self, run: &record::Run) -> analysis::page::Page {
        audit::page(run)
    }

    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.screen
    }

    fn not_run(&mut self, cause: &StartError) -> u8 {
        let sink = self.screen.sink.clone();
        match cause {
            StartError::Refused(refused) => {
                refused
                    .problems
                    .iter()
                    .for_each(|problem| sink.error(problem));
                FAILED
            }
            StartError::Before { reason, signal } => {
                sink.error(&reason);
                signal.map_or(FAILED, exit::of_signal)
            }
        }
    }

    fn ended(&mut self, ended: &FinishedRun) {
        let sink = self.screen.sink.clone();
        let quiet = self.screen.quiet;
        let console = self.screen.console.take();
        let mut console = console.unwrap_or_else(|| new_console(&ended.run, &self.screen.plugins));
        let text = console.finish(worker::clock::wall_ns());
        if !quiet {
            sink.out(&text);
        }
        self.code = ended.signal.map_or(exit::PASS, exit::of_signal);
        if let Some(path) = &self.output {
            match std::fs::write(path, console.json()) {
                Ok(()) if quiet => {}
                Ok(()) => sink.out(&console.log_file(&render(path))),
                Err(error) => {
                    sink.error(&format_args!("cannot write {}: {error}", path.display()));
                    self.code = FAILED;
                }
            }
        }
        let outcome = console.outcome();
        sink.out(&outcome.text);
        if self.code == exit::PASS {
            self.code = match &outcome {
                outcome if outcome.is_failed() => FAILED,
                outcome if outcome.unexpected => UNEXPECTED,
                _ => exit::PASS,
            };
        }
        self.checks = outcome.checks;
    }

    fn thresholds(&mut self) -> Vec<ScriptThreshold> {
        std::mem::take(&mut self.checks)
    }

    fn code(&mut self, outcome: &RunOutcome<'_>) -> u8 {
        let sink = self.screen.sink.clone();
        if let Some(stopped) = &outcome.summary.run.stopped {
            sink.say(&format_args!("loadline: stopped by {}", stopped.text));
        }
        // The script's own checks are printed as in the original.
        let own = outcome.summary.criteria.iter();
        let own: Vec<Judged> = own.filter(|one| !one.is_of_script).cloned().collect();
        for line in criteria(&own).lines() {
            sink.say(&format_args!("loadline: {line}"));
        }
        let is_failed = !outcome.files_written || exit::is_failed(outcome);
        if is_failed && self.code == exit::PASS {
            self.code = FAILED;
        }
        if let Some(measurement) = &outcome.summary.measurement {
            sink.say(&format_args!("loadline: {}", measurement.line()));
        }
        if let Some(error) = outcome.error {
            sink.error(&error);
            return WORKER_DIED;
        }
        if let Some(dir) = &outcome.run.dir {
            sink.say(&format_args!("loadline: record {}", dir.display()));
        }
        self.code
    }

    fn after_failed(&self) -> u8 {
        FAILED
    }
}

fn render(path: &Path) -> String {
    path.display().to_string()
}

fn new_console(run: &Run, plugins: &Plugins) -> Console {
    Console::new(
        &run.manifest,
        plugins.clone(),
        Zone::of_machine(),
        print::PrintOptions {
            width: terminal::columns(),
            ..print::PrintOptions::default()
        },
    )
}

pub struct Screen {
    sink: SharedMessageSink,
    quiet: bool,
    plugins: Plugins,
    console: Option<Console>,
}

impl Screen {
    pub fn new(sink: SharedMessageSink, quiet: bool, plugins: Plugins) -> Screen {
        Screen {
            sink,
            quiet,
            plugins,
            console: None,
        }
    }

    fn print(&self) -> Option<Print> {
        self.plugins.expect.and_then(|expect| expect.print)
    }
}

impl Observer for Screen {
    fn started(&mut self, run: &Run) {
        let console = self.console.insert(new_console(run, &self.plugins));
        if !self.quiet {
            self.sink.out(&console.begin());
        }
    }

    fn interval(&mut self, interval: &Interval, _: &Run) {
        if let Some(console) = &mut self.console {
            let text = console.interval(interval);
            if !self.quiet {
                self.sink.out(&text);
            }
        }
    }

    fn line(&mut self, line: &OutputLine) {
        match line {
            OutputLine::Log { text, .. } => self.sink.out(&format!("{text}\n")),
            // `--quiet` does not silence a script's own output.
            OutputLine::Trace(text) | OutputLine::Text(text) => self.sink.out(text),
            OutputLine::ErrorText(text) => self.sink.say(text),
            OutputLine::Error(reason) => {
                if let Some(print) = self.print() {
                    self.sink.out(&error_text(
                        &error_names::error_name(&reason.reason()),
                        print,
                    ));
                }
            }
            OutputLine::Remark(text) => self.sink.warning(text),
            OutputLine::Secret(_) | OutputLine::Step(_) | OutputLine::Negotiated { .. } => {}
        }
    }
}
