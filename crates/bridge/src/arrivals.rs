//! Arrivals over a bridge: told to whoever decides outside when they are due, and kept in the ledger from their intended moment as iterations:
//! started when somebody outside takes one up, ended when that one says how. Who takes which is for the other side.

use std::{cell::RefCell, collections::HashMap};

use measure::{
    Fault, LabelId,
    label::LabelGroup,
    sample::{Intended, RequestOutcome},
};
use plan::Schedule;

use crate::serve::WorkerState;
use engine::worker::Worker;

/// An arrival that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Its number among all arrivals of the run.
    pub number: u64,
    /// When it should start, on CLOCK_MONOTONIC.
    pub intended_ns: u64,
}

/// Those that somebody has taken up, by number: under which label, and when they should have started.
#[derive(Debug, Default)]
pub struct StartedArrivals(RefCell<HashMap<u64, (LabelId, u64)>>);

impl StartedArrivals {
    /// Somebody has taken an arrival up, to do what has this name.
    pub fn begin(&self, worker: &Worker, due: Due, name: &str) {
        let label = worker.label(LabelGroup::Iteration, "", name);
        let intended_ns = due.intended_ns.saturating_sub(worker.clock.absolute(0));
        worker.recorder.borrow_mut().run.started += 1;
        self.0.borrow_mut().insert(due.number, (label, intended_ns));
    }

    /// It has ended.
    pub fn end(&self, worker: &Worker, number: u64, ended: RequestOutcome, at_ns: u64) {
        // Whoever says so twice is heard once.
        let Some((label, intended_ns)) = self.0.borrow_mut().remove(&number) else {
            return;
        };
        let at_ns = at_ns
            .saturating_sub(worker.clock.absolute(0))
            .max(intended_ns);
        let mut recorder = worker.recorder.borrow_mut();
        recorder.iteration(at_ns, label, Intended::scheduled(intended_ns), ended);
    }

    /// Nobody outside says any more how the others end.
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

/// Tells of each of this worker's arrivals when it is due.
pub(super) async fn announce(desk: std::rc::Rc<WorkerState>, schedule: Schedule) {
    let worker = &desk.worker;
    let share = worker.share();
    for arrival in schedule.shard(share.index, share.of) {
        if worker.clock.now() < arrival.intended_ns {
            let slept = worker.sleep_until(arrival.intended_ns, &worker.arrivals_end);
            if slept.await.is_err() {
                return;
            }
        } else if worker.arrivals_end.is_aborted() {
            return;
        }
        desk.shared.is_due(Due {
            number: arrival.number,
            intended_ns: worker.clock.absolute(arrival.intended_ns),
        });
        // Far behind schedule nothing above waits.
        tokio::task::coop::consume_budget().await;
    }
}
