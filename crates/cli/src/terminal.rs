//! Shows progress on standard error, as a screen on terminals and otherwise as a line every five
//! seconds.

use measure::{Interval, recent::Recent};
use record::{Model, Run};
use report::console::{self, ScreenModel};
use worker::OutputLine;

use session::Observer;

use crate::{log, status_line, steps};

const PLAIN_EVERY_NS: u64 = 5_000_000_000;

pub struct TerminalProgress {
    is_quiet: bool,
    screen: bool,
    next_plain_ns: u64,
    errors: u64,
    recent: Recent,
}

impl TerminalProgress {
    #[must_use]
    pub fn new(is_quiet: bool) -> TerminalProgress {
        TerminalProgress {
            is_quiet,
            screen: status_line::possible() && !is_quiet,
            next_plain_ns: PLAIN_EVERY_NS,
            errors: 0,
            recent: Recent::default(),
        }
    }

    pub fn end(&mut self) {
        status_line::clear();
    }
}

fn draw(run: &Run, interval: Option<&Interval>) {
    let (columns, _) = status_line::size();
    status_line::draw(&console::screen(&ScreenModel::new(run, interval), columns));
}

impl Observer for TerminalProgress {
    fn started(&mut self, run: &Run) {
        // A single iteration is too short for a screen.
        self.screen &= run.manifest.load.model != Model::Once;
        if self.screen {
            draw(run, None);
        }
    }

    fn interval(&mut self, interval: &Interval, run: &Run) {
        let all = interval.label(measure::label::ALL).counters;
        self.errors += all.errors();
        let recent = self.recent.add(interval);
        if self.screen {
            draw(run, Some(&recent));
        } else if !self.is_quiet && recent.span.to_ns >= self.next_plain_ns {
            self.next_plain_ns = (recent.span.to_ns / PLAIN_EVERY_NS + 1) * PLAIN_EVERY_NS;
            let end_ns = run.manifest.load.known_end_ns().unwrap_or(0);
            log::say(console::progress_line(&recent, end_ns, self.errors));
        }
    }

    fn line(&mut self, line: &OutputLine) {
        match line {
            OutputLine::Log { text, .. } => log::out(&format!("{text}\n")),
            OutputLine::Trace(text) | OutputLine::Text(text) => log::out(text),
            OutputLine::ErrorText(text) => log::say(text),
            OutputLine::Step(walked) => log::summary(&steps::text(walked)),
            OutputLine::Error(_)
            | OutputLine::Secret(_)
            | OutputLine::Remark(_)
            | OutputLine::Negotiated { .. } => {}
        }
    }
}
