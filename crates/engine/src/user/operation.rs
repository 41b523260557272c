//! Operations of a user: actions with an intended start, an end and an outcome. Requests, WebSocket
//! steps and Socket.IO steps are operations.

use measure::{Fault, LabelId, Sample, interval::FailureDetail, sample::Intended};

use super::{IterationAbort, User};

/// An operation in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub label: LabelId,
    pub intended: Intended,
    /// When the worker picked up the operation, in nanoseconds from the start of the run.
    pub started_ns: u64,
}

impl User<'_> {
    /// Starts the operation that is due. It counts as in flight from now on. Fails if the run may
    /// not send any more.
    pub(super) fn begin(&self, label: LabelId) -> Result<Operation, IterationAbort> {
        let worker = self.worker;
        let intended = self.due;
        let started_ns = worker.clock.now();
        if worker.is_without_lease(started_ns) {
            return Err(IterationAbort::Fault(Fault::Unfinished, None));
        }
        worker.requests_began(started_ns, label, 1);
        worker
            .recorder
            .borrow_mut()
            .issued(started_ns, label, intended);
        Ok(Operation {
            label,
            intended,
            started_ns,
        })
    }

    /// Ends an operation. The next operation is due at the same time.
    pub(super) fn end(&mut self, operation: Operation, done_ns: u64) {
        self.io.limit.disarm();
        self.worker
            .request_ended(done_ns, operation.label, operation.started_ns);
        self.due = Intended::after_previous(done_ns, 0);
    }

    /// Records the details of a failed operation if it is the first failure of its kind.
    pub(super) fn record_first(&self, sample: &Sample, detail: impl FnOnce() -> FailureDetail) {
        let recorder = &self.worker.recorder;
        let is_first = recorder.borrow().is_first(sample.label, sample.ended);
        if is_first {
            let detail = detail();
            recorder.borrow_mut().first(sample, detail);
        }
    }

    /// Sets the time limit of a step. The default is the time limit of requests.
    pub(super) fn limit(&self, operation: Operation, limit_ns: Option<u64>) {
        let limit_ns = limit_ns.or(self.program.http.timeouts.total_ns);
        let deadline = limit_ns.map_or(worker::deadlines::NEVER, |ns| {
            operation.started_ns.saturating_add(ns)
        });
        self.worker
            .deadlines
            .borrow_mut()
            .limit(&self.io.limit, deadline);
    }

    /// Returns random bytes for the key of a WebSocket connection.
    pub(super) fn random_bytes(&mut self) -> [u8; 16] {
        let [high, low] = [self.rng.next_u64(), self.rng.next_u64()];
        ((u128::from(high) << 64) | u128::from(low)).to_le_bytes()
    }
}
