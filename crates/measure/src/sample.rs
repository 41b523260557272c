//! A sample: the moments of one request. It cannot be built without its intended time.

use crate::{Failure, Fault, LabelId, Outcome};

/// When something should have started, in nanoseconds from the start of the test.
///
/// There are two ways to have one: the schedule says so, or it is due a think time after the previous answer. Nothing
/// else may be called intended; in particular not the moment at which somebody got round to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Intended {
    ns: u64,
    paced: bool,
    timed: bool,
}

impl Intended {
    /// An arrival's (or a paced connection's) intended start, from the schedule.
    #[must_use]
    pub fn scheduled(ns: u64) -> Intended {
        Intended {
            ns,
            paced: true,
            timed: true,
        }
    }

    /// A later step of a virtual user: the previous answer plus the think time.
    #[must_use]
    pub fn after_previous(answer_ns: u64, think_ns: u64) -> Intended {
        Intended {
            ns: answer_ns.saturating_add(think_ns),
            paced: false,
            timed: think_ns > 0,
        }
    }

    /// Nanoseconds from the start of the test.
    #[must_use]
    pub fn ns(self) -> u64 {
        self.ns
    }

    /// The later one of two.
    #[must_use]
    pub fn later(self, other: Intended) -> Intended {
        if other.ns > self.ns { other } else { self }
    }

    /// Whether somebody had to wait for this moment, so that being late for it means something. A step that follows the
    /// previous answer at once is never late: it would only dilute the lateness of those that can be.
    #[must_use]
    pub fn is_timed(self) -> bool {
        self.timed
    }

    /// Whether the schedule set it.
    #[must_use]
    pub fn is_paced(self) -> bool {
        self.paced
    }
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Answered as it should be.
    Ok,
    /// Answered, and refused by status, check or capture.
    Failed(Failure),
    /// No complete answer.
    Unanswered(Fault),
}

impl Ended {
    /// The class of the outcome.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self {
            Ended::Ok => Outcome::Ok,
            Ended::Failed(_) => Outcome::Failed,
            Ended::Unanswered(_) => Outcome::Unanswered,
        }
    }
}

/// The moments of one request, in nanoseconds from the start of the test.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Where it is counted.
    pub label: LabelId,
    /// When it should have started.
    pub intended: Intended,
    /// When the worker turned to it.
    pub started_ns: u64,
    /// When its first byte was written; none if it never was.
    pub first_write_ns: Option<u64>,
    /// When the first byte of its answer was read.
    pub first_read_ns: Option<u64>,
    /// When its last byte was read, or it was given up.
    pub done_ns: u64,
    /// How it ended.
    pub ended: Ended,
    /// The status, when a head came.
    pub status: Option<u16>,
    /// Bytes written, head and body.
    pub bytes_out: u64,
    /// Bytes read, head and body, as they came over the wire.
    pub bytes_in: u64,
}

impl Sample {
    /// Intended → the worker turned to it.
    #[must_use]
    pub fn lateness_ns(&self) -> u64 {
        self.started_ns.saturating_sub(self.intended.ns())
    }

    /// The worker turned to it → first byte written; up to the end when none was.
    #[must_use]
    pub fn wait_ns(&self) -> u64 {
        self.first_write_ns
            .unwrap_or(self.done_ns)
            .saturating_sub(self.started_ns)
    }

    /// First byte written → last byte read; none when nothing was written.
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
