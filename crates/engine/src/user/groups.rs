//! The groups of a virtual user: steps that are one thing for whoever does them, each with a time of its own in the ledger. How steps
//! are carried out is not its business.

use measure::sample::{Ended, Intended};

use super::{End, User, count, walk::Walked};
use crate::worker::Line;

/// A group under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    /// Its number in the program.
    index: usize,
    /// When its first step was due: at the user's arrival, else when the step before it had ended.
    since: Intended,
    /// For so long the user had paused before.
    paused_ns: u64,
}

impl User<'_> {
    /// The steps that follow are those of a group.
    pub(super) fn begin_group(&mut self, index: usize) {
        let group = &self.program.groups[index];
        let since = self.due;
        let now = self.worker.clock.now();
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.issued(now, group.label, since);
        drop(recorder);
        self.open.push(Open {
            index,
            since,
            paused_ns: self.paused_ns,
        });
        if self.worker.common.walks {
            let begins = Walked::GroupBegins(group.name.clone());
            self.worker.emit(Line::Step(begins));
        }
    }

    /// The group that began last is over.
    pub(super) fn end_group(&mut self, ended: Ended) {
        let Some(open) = self.open.pop() else { return };
        let group = &self.program.groups[open.index];
        let now = self.worker.clock.now();
        let paused_ns = self.paused_ns.saturating_sub(open.paused_ns);
        let mut recorder = self.worker.recorder.borrow_mut();
        let times = (open.since, paused_ns);
        count(
            &mut recorder,
            now,
            (group.label, group.pauses),
            times,
            ended,
        );
        drop(recorder);
        if self.worker.common.walks {
            let took_ns = now.saturating_sub(open.since.ns());
            let ends = Walked::GroupEnds {
                name: group.name.clone(),
                took_ns,
                paused_ns: paused_ns.min(took_ns),
                failed: !matches!(ended, Ended::Ok),
            };
            self.worker.emit(Line::Step(ends));
        }
    }

    /// The user has come to its end: where that was no end of its steps, the groups that it was in end as it did, the innermost first.
    pub(super) fn end_groups(&mut self, result: &Result<(), End>) {
        let ended = result.as_ref().err().map_or(Ended::Ok, End::ended);
        while !self.open.is_empty() {
            self.end_group(ended);
        }
    }
}
