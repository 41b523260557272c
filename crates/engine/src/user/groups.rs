//! Groups of steps (transactions) of a virtual user, and their times.

use measure::sample::{Intended, RequestOutcome};

use super::{IterationAbort, IterationTiming, User, count};
use worker::OutputLine;
use worker::step_trace::StepTrace;

#[derive(Debug, Clone, Copy)]
pub(super) struct OpenGroup {
    index: usize,
    /// Due time of the group's first step: the user's arrival, or the end of the previous step.
    since: Intended,
    /// Total duration of the user's pauses before the group started.
    paused_ns: u64,
}

impl User<'_> {
    pub(super) fn begin_group(&mut self, index: usize) {
        let group = &self.program.groups[index];
        let since = self.due;
        let now = self.worker.clock.now();
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.issued(now, group.label, since);
        drop(recorder);
        self.open.push(OpenGroup {
            index,
            since,
            paused_ns: self.paused_ns,
        });
        if self.worker.common.walks {
            let begins = StepTrace::GroupBegins(group.name.clone());
            self.worker.emit(OutputLine::Step(begins));
        }
    }

    pub(super) fn end_group(&mut self, ended: RequestOutcome) {
        let Some(open) = self.open.pop() else { return };
        let group = &self.program.groups[open.index];
        let now = self.worker.clock.now();
        let paused_ns = self.paused_ns.saturating_sub(open.paused_ns);
        let mut recorder = self.worker.recorder.borrow_mut();
        let timing = IterationTiming {
            label: group.label,
            pauses: group.pauses,
            intended: open.since,
            paused_ns,
        };
        count(&mut recorder, now, timing, ended);
        drop(recorder);
        if self.worker.common.walks {
            let took_ns = now.saturating_sub(open.since.ns());
            let ends = StepTrace::GroupEnds {
                name: group.name.clone(),
                took_ns,
                paused_ns: paused_ns.min(took_ns),
                failed: !matches!(ended, RequestOutcome::Ok),
            };
            self.worker.emit(OutputLine::Step(ends));
        }
    }

    pub(super) fn end_groups(&mut self, result: &Result<(), IterationAbort>) {
        let ended = result
            .as_ref()
            .err()
            .map_or(RequestOutcome::Ok, IterationAbort::ended);
        while !self.open.is_empty() {
            self.end_group(ended);
        }
    }
}
