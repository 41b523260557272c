//! Reproduces Artillery's console output and `-o` file exactly, from the front end's figures. Their
//! definitions differ from those of Loadline's own figures.

mod checks;
mod expect;
mod json;
mod layout;
mod metrics;
mod number;
mod periods;
mod rerender;
mod test_run_id;
mod zone;

use crate::plugins::Plugins;
use measure::{Interval, TimeSpan, accumulator::Tally};

pub use checks::CheckReport;
pub use expect::{error_text, judged_text};
use layout::Layout;
use metrics::Metrics;
use periods::Periods;
use record::{Manifest, PhaseFacts, Run};
pub use rerender::{RerenderError, rerendered};
pub use test_run_id::test_run_id;
pub use zone::Zone;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintOptions {
    /// Width in columns: 79, or the width of a narrower terminal, but at least 50.
    pub width: usize,
    pub hidden: Vec<String>,
    pub quiet: bool,
}

impl Default for PrintOptions {
    fn default() -> Self {
        PrintOptions {
            width: 79,
            hidden: Vec::new(),
            quiet: false,
        }
    }
}

/// Artillery's console output for one run. Receives intervals and returns text.
pub struct Console {
    zone: Zone,
    options: PrintOptions,
    wall_start_ns: u64,
    phases: Vec<PhaseFacts>,
    periods: Periods,
    plugins: Plugins,
}

impl Console {
    #[must_use]
    pub fn new(
        manifest: &Manifest,
        plugins: Plugins,
        zone: Zone,
        mut options: PrintOptions,
    ) -> Console {
        let wall_start_ns = manifest.start.wall_ns;
        options.hidden.extend(plugins.hidden.iter().cloned());
        Console {
            zone,
            options,
            wall_start_ns,
            phases: manifest.phases.clone(),
            periods: Periods::new(wall_start_ns),
            plugins,
        }
    }

    #[must_use]
    pub fn begin(&self) -> String {
        let first = self
            .phases
            .first()
            .map(|phase| self.phase_line("started", 0, phase, phase.start_ns));
        self.spoken(first.unwrap_or_default())
    }

    /// Returns the text to print after an interval: starts of phases, and complete periods.
    pub fn interval(&mut self, interval: &Interval) -> String {
        self.take(interval.span, &interval.frontend)
    }

    pub fn finish(&mut self, now_wall_ns: u64) -> String {
        let mut text = self
            .periods
            .finish()
            .map(|period| self.period_text(&period))
            .unwrap_or_default();
        let total = Metrics::from_tally(self.periods.total());
        let began_ms = total.first_at().unwrap_or(now_wall_ns / 1_000_000);
        let lasted_ms = (now_wall_ns / 1_000_000).saturating_sub(began_ms);
        text.push_str(&format!(
            "All VUs finished. Total time: {}\n\n",
            number::total_time(lasted_ms)
        ));
        text.push_str(&self.layout().summary(&self.zone.time(now_wall_ns), &total));
        self.spoken(text)
    }

    #[must_use]
    pub fn json(&self) -> String {
        json::render(&self.periods)
    }

    #[must_use]
    pub fn log_file(&self, path: &str) -> String {
        self.spoken(format!("Log file: {path}\n"))
    }

    #[must_use]
    pub fn outcome(&self) -> CheckReport {
        let outcome = checks::evaluate(&self.plugins, &Metrics::from_tally(self.periods.total()));
        CheckReport {
            text: self.spoken(outcome.text),
            ..outcome
        }
    }

    pub fn replay(
        run: &Run,
        zone: Zone,
        options: PrintOptions,
    ) -> Result<(Console, String), String> {
        let mut console = Console::new(
            &run.manifest,
            Plugins::from_settings(&run.manifest.frontend_settings)?,
            zone,
            options,
        );
        let mut text = console.begin();
        let frontends = run.frontend_parts();
        let empty = Tally::default();
        for row in run.totals.rows.iter() {
            text.push_str(&console.take(row.span, frontends.get(&row.index).unwrap_or(&empty)));
        }
        let end_ns = run
            .manifest
            .end
            .as_ref()
            .map_or_else(|| run.totals.rows.end_ns, |end| end.ns);
        text.push_str(&console.finish(run.manifest.start.wall_ns + end_ns));
        text.push_str(&console.outcome().text);
        Ok((console, text))
    }

    fn take(&mut self, span: TimeSpan, frontend: &Tally) -> String {
        let mut text = String::new();
        for (i, phase) in self.phases.iter().enumerate() {
            if i > 0 && (span.from_ns < phase.start_ns && phase.start_ns <= span.to_ns) {
                text.push_str(&self.phase_line("started", i, phase, phase.start_ns));
            }
            if span.from_ns < phase.end_ns && phase.end_ns <= span.to_ns {
                text.push_str(&self.phase_line("completed", i, phase, phase.end_ns));
            }
        }
        for period in self.periods.push(span, frontend) {
            text.push_str(&self.period_text(&period));
        }
        self.spoken(text)
    }

    fn phase_line(&self, what: &str, index: usize, phase: &PhaseFacts, at_ns: u64) -> String {
        let name = phase.name.as_deref().unwrap_or("unnamed");
        let seconds = || {
            format!(
                "{}s",
                number::decimal((phase.end_ns - phase.start_ns) as f64 / 1e9)
            )
        };
        let duration = if phase.duration_text.is_empty() {
            seconds()
        } else {
            phase.duration_text.clone()
        };
        let time = self.zone.time(self.wall_start_ns + at_ns);
        format!("Phase {what}: {name} (index: {index}, duration: {duration}) {time}\n\n")
    }

    fn period_text(&self, period: &periods::Period) -> String {
        let time = self
            .zone
            .time((period.start_ms + periods::LENGTH_MS) * 1_000_000);
        self.layout()
            .period(&time, &Metrics::from_tally(&period.part))
    }

    fn layout(&self) -> Layout<'_> {
        Layout {
            width: self.options.width.clamp(50, 79),
            hidden: &self.options.hidden,
        }
    }

    fn spoken(&self, text: String) -> String {
        if self.options.quiet {
            String::new()
        } else {
            text
        }
    }
}
