//! Events that drivers report to an accumulator: virtual users, requests, responses and messages.
//! The accumulator decides which events it counts, and under which names.

use crate::{Fault, custom::CustomKind};

/// An event that a driver reports to an accumulator.
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
        /// Cause of the error.
        reason: Reason<'a>,
        /// Index of the request step that failed. `None` if no request failed.
        step: Option<u32>,
    },
    /// A request, or the next hop of a redirect, was queued for sending.
    RequestSent,
    /// The head of a response has arrived completely.
    Head {
        /// Index of the request step.
        step: u32,
        /// HTTP status code.
        status: u16,
        /// Wall clock when the request was fully sent, in nanoseconds since 1970.
        sent_wall_ns: u64,
        /// Whether this is the final response, not a redirect that is followed.
        last: bool,
        /// Name that a hook assigned to the request, if it differs from the step's name.
        called: Option<&'a str>,
        /// Processing time that the server reported, in milliseconds.
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
    /// A WebSocket message arrived that a step was waiting for.
    MessageReceived,
    /// A step starts to emit an event in a Socket.IO session.
    Emit,
    /// A step received the events it was waiting for, or timed out after receiving some events.
    EventsReceived { ns: u64 },
    /// A step that emitted an event has completed.
    EmitCompleted { ns: u64 },
    /// A custom metric from a hook. Only the front end that defined the metric can interpret it.
    Custom { name: &'a str, value: u64 },
    /// A script incremented a counter.
    Count { name: &'a str, n: u64 },
    /// A script recorded a value.
    Value { name: &'a str, value: f64 },
    /// A script recorded a value of a metric type that none of the other variants covers.
    Observed {
        kind: CustomKind,
        name: &'a str,
        value: f64,
    },
    /// A script reported one event of a rate metric.
    Rate { name: &'a str },
    /// An error that does not end the virtual user.
    Remark { name: &'a str },
    /// A worker of the batch driver starts.
    Begin,
    /// The batch driver read a complete response.
    Answer {
        /// HTTP status code.
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
    /// Returns whether a script reported the event, so that it counts as a custom metric.
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

/// Why a virtual user ended before completing its scenario.
#[derive(Debug, Clone, Copy)]
pub enum Reason<'a> {
    /// The response is missing or incomplete.
    Fault(Fault),
    /// A WebSocket or Socket.IO operation failed.
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

/// An owned version of [`Reason`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptReason {
    /// The response is missing or incomplete.
    Fault(Fault),
    /// A WebSocket or Socket.IO operation failed.
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
