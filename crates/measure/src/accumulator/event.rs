//! Events of virtual users, requests and responses that drivers report to an accumulator. The
//! accumulator decides which events it counts, and under which names.

use crate::{Fault, custom::CustomKind};

/// An event that a driver reports.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub enum Event<'a> {
    /// A virtual user started.
    UserStarted { scenario: u32 },
    /// An arrival was skipped because of the plan's user limit.
    UserSkipped,
    /// A virtual user finished its scenario.
    UserCompleted { session_ns: u64 },
    /// An error ended a virtual user.
    UserFailed {
        /// The error.
        reason: Reason<'a>,
        /// Number of the request step that failed. `None` if no request failed.
        step: Option<u32>,
    },
    /// A request, or the next hop of a redirect, was handed to the network.
    RequestSent,
    /// The head of a response has arrived completely.
    Head {
        /// Number of the request step.
        step: u32,
        /// HTTP status.
        status: u16,
        /// Wall clock when the request was fully sent, in nanoseconds since 1970.
        sent_wall_ns: u64,
        /// Whether this is the final response, not a redirect that is followed.
        last: bool,
        /// Name that a hook gave to the request, if it differs from the step's name.
        called: Option<&'a str>,
        /// Total duration that the server reported, in milliseconds.
        server_ms: Option<f64>,
    },
    /// The body of a response has arrived completely.
    Body {
        /// Number of bytes on the wire.
        bytes: u64,
        /// Time from when the worker picked up the request until the end of the response, in
        /// nanoseconds.
        total_ns: u64,
        /// Whether this is the final response, not a redirect that is followed.
        last: bool,
        /// Time spent opening a connection. All zero if the connection was reused.
        opening: Opening,
    },
    /// A message was sent on a WebSocket connection.
    MessageSent,
    /// A message was received on a WebSocket connection, and a step waited for it.
    MessageReceived,
    /// A step begins to emit an event in a Socket.IO session.
    Emit,
    /// A step that waited for events has those that it waited for, or its time limit expired after
    /// others.
    EventsReceived { ns: u64 },
    /// A step that emitted an event is complete.
    EmitCompleted { ns: u64 },
    /// A custom metric from a hook. Only the accumulator of the same front end interprets it.
    Custom { name: &'a str, value: u64 },
    /// A script counted something.
    Count { name: &'a str, n: u64 },
    /// A script measured something.
    Value { name: &'a str, value: f64 },
    /// A script reported a value of a metric of another type, whose events have values.
    Observed {
        kind: CustomKind,
        name: &'a str,
        value: f64,
    },
    /// A script reported one event of a rate.
    Rate { name: &'a str },
    /// An error that does not end the virtual user.
    Remark { name: &'a str },
    /// A worker of the batch driver starts.
    Begin,
    /// The batch driver has read a complete response.
    Answer {
        /// HTTP status.
        status: u16,
        /// Number of bytes read, including the head.
        bytes: u64,
        /// Whether this is the last response of the batch.
        last: bool,
        /// Time from the intended start, in nanoseconds.
        response_ns: u64,
        /// Time from the first byte written, in nanoseconds.
        service_ns: u64,
    },
    /// A batch failed without a response.
    Lost { how: Loss, bytes: u64 },
    /// A worker of the batch driver has finished.
    End,
}

impl Event<'_> {
    /// Whether a script reported the event, so that it counts as a custom metric.
    #[inline]
    #[must_use]
    pub fn is_custom_metric(&self) -> bool {
        matches!(
            self,
            Event::Count { .. }
                | Event::Value { .. }
                | Event::Observed { .. }
                | Event::Rate { .. }
                | Event::Remark { .. }
        )
    }
}

/// Why a batch failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// No connection could be opened.
    Connect,
    /// Reading failed, or the data was not a response.
    Read,
    /// Writing failed.
    Write,
    /// The time limit was exceeded.
    Timeout,
}

/// Time spent opening a connection. All zero if the connection was reused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Opening {
    /// Time for the name lookup, in nanoseconds.
    pub lookup_ns: u64,
    /// Time for the TCP connect, in nanoseconds.
    pub connect_ns: u64,
    /// Time for the TLS handshake, in nanoseconds. `None` if the connection does not use TLS.
    pub tls_ns: Option<u64>,
}

/// Why a virtual user ended early.
#[derive(Debug, Clone, Copy)]
pub enum Reason<'a> {
    /// The response is missing or incomplete.
    Fault(Fault),
    /// An operation on a WebSocket connection or in a Socket.IO session has no result.
    WebSocket(Fault),
    /// The server refused a WebSocket connection or a Socket.IO session with this HTTP status.
    Refused(u16),
    /// A strict capture or match failed.
    Capture,
    /// A named error: one that the plan declares, or an invalid think time or URL.
    Named(&'a str),
}

impl Reason<'_> {
    /// Returns an owned copy.
    #[must_use]
    pub fn to_kept(&self) -> KeptReason {
        match self {
            Reason::Fault(fault) => KeptReason::Fault(*fault),
            Reason::WebSocket(fault) => KeptReason::WebSocket(*fault),
            Reason::Refused(status) => KeptReason::Refused(*status),
            Reason::Capture => KeptReason::Capture,
            Reason::Named(name) => KeptReason::Named((*name).to_owned()),
        }
    }
}

/// Owned version of [`Reason`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptReason {
    /// The response is missing or incomplete.
    Fault(Fault),
    /// An operation on a WebSocket connection or in a Socket.IO session has no result.
    WebSocket(Fault),
    /// The server refused a WebSocket connection or a Socket.IO session with this HTTP status.
    Refused(u16),
    /// A strict capture or match failed.
    Capture,
    /// An error that the plan declares, or an invalid think time or URL. The name may contain a
    /// secret.
    Named(String),
}

impl KeptReason {
    /// Returns the borrowed version.
    #[must_use]
    pub fn reason(&self) -> Reason<'_> {
        match self {
            KeptReason::Fault(fault) => Reason::Fault(*fault),
            KeptReason::WebSocket(fault) => Reason::WebSocket(*fault),
            KeptReason::Refused(status) => Reason::Refused(*status),
            KeptReason::Capture => Reason::Capture,
            KeptReason::Named(name) => Reason::Named(name),
        }
    }
}
