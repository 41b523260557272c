//! Recording of the batch driver: samples, iterations if it is paced, and events for the front
//! end's accumulator.

use std::rc::Rc;

use measure::{
    Failure, LabelId, NoAnswer, Sample, Status,
    accumulator::{Event, Loss},
    sample::{Intended, RequestOutcome},
};

use codec::reply::Reply;
use worker::{
    Worker,
    client::observer::{ExchangeError, ExchangeStage},
};

/// Highest status code that does not count as a failure.
const LAST_GOOD: u16 = 399;

pub(super) struct BatchRecorder {
    pub worker: Rc<Worker>,
    pub label: LabelId,
    pub iteration: Option<LabelId>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub intended: Intended,
    pub started: u64,
    pub since: u64,
    /// Number of outstanding responses that belong to planned arrivals. 0 without a pace.
    pub arrivals: u32,
    pub first_write: Option<u64>,
    /// When the first byte of the current response was read.
    pub first_read: Option<u64>,
    pub bytes_out: u64,
}

/// A response that was not received completely.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PartialResponse {
    /// 0 if the head is incomplete.
    pub status: u16,
    /// Number of bytes read.
    pub bytes: u64,
}

impl Moments {
    pub(super) fn new(intended: Intended, started: u64) -> Moments {
        Moments {
            intended,
            started,
            since: started,
            arrivals: 1,
            first_write: None,
            first_read: None,
            bytes_out: 0,
        }
    }
}

impl BatchRecorder {
    /// Records that requests have started, and how many of them are planned arrivals. The start
    /// must not precede the last sample.
    #[inline]
    pub(super) fn begin(
        &self,
        intended: Intended,
        since: u64,
        now: u64,
        requests: u32,
        arrivals: u32,
    ) {
        let worker = &self.worker;
        worker.requests_began(since, self.label, requests);
        let mut recorder = worker.recorder.borrow_mut();
        for _ in 0..requests {
            recorder.issued(now, self.label, intended);
        }
        if self.iteration.is_some() {
            recorder.run.started += u64::from(arrivals);
        }
    }

    #[inline]
    pub(super) fn answered(&self, moments: &Moments, reply: &Reply, now: u64, last: bool) {
        let ended = if reply.status > LAST_GOOD {
            RequestOutcome::Failed(Failure::Status(reply.status))
        } else {
            RequestOutcome::Ok
        };
        let sample = Sample {
            label: self.label,
            intended: moments.intended,
            started_ns: moments.started,
            first_write_ns: moments.first_write,
            first_read_ns: moments.first_read,
            done_ns: now,
            ended,
            status: Some(Status::Http(reply.status)),
            bytes_out: moments.bytes_out,
            bytes_in: reply.bytes,
            trace: None,
        };
        self.sample(&sample, moments.since, moments.arrivals > 0);
        let event = Event::Answer {
            status: reply.status,
            bytes: reply.bytes,
            last,
            response_ns: sample.response_ns(),
            service_ns: sample.service_ns().unwrap_or(0),
        };
        self.worker.recorder.borrow_mut().frontend(now, &event);
    }

    #[cold]
    pub(super) fn lost(
        &self,
        moments: &Moments,
        lost: ExchangeError,
        left: u32,
        partial: PartialResponse,
        now: u64,
    ) {
        let ExchangeError(fault, stage) = lost;
        for k in 0..left {
            self.sample(
                &Sample {
                    label: self.label,
                    intended: moments.intended,
                    started_ns: moments.started,
                    first_write_ns: moments.first_write,
                    first_read_ns: moments.first_read.filter(|_| k == 0),
                    done_ns: now,
                    ended: RequestOutcome::Unanswered(fault),
                    status: Some(partial.status)
                        .filter(|status| k == 0 && *status > 0)
                        .map(Status::Http),
                    bytes_out: moments.bytes_out,
                    bytes_in: if k == 0 { partial.bytes } else { 0 },
                    trace: None,
                },
                moments.since,
                k < moments.arrivals,
            );
        }
        let how = match (fault.class(), stage) {
            // A request in flight at the end of the run is not an error.
            (NoAnswer::Unfinished, _) => return,
            (_, ExchangeStage::Connect) => Loss::Connect,
            (NoAnswer::Timeout, _) => Loss::Timeout,
            (_, ExchangeStage::Write) => Loss::Write,
            (_, ExchangeStage::Read) => Loss::Read,
        };
        let bytes = partial.bytes;
        self.worker
            .recorder
            .borrow_mut()
            .frontend(now, &Event::Lost { how, bytes });
    }

    #[inline]
    fn sample(&self, sample: &Sample, since: u64, is_arrival: bool) {
        let worker = &self.worker;
        worker.request_ended(sample.done_ns, self.label, since);
        let mut recorder = worker.recorder.borrow_mut();
        recorder.sample(sample);
        if let Some(label) = self.iteration.filter(|_| is_arrival) {
            let ended = match sample.ended {
                RequestOutcome::Failed(_) => RequestOutcome::Ok,
                ended => ended,
            };
            recorder.iteration(sample.done_ns, label, sample.intended, ended);
        }
        if sample.ended != RequestOutcome::Ok && recorder.is_first(sample.label, sample.ended) {
            recorder.first(sample, String::new());
        }
    }
}
