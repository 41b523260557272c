//! What the drivers tell an accumulator: events of virtual users, requests and answers, in nobody's words. What they are called
//! in a report, and which of them are counted, is the accumulator's business.

use crate::Fault;

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
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
        /// What a hook called it, where the step does not say it.
        called: Option<&'a str>,
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
    /// What a hook found in an answer, in words that mean something to its own accumulator alone.
    Told {
        /// Of what.
        name: &'a str,
        /// How much, or whether.
        value: u64,
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
    /// The same, to be kept.
    #[must_use]
    pub fn to_kept(&self) -> KeptReason {
        match self {
            Reason::Fault(fault) => KeptReason::Fault(*fault),
            Reason::Capture => KeptReason::Capture,
            Reason::Named(name) => KeptReason::Named((*name).to_owned()),
        }
    }
}

/// What ended a virtual user, for whoever hears of it later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptReason {
    /// There was no complete answer.
    Fault(Fault),
    /// A strict capture or match failed.
    Capture,
    /// An error by name. May hold a secret.
    Named(String),
}

impl KeptReason {
    /// As an accumulator hears of it.
    #[must_use]
    pub fn reason(&self) -> Reason<'_> {
        match self {
            KeptReason::Fault(fault) => Reason::Fault(*fault),
            KeptReason::Capture => Reason::Capture,
            KeptReason::Named(name) => Reason::Named(name),
        }
    }
}
