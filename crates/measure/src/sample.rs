//! A sample: the times of one request, including its intended start.

use crate::{Failure, Fault, LabelId, OutcomeClass, TimeKind};

/// When something should start, in nanoseconds from the start of the run.
///
/// It comes from the schedule, or from the previous response plus think time. The actual start is
/// never an intended start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Intended {
    ns: u64,
    paced: bool,
    timed: bool,
}

impl Intended {
    /// Creates the intended start of an arrival or of a paced connection, which the schedule
    /// determines.
    #[must_use]
    pub fn scheduled(ns: u64) -> Intended {
        Intended {
            ns,
            paced: true,
            timed: true,
        }
    }

    /// Creates the intended start of a later step: previous response plus think time.
    #[must_use]
    pub fn after_previous(answer_ns: u64, think_ns: u64) -> Intended {
        Intended {
            ns: answer_ns.saturating_add(think_ns),
            paced: false,
            timed: think_ns > 0,
        }
    }

    /// Nanoseconds from the start of the run.
    #[must_use]
    pub fn ns(self) -> u64 {
        self.ns
    }

    /// Returns the later of two intended starts.
    #[must_use]
    pub fn later(self, other: Intended) -> Intended {
        if other.ns > self.ns { other } else { self }
    }

    /// Whether the worker had to wait for this time (an arrival, or the end of a think time), so
    /// that lateness has a meaning. For steps that follow a response immediately it has none.
    #[must_use]
    pub fn is_timed(self) -> bool {
        self.timed
    }

    /// Whether the schedule determined it.
    #[must_use]
    pub fn is_paced(self) -> bool {
        self.paced
    }
}

/// Result of a request with detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// Answered as expected.
    Ok,
    /// Answered, but status, check or capture is wrong.
    Failed(Failure),
    /// No complete response.
    Unanswered(Fault),
}

impl RequestOutcome {
    /// The class of the outcome.
    #[must_use]
    pub fn outcome(self) -> OutcomeClass {
        match self {
            RequestOutcome::Ok => OutcomeClass::Ok,
            RequestOutcome::Failed(_) => OutcomeClass::Failed,
            RequestOutcome::Unanswered(_) => OutcomeClass::Unanswered,
        }
    }
}

/// A duration that is not a request's: connect, TLS, script time.
#[derive(Debug, Clone, Copy)]
pub struct DurationSample {
    /// Label under which it counts.
    pub label: LabelId,
    /// Intended start of the request to which it belongs.
    pub intended: Intended,
    /// What was timed.
    pub kind: TimeKind,
    /// Class of the result.
    pub outcome: OutcomeClass,
    /// Duration.
    pub ns: u64,
}

/// The moments of one request, in nanoseconds from the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Label under which the sample is counted.
    pub label: LabelId,
    /// When the request should have started.
    pub intended: Intended,
    /// When the worker took up the request.
    pub started_ns: u64,
    /// When the first byte was written. `None` if nothing was written.
    pub first_write_ns: Option<u64>,
    /// When the first byte of the response was read.
    pub first_read_ns: Option<u64>,
    /// When the last byte was read, or the request was given up.
    pub done_ns: u64,
    /// The result.
    pub ended: RequestOutcome,
    /// The status, if a head arrived.
    pub status: Option<u16>,
    /// Bytes written, head and body.
    pub bytes_out: u64,
    /// Bytes read on the wire, head and body.
    pub bytes_in: u64,
}

impl Sample {
    /// Intended start → the worker takes it up.
    #[must_use]
    pub fn lateness_ns(&self) -> u64 {
        self.started_ns.saturating_sub(self.intended.ns())
    }

    /// The worker takes it up → first byte written, or the end if nothing was written.
    #[must_use]
    pub fn wait_ns(&self) -> u64 {
        self.first_write_ns
            .unwrap_or(self.done_ns)
            .saturating_sub(self.started_ns)
    }

    /// First byte written → last byte read. `None` if nothing was written.
    #[must_use]
    pub fn service_ns(&self) -> Option<u64> {
        self.first_write_ns
            .map(|write| self.done_ns.saturating_sub(write))
    }

    /// Lateness + wait + service, exactly.
    #[must_use]
    pub fn response_ns(&self) -> u64 {
        self.lateness_ns() + self.wait_ns() + self.service_ns().unwrap_or(0)
    }
}
