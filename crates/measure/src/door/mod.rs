//! The accumulators of front doors whose figures have another definition than ours. They hear of the same events, keep
//! their own books, and hand them over once per interval as a bag of named figures that merge by themselves.
//!
//! Only that door's renderer reads them; no native figure is computed from them.

mod artillery;
mod counts;
mod wrk;

use std::collections::BTreeMap;

pub use artillery::{ArtilleryDoor, error_name};
pub use counts::{Cells, Counts};
pub use wrk::{WrkDoor, WrkSettings};

use crate::{Fault, sketch::Sketch};

/// What a front door's accumulator hears of.
#[derive(Debug, Clone, Copy)]
pub enum DoorEvent<'a> {
    /// A virtual user began.
    UserStarted {
        /// Index of its scenario.
        scenario: u32,
    },
    /// An arrival was turned away by the plan's cap.
    UserSkipped,
    /// A virtual user came to the end of its scenario.
    UserCompleted {
        /// How long it took.
        session_ns: u64,
    },
    /// A virtual user was ended by an error.
    UserFailed {
        /// What ended it.
        reason: Reason<'a>,
        /// The number of the request step that did, if one did.
        step: Option<u32>,
    },
    /// A request (or a redirect's next hop) was handed to the network.
    RequestSent,
    /// The head of an answer was complete.
    Head {
        /// The number of the request step.
        step: u32,
        /// Its status.
        status: u16,
        /// Wall clock when the request was fully sent, in nanoseconds since 1970.
        sent_wall_ns: u64,
        /// Whether it is the last one, and complete: not of a redirect that was followed.
        last: bool,
        /// What was asked for, where that is not said by the step.
        endpoint: Option<&'a str>,
        /// The total that the server says it took, in milliseconds.
        server_ms: Option<f64>,
    },
    /// The body of an answer was complete.
    Body {
        /// Bytes on the wire.
        bytes: u64,
        /// From when the worker turned to it to its end.
        total_ns: u64,
        /// As for the head.
        last: bool,
        /// What a new connection took before it; none over one that was there.
        opening: Opening,
    },
    /// One expectation of an answer was looked at.
    Expected {
        /// Its kind.
        kind: &'a str,
        /// Whether it held.
        ok: bool,
    },
    /// Something is counted as an error although the virtual user goes on.
    Remark {
        /// Its name.
        name: &'a str,
    },
    /// A worker of the batch driver begins.
    Begin,
    /// An answer of the batch driver's is complete.
    Answer {
        /// Its status.
        status: u16,
        /// Bytes read, head and body.
        bytes: u64,
        /// Whether it is the last of its batch.
        last: bool,
        /// From its intended start.
        response_ns: u64,
        /// From the first byte written.
        service_ns: u64,
    },
    /// A batch will not be answered.
    Lost {
        /// What it was lost by.
        how: Loss,
        /// Bytes of incomplete answers.
        bytes: u64,
    },
    /// A worker of the batch driver has sent its last.
    End,
}

/// What a batch was lost by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// There was no connection.
    Connect,
    /// Reading failed, or what was read is no answer.
    Read,
    /// Writing failed.
    Write,
    /// It took too long.
    Timeout,
}

/// What opening a connection took; nothing where there was one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Opening {
    /// Looking up the name, in nanoseconds.
    pub lookup_ns: u64,
    /// TCP connect, in nanoseconds.
    pub connect_ns: u64,
    /// TLS handshake, in nanoseconds; none over plain connections.
    pub tls_ns: Option<u64>,
}

/// What ended a virtual user.
#[derive(Debug, Clone, Copy)]
pub enum Reason<'a> {
    /// There was no complete answer.
    Fault(Fault),
    /// A strict capture or match failed.
    Capture,
    /// An error by name: a declared one, an invalid think time or URL.
    Named(&'a str),
}

impl Reason<'_> {
    /// The name that Artillery's users know it by.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Reason::Fault(fault) => error_name(*fault),
            Reason::Capture => "Failed capture or match",
            Reason::Named(name) => name,
        }
    }
}

/// The accumulator of a front door, one per worker.
pub trait Door: Send {
    /// Hears of an event; the moment is wall-clock nanoseconds since 1970.
    fn event(&mut self, wall_ns: u64, event: &DoorEvent<'_>);
    /// Hands over what was counted since the last call.
    fn take(&mut self) -> DoorPart;
    /// The same for the last time.
    fn finish(&mut self) -> DoorPart {
        self.take()
    }
}

/// Named figures that merge by themselves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DoorPart {
    /// Added up.
    pub counters: BTreeMap<String, u64>,
    /// The smallest is kept.
    pub firsts: BTreeMap<String, u64>,
    /// The largest is kept.
    pub lasts: BTreeMap<String, u64>,
    /// Merged.
    pub sketches: BTreeMap<String, Sketch>,
    /// Added up by value.
    pub counts: BTreeMap<String, Counts>,
}

impl DoorPart {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
            && self.firsts.is_empty()
            && self.lasts.is_empty()
            && self.sketches.is_empty()
            && self.counts.is_empty()
    }

    /// Adds another part.
    pub fn merge(&mut self, other: DoorPart) {
        for (name, n) in other.counters {
            *self.counters.entry(name).or_default() += n;
        }
        for (name, at) in other.firsts {
            let mine = self.firsts.entry(name).or_insert(at);
            *mine = at.min(*mine);
        }
        for (name, at) in other.lasts {
            let mine = self.lasts.entry(name).or_insert(at);
            *mine = at.max(*mine);
        }
        for (name, sketch) in other.sketches {
            self.sketches.entry(name).or_default().merge(&sketch);
        }
        for (name, counts) in other.counts {
            self.counts.entry(name).or_default().merge(&counts);
        }
    }
}
