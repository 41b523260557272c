//! Prints wrk's live output. Keeps wrk's figures in case the record cannot be written.

use measure::{Interval, accumulator::Tally};
use record::Run;
use script::lua;
use worker::OutputLine;

use session::{Observer, SharedMessageSink};

use crate::{print, read::WrkCommand};

pub struct Screen<'a> {
    command: &'a WrkCommand,
    sink: &'a SharedMessageSink,
    pub part: Tally,
}

impl<'a> Screen<'a> {
    pub fn new(command: &'a WrkCommand, sink: &'a SharedMessageSink) -> Screen<'a> {
        Screen {
            command,
            sink,
            part: Tally::default(),
        }
    }
}

impl Observer for Screen<'_> {
    fn started(&mut self, _: &Run) {
        lua::flush_output();
        let command = self.command;
        self.sink.out(&print::heading(
            &command.url,
            command.duration_ns,
            command.threads,
            command.connections,
        ));
    }

    fn interval(&mut self, interval: &Interval, _: &Run) {
        let lines = print::calibrations(&interval.frontend);
        if !lines.is_empty() {
            lua::flush_output();
            self.sink.out(&lines);
        }
        self.part.merge(interval.frontend.clone());
    }

    fn line(&mut self, _: &OutputLine) {}
}
