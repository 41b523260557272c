//! Hears of a run behind wrk's door: prints what wrk prints meanwhile, and keeps wrk's own figures for the report - the record has
//! them too, but a record that could not be written must not cost anyone the report.

use engine::OutputLine;
use measure::{Interval, accumulator::Tally};
use record::Run;
use script::lua;

use session::{Observer, SharedVoice};

use crate::{print, read::WrkCommand};

/// Prints what wrk prints while the test runs.
pub struct Screen<'a> {
    command: &'a WrkCommand,
    voice: &'a SharedVoice,
    /// wrk's figures so far.
    pub part: Tally,
}

impl<'a> Screen<'a> {
    /// For a command.
    pub fn new(command: &'a WrkCommand, voice: &'a SharedVoice) -> Screen<'a> {
        Screen {
            command,
            voice,
            part: Tally::default(),
        }
    }
}

impl Observer for Screen<'_> {
    fn started(&mut self, _: &Run) {
        lua::flush_output();
        let command = self.command;
        self.voice.out(&print::heading(
            &command.url,
            command.duration_ns,
            command.threads,
            command.connections,
        ));
    }

    fn interval(&mut self, interval: &Interval, _: &Run) {
        let lines = print::calibrations(&interval.door);
        if !lines.is_empty() {
            lua::flush_output();
            self.voice.out(&lines);
        }
        self.part.merge(interval.door.clone());
    }

    fn line(&mut self, _: &OutputLine) {}
}
