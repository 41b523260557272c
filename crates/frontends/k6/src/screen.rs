//! Terminal output: the start, the progress, and the log.

use std::{
    io::IsTerminal as _,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use k6::{
    log::Level,
    progress::{RunState, ScenarioState, columns, init_line, refresh, start_block},
};
use measure::Interval;
use record::Run;
use session::{Observer, SharedMessageSink};
use worker::OutputLine;

use crate::shared::Shared;

/// Assumed width of a terminal whose width is unknown.
const USUAL_COLUMNS: usize = 80;

/// Shows a run on the terminal.
pub struct Screen<'a> {
    pub shared: &'a Arc<Shared>,
    pub sink: &'a SharedMessageSink,
    /// Script as typed.
    script: &'a str,
    is_terminal: bool,
    /// Number of progress lines at the end of the terminal.
    drawn: usize,
    elapsed_ns: u64,
}

impl<'a> Screen<'a> {
    pub fn new(shared: &'a Arc<Shared>, script: &'a str, sink: &'a SharedMessageSink) -> Self {
        Screen {
            shared,
            sink,
            script,
            is_terminal: std::io::stdout().is_terminal(),
            drawn: 0,
            elapsed_ns: 0,
        }
    }

    fn is_quiet(&self) -> bool {
        self.shared.settings.quiet == Some(true)
    }

    /// Removes the progress from a terminal, so that other lines can be written.
    pub fn erase(&mut self) {
        let drawn = std::mem::take(&mut self.drawn);
        if drawn > 0 {
            self.sink.out(&format!("\x1b[{drawn}A\x1b[J"));
        }
    }

    /// Leaves the progress on the terminal as the final state.
    pub fn leave(&mut self) {
        self.drawn = 0;
    }

    /// Draws the progress.
    pub fn draw(&mut self) {
        if self.is_quiet() {
            return;
        }
        self.erase();
        let lines = self.progress();
        self.sink.out(&format!("{}\n", lines.join("\n")));
        if self.is_terminal {
            self.drawn = lines.len();
        }
    }

    fn progress(&self) -> Vec<String> {
        let (plan, progress) = (&self.shared.plan, &self.shared.progress);
        let Some(base_ns) = progress.base_ns() else {
            let initialized = progress.initialized.load(Relaxed);
            return vec![String::new(), init_line(initialized, plan.planned_vus())];
        };
        let elapsed_ns = progress.ended_ns().unwrap_or(self.elapsed_ns);
        let elapsed_ns = elapsed_ns.saturating_sub(base_ns);
        let state = RunState {
            is_paused: false,
            elapsed_ns,
            max_duration_ns: plan.max_duration_ns(),
            active_vus: progress.active_vus(),
            initialized_vus: progress.initialized.load(Relaxed),
            max_vus: plan.max_vus(),
            complete: progress.completed.load(Relaxed),
            interrupted: progress.interrupted.load(Relaxed),
        };
        let scenarios = plan.scenarios.iter().zip(&progress.scenarios);
        let lines = scenarios.map(|(scenario, own)| {
            let state = ScenarioState {
                status: own.status(),
                elapsed_ns,
                active_vus: own.vus.load(Relaxed),
                busy_vus: own.busy.load(Relaxed),
                iterations: own.started.load(Relaxed),
            };
            columns(scenario, &state)
        });
        let lines: Vec<_> = lines.collect();
        let width = self.is_terminal.then(terminal_columns);
        refresh(&state, &lines, width)
    }
}

fn terminal_columns() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.parse().ok());
    columns.unwrap_or(USUAL_COLUMNS)
}

impl Observer for Screen<'_> {
    fn started(&mut self, _: &Run) {
        if !self.is_quiet() {
            let block = start_block(self.script, &self.shared.output_names, &self.shared.plan);
            self.sink.out(&block);
        }
    }

    fn interval(&mut self, interval: &Interval, _: &Run) {
        self.elapsed_ns = interval.span.to_ns;
        // The final state is shown after the summary.
        if self.shared.progress.ended_ns().is_none() {
            self.draw();
        }
    }

    fn line(&mut self, line: &OutputLine) {
        match line {
            OutputLine::ErrorText(text) => {
                self.erase();
                self.shared.logger.write_line(text);
            }
            OutputLine::Text(text) => {
                if let Some(console) = &self.shared.console {
                    console.write_line(text);
                }
            }
            OutputLine::Remark(text) => {
                self.erase();
                self.shared.logger.write(Level::Warning, text, &[]);
            }
            _ => {}
        }
    }
}
