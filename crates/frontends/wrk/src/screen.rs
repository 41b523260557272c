//! Observer that prints wrk's live output. Keeps wrk's figures in case the record cannot be
//! written.

use engine::OutputLine;
use measure::{Interval, accumulator::Tally};
use record::Run;
use script::lua;

use session::{Observer, SharedVoice};

use crate::{print, read::WrkCommand};

pub struct Screen<'a> {
    command: &'a WrkCommand,
    voice: &'a SharedVoice,
    pub part: Tally,
}

impl<'a> Screen<'a> {
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
