//! Progress on standard error: a screen updated in place on a terminal, a plain line every five seconds elsewhere.

use engine::Line;
use measure::Interval;
use record::{Model, Run};
use report::console::{self, ScreenModel};

use session::Observer;

use crate::{frame, log, steps};

/// How often a log file gets a line.
const PLAIN_EVERY_NS: u64 = 5_000_000_000;

/// Shows a native run's progress.
pub struct Progress {
    /// Whether there is a screen that is updated in place.
    screen: bool,
    last_plain_ns: u64,
    errors: u64,
}

impl Progress {
    /// Progress on standard error.
    #[must_use]
    pub fn new() -> Progress {
        Progress {
            screen: frame::possible(),
            last_plain_ns: 0,
            errors: 0,
        }
    }

    /// Removes the screen.
    pub fn end(&mut self) {
        frame::clear();
    }
}

fn draw(run: &Run, interval: Option<&Interval>) {
    let (columns, _) = frame::size();
    frame::draw(&console::screen(&ScreenModel::of(run, interval), columns));
}

impl Observer for Progress {
    fn started(&mut self, run: &Run) {
        // One iteration is over before anyone has read a screen.
        self.screen &= run.manifest.load.model != Model::Once;
        if self.screen {
            draw(run, None);
        }
    }

    fn interval(&mut self, interval: &Interval, run: &Run) {
        let all = interval.label(measure::label::ALL).counters;
        self.errors += all.errors();
        if self.screen {
            draw(run, Some(interval));
        } else if interval.span.1 >= self.last_plain_ns + PLAIN_EVERY_NS {
            self.last_plain_ns = interval.span.1;
            let end_ns = run.manifest.load.end_ns;
            log::say(console::progress_line(interval, end_ns, self.errors));
        }
    }

    fn line(&mut self, line: &Line) {
        match line {
            Line::Log { text, .. } => log::out(&format!("{text}\n")),
            Line::Trace(text) | Line::Text(text) => log::out(text),
            Line::Step(walked) => log::summary(&steps::text(walked)),
            Line::Error(_) | Line::Secret(_) | Line::Remark(_) => {}
        }
    }
}
