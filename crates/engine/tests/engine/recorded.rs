//! Stores the output of a run for tests.

use engine::Sink;
use measure::{Interval, Slot};
use plan::Raw;
use worker::OutputLine;

#[derive(Default)]
pub(crate) struct RecordedRun {
    pub(crate) intervals: Vec<Interval>,
    pub(crate) lines: Vec<OutputLine>,
}

impl Sink for RecordedRun {
    fn interval(&mut self, interval: Interval) {
        self.intervals.push(interval);
    }

    fn line(&mut self, line: Raw<OutputLine>) {
        self.lines.push(line.into_exposed());
    }
}

impl RecordedRun {
    pub(crate) fn total(&self, id: u16) -> Slot {
        self.intervals
            .iter()
            .fold(Slot::default(), |mut sum, interval| {
                sum.add(&interval.label(id));
                sum
            })
    }

    pub(crate) fn arrivals(&self) -> (u64, u64, u64) {
        let sum = |f: fn(&Interval) -> u64| self.intervals.iter().map(f).sum();
        (
            sum(|i| i.run.due),
            sum(|i| i.run.started),
            sum(|i| i.run.skipped),
        )
    }
}
