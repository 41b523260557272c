//! The times and the result of one request.

use crate::{Failure, Fault, LabelId, OutcomeClass, SpanContext, Status, TimeKind};

/// The time at which an action should start, in nanoseconds from the start of the run.
///
/// It comes from the schedule, or from the end of the previous response plus think time. It never
/// comes from the actual start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Intended {
    ns: u64,
    paced: bool,
    timed: bool,
}

impl Intended {
    /// Creates an intended start that the schedule determines, for an arrival or a paced
    /// connection.
    #[must_use]
    pub fn scheduled(ns: u64) -> Intended {
        Intended {
            ns,
            paced: true,
            timed: true,
        }
    }

    /// Creates the intended start of a later step: the end of the previous response plus the think
    /// time.
    #[must_use]
    pub fn after_previous(answer_ns: u64, think_ns: u64) -> Intended {
        Intended {
            ns: answer_ns.saturating_add(think_ns),
            paced: false,
            timed: think_ns > 0,
        }
    }

    /// Moves the intended start by time that the test itself spent, for example in a script.
    #[must_use]
    pub fn delayed(self, ns: u64) -> Intended {
        Intended {
            ns: self.ns.saturating_add(ns),
            ..self
        }
    }

    /// Returns the nanoseconds from the start of the run.
    #[must_use]
    pub fn ns(self) -> u64 {
        self.ns
    }

    /// Returns the later of two intended starts.
    #[must_use]
    pub fn later(self, other: Intended) -> Intended {
        if other.ns > self.ns { other } else { self }
    }

    /// Returns whether the worker had to wait for this time: it is an arrival or the end of a think
    /// time. Otherwise the step follows a response immediately, and lateness has no meaning.
    #[must_use]
    pub fn is_timed(self) -> bool {
        self.timed
    }

    /// Returns whether the schedule determined this intended start.
    #[must_use]
    pub fn is_paced(self) -> bool {
        self.paced
    }
}

/// Result of a request, with details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The response meets all expectations.
    Ok,
    /// There is a response, but its status is wrong, or a check or capture failed.
    Failed(Failure),
    /// There is no complete response.
    Unanswered(Fault),
}

impl RequestOutcome {
    /// Returns the class of the outcome.
    #[must_use]
    pub fn outcome(self) -> OutcomeClass {
        match self {
            RequestOutcome::Ok => OutcomeClass::Ok,
            RequestOutcome::Failed(_) => OutcomeClass::Failed,
            RequestOutcome::Unanswered(_) => OutcomeClass::Unanswered,
        }
    }

    /// Returns the result as text: `ok`, or the reason of the error.
    #[must_use]
    pub fn reason(self) -> String {
        match self {
            RequestOutcome::Ok => "ok".to_owned(),
            RequestOutcome::Failed(failure) => failure.to_string(),
            RequestOutcome::Unanswered(fault) => fault.text().to_owned(),
        }
    }
}

/// A duration that is not the time of a request: connect, TLS, script time.
#[derive(Debug, Clone, Copy)]
pub struct DurationSample {
    /// Label under which the duration counts.
    pub label: LabelId,
    /// Intended start of the request that the duration belongs to.
    pub intended: Intended,
    /// Type of time.
    pub kind: TimeKind,
    /// Class of the result.
    pub outcome: OutcomeClass,
    /// Duration in nanoseconds.
    pub ns: u64,
}

/// The times of one request, in nanoseconds from the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Label under which the sample is counted.
    pub label: LabelId,
    /// Intended start of the request.
    pub intended: Intended,
    /// When the worker picked up the request.
    pub started_ns: u64,
    /// When the first byte was written. `None` if nothing was written.
    pub first_write_ns: Option<u64>,
    /// When the first byte of the response was read.
    pub first_read_ns: Option<u64>,
    /// When the last byte was read, or the request was abandoned.
    pub done_ns: u64,
    /// Result of the request.
    pub ended: RequestOutcome,
    /// Status of the response. `None` if the operation ended before the status arrived, or has no
    /// status.
    pub status: Option<Status>,
    /// Number of bytes written, including the head.
    pub bytes_out: u64,
    /// Number of bytes read on the wire, including the head.
    pub bytes_in: u64,
    /// Trace context that the request carried. `None` if the request was not traced.
    pub trace: Option<SpanContext>,
}

impl Sample {
    /// Returns the time from the intended start until the worker picked up the request.
    #[must_use]
    pub fn lateness_ns(&self) -> u64 {
        self.started_ns.saturating_sub(self.intended.ns())
    }

    /// Returns the time from the worker's pick-up of the request to the first byte written. If
    /// nothing was written, returns the time until the end.
    #[must_use]
    pub fn wait_ns(&self) -> u64 {
        self.first_write_ns
            .unwrap_or(self.done_ns)
            .saturating_sub(self.started_ns)
    }

    /// Returns the time from the first byte written to the last byte read. `None` if nothing was
    /// written.
    #[must_use]
    pub fn service_ns(&self) -> Option<u64> {
        self.first_write_ns
            .map(|write| self.done_ns.saturating_sub(write))
    }

    /// Returns the exact sum of lateness, wait and service time.
    #[must_use]
    pub fn response_ns(&self) -> u64 {
        self.lateness_ns() + self.wait_ns() + self.service_ns().unwrap_or(0)
    }
}
