//! Arrivals that a bridge reports when they are due, and records as iterations from their intended
//! start.

use std::{cell::RefCell, collections::HashMap};

use measure::{
    Fault, LabelId,
    label::LabelGroup,
    sample::{Intended, RequestOutcome},
};
use worker::Worker;

/// An arrival that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Number of the arrival in the run.
    pub number: u64,
    /// Intended start, on `CLOCK_MONOTONIC`.
    pub intended_ns: u64,
}

/// The started arrivals by number, with their label and intended start.
#[derive(Debug, Default)]
pub struct StartedArrivals(RefCell<HashMap<u64, (LabelId, u64)>>);

impl StartedArrivals {
    /// Records that an arrival has started, under a label with this name.
    pub fn begin(&self, worker: &Worker, due: Due, name: &str) {
        let label = worker.label(LabelGroup::Iteration, "", name);
        let intended_ns = due.intended_ns.saturating_sub(worker.clock.absolute(0));
        worker.recorder.borrow_mut().run.started += 1;
        self.0.borrow_mut().insert(due.number, (label, intended_ns));
    }

    /// Records that an arrival has ended.
    pub fn end(&self, worker: &Worker, number: u64, ended: RequestOutcome, at_ns: u64) {
        let Some((label, intended_ns)) = self.0.borrow_mut().remove(&number) else {
            return;
        };
        let at_ns = at_ns
            .saturating_sub(worker.clock.absolute(0))
            .max(intended_ns);
        let mut recorder = worker.recorder.borrow_mut();
        recorder.iteration(at_ns, label, Intended::scheduled(intended_ns), ended);
    }

    /// Ends all started arrivals, because nothing will report their ends.
    pub fn abandon(&self, worker: &Worker) {
        let numbers: Vec<u64> = self.0.borrow().keys().copied().collect();
        let now = worker.clock.absolute(worker.clock.now());
        for number in numbers {
            self.end(
                worker,
                number,
                RequestOutcome::Unanswered(Fault::Unfinished),
                now,
            );
        }
    }
}
