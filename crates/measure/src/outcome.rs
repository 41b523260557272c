//! Results of requests: measured times, outcome classes, and causes of failure.

use serde::{Deserialize, Serialize};

pub use crate::tls_fault::{Alert, TlsFault};

/// A kind of measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum TimeKind {
    /// Intended start → the worker takes it up, for arrivals and for steps after a think time. The
    /// generator's own delay. Only for the whole run, not by label.
    Lateness,
    /// The worker takes it up → first byte written: pool, DNS, connect, TLS. Only for the whole
    /// run.
    Wait,
    /// First byte written → last byte read.
    Service,
    /// Lateness + wait + service, exactly.
    Response,
    /// First byte written → first byte read.
    FirstByte,
    /// TCP connect.
    Connect,
    /// TLS handshake.
    Tls,
    /// Intended start of the arrival → last response of the iteration.
    Iteration,
    /// MQTT: publish → acknowledgement.
    Ack,
    /// MQTT: publish → delivery.
    Delivery,
    /// A random time → the worker's next poll of its connections and deadlines. Until then it could
    /// neither send nor read. Only for the whole run.
    Stall,
    /// The script's call → response returned to the script.
    Script,
    /// Last byte read → response returned to the test script, which was busy until then. Only for
    /// the whole run.
    Lag,
    /// The time of an iteration without its think times.
    Unpaused,
}

impl TimeKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [TimeKind; 14] = [
        TimeKind::Lateness,
        TimeKind::Wait,
        TimeKind::Service,
        TimeKind::Response,
        TimeKind::FirstByte,
        TimeKind::Connect,
        TimeKind::Tls,
        TimeKind::Iteration,
        TimeKind::Ack,
        TimeKind::Delivery,
        TimeKind::Stall,
        TimeKind::Script,
        TimeKind::Lag,
        TimeKind::Unpaused,
    ];

    /// The name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TimeKind::Lateness => "lateness",
            TimeKind::Wait => "wait",
            TimeKind::Service => "service",
            TimeKind::Response => "response",
            TimeKind::FirstByte => "first_byte",
            TimeKind::Connect => "connect",
            TimeKind::Tls => "tls",
            TimeKind::Iteration => "iteration",
            TimeKind::Ack => "ack",
            TimeKind::Delivery => "delivery",
            TimeKind::Stall => "stall",
            TimeKind::Script => "script",
            TimeKind::Lag => "lag",
            TimeKind::Unpaused => "unpaused",
        }
    }

    /// The kind with this name in the record.
    #[must_use]
    pub fn named(name: &str) -> Option<TimeKind> {
        TimeKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Class of a result, of a request, an iteration or a connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum OutcomeClass {
    /// Answered as expected.
    Ok,
    /// Answered, but status, check or capture is wrong.
    Failed,
    /// No complete response. Called `none` in the record.
    #[serde(rename = "none")]
    Unanswered,
}

impl OutcomeClass {
    /// All classes, in the order of their numbers.
    pub const ALL: [OutcomeClass; 3] = [
        OutcomeClass::Ok,
        OutcomeClass::Failed,
        OutcomeClass::Unanswered,
    ];

    /// The name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            OutcomeClass::Ok => "ok",
            OutcomeClass::Failed => "failed",
            OutcomeClass::Unanswered => "none",
        }
    }

    /// The class with this name in the record.
    #[must_use]
    pub fn named(name: &str) -> Option<OutcomeClass> {
        OutcomeClass::ALL
            .into_iter()
            .find(|outcome| outcome.name() == name)
    }
}

/// Classes of unanswered requests in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum NoAnswer {
    /// A time limit was exceeded.
    Timeout,
    /// The connection was reset or closed before the response was complete.
    Reset,
    /// The connection was refused.
    Refused,
    /// The TLS handshake failed.
    Tls,
    /// The name has no address.
    Dns,
    /// The data received is not a response.
    Protocol,
    /// Fault of the generator: no descriptors, no ports, an invalid URL.
    Generator,
    /// In flight when the run ended.
    Unfinished,
}

impl NoAnswer {
    /// All classes, in the order of their numbers.
    pub const ALL: [NoAnswer; 8] = [
        NoAnswer::Timeout,
        NoAnswer::Reset,
        NoAnswer::Refused,
        NoAnswer::Tls,
        NoAnswer::Dns,
        NoAnswer::Protocol,
        NoAnswer::Generator,
        NoAnswer::Unfinished,
    ];

    /// The name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NoAnswer::Timeout => "timeout",
            NoAnswer::Reset => "reset",
            NoAnswer::Refused => "refused",
            NoAnswer::Tls => "tls",
            NoAnswer::Dns => "dns",
            NoAnswer::Protocol => "protocol",
            NoAnswer::Generator => "generator",
            NoAnswer::Unfinished => "unfinished",
        }
    }
}

/// Cause of a missing response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The head did not arrive in time, or the whole response took too long.
    ResponseTimeout,
    /// No data for too long.
    IdleTimeout,
    /// The kernel gave up connecting.
    ConnectTimeout,
    /// Connection reset by the peer.
    Reset,
    /// Data was written to a connection that the peer had closed.
    BrokenPipe,
    /// The peer closed before the response was complete.
    ClosedEarly,
    /// A reused connection ended before the first byte of this response.
    Kept(KeptEnd),
    /// Connection refused.
    Refused,
    /// There is no route to the host.
    Unreachable,
    /// The name does not exist.
    DnsNotFound,
    /// The resolver did not respond.
    DnsAgain,
    /// TLS failed.
    Tls(TlsFault),
    /// The response is not valid HTTP.
    Protocol(ProtocolFault),
    /// More redirects than allowed.
    TooManyRedirects,
    /// The content encoding is broken.
    BadEncoding,
    /// The body is needed and larger than the limit.
    BodyTooLarge,
    /// The proxy refused to connect.
    Proxy,
    /// No file descriptors left.
    NoDescriptors,
    /// No local ports left.
    NoPorts,
    /// The URL from a template is invalid.
    BadUrl,
    /// The response does not fit into the memory budget.
    OutOfMemory,
    /// The host of the URL is not among those that the user allowed.
    HostNotAllowed,
    /// The test file declares that this step fails. The sample has the name.
    Declared,
    /// Another socket error.
    Other,
    /// In flight when the run ended.
    Unfinished,
    /// Given up because its user was stopped.
    Cancelled,
}

/// How a reused connection ended. Most servers close idle connections. If a request is sent at that
/// moment, neither side is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeptEnd {
    /// Connection reset.
    Reset,
    /// Found closed while writing.
    BrokenPipe,
    /// Closed.
    Closed,
}

/// Why a response is not valid HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProtocolFault {
    /// The first line is not a status line.
    StatusLine,
    /// The version is neither 1.0 nor 1.1.
    Version,
    /// The status line has no status.
    Status,
    /// A header line is malformed.
    Header,
    /// The head is too large.
    HeadTooLarge,
    /// Content-Length is not a number.
    ContentLength,
    /// Two Content-Length headers differ.
    Lengths,
    /// A chunk size is malformed.
    ChunkSize,
    /// A chunk does not end where its size says.
    ChunkEnd,
    /// Unexpected bytes after the response.
    Trailing,
    /// HTTP/2 frames instead of a response.
    Http2,
    /// A TLS alert instead of a response.
    Tls,
}

impl Fault {
    /// The class in the ledger.
    #[must_use]
    pub fn class(self) -> NoAnswer {
        match self {
            Fault::ResponseTimeout | Fault::IdleTimeout | Fault::ConnectTimeout => {
                NoAnswer::Timeout
            }
            Fault::Reset
            | Fault::BrokenPipe
            | Fault::ClosedEarly
            | Fault::Kept(_)
            | Fault::Other => NoAnswer::Reset,
            Fault::Refused | Fault::Unreachable | Fault::Proxy => NoAnswer::Refused,
            Fault::DnsNotFound | Fault::DnsAgain => NoAnswer::Dns,
            Fault::Tls(_) => NoAnswer::Tls,
            Fault::Protocol(_)
            | Fault::TooManyRedirects
            | Fault::BadEncoding
            | Fault::BodyTooLarge => NoAnswer::Protocol,
            Fault::NoDescriptors
            | Fault::NoPorts
            | Fault::BadUrl
            | Fault::HostNotAllowed
            | Fault::OutOfMemory
            | Fault::Declared => NoAnswer::Generator,
            Fault::Unfinished | Fault::Cancelled => NoAnswer::Unfinished,
        }
    }

    /// Returns the fault to report if this one occurred on a reused connection before the first
    /// byte of the response.
    #[must_use]
    pub fn on_kept(self) -> Fault {
        match self {
            Fault::Reset => Fault::Kept(KeptEnd::Reset),
            Fault::BrokenPipe => Fault::Kept(KeptEnd::BrokenPipe),
            Fault::ClosedEarly => Fault::Kept(KeptEnd::Closed),
            other => other,
        }
    }

    /// A short text for people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Fault::ResponseTimeout => "no answer in time",
            Fault::IdleTimeout => "nothing moved for too long",
            Fault::ConnectTimeout => "connecting timed out",
            Fault::Reset => "connection reset",
            Fault::BrokenPipe => "connection closed while writing",
            Fault::ClosedEarly => "connection closed before the answer was complete",
            Fault::Kept(KeptEnd::Reset) => "kept connection reset before its next answer",
            Fault::Kept(KeptEnd::BrokenPipe) => "kept connection found closed while writing",
            Fault::Kept(KeptEnd::Closed) => "kept connection closed before its next answer",
            Fault::Refused => "connection refused",
            Fault::Unreachable => "host unreachable",
            Fault::DnsNotFound => "host name not found",
            Fault::DnsAgain => "name resolution failed",
            Fault::Tls(fault) => fault.text(),
            Fault::Protocol(ProtocolFault::StatusLine) => "not HTTP: bad status line",
            Fault::Protocol(ProtocolFault::Header) => "not HTTP: bad header",
            Fault::Protocol(ProtocolFault::HeadTooLarge) => "not HTTP: head too large",
            Fault::Protocol(ProtocolFault::Version) => "not HTTP/1.1: another version",
            Fault::Protocol(ProtocolFault::Status) => "not HTTP: bad status",
            Fault::Protocol(ProtocolFault::ContentLength) => "not HTTP: bad Content-Length",
            Fault::Protocol(ProtocolFault::Lengths) => "not HTTP: two Content-Lengths",
            Fault::Protocol(ProtocolFault::ChunkSize) => "not HTTP: bad chunk size",
            Fault::Protocol(ProtocolFault::ChunkEnd) => "not HTTP: a chunk longer than its size",
            Fault::Protocol(ProtocolFault::Trailing) => "not HTTP: bytes after the response",
            Fault::Protocol(ProtocolFault::Tls) => "not HTTP: the port speaks TLS (https)",
            Fault::Protocol(ProtocolFault::Http2) => "not HTTP/1.1: the server speaks HTTP/2 only",
            Fault::TooManyRedirects => "too many redirects",
            Fault::BadEncoding => "content encoding is broken",
            Fault::BodyTooLarge => "body larger than 64 MiB, of which something is wanted",
            Fault::Proxy => "the proxy would not connect",
            Fault::NoDescriptors => "no file descriptors left (EMFILE)",
            Fault::NoPorts => "no local ports left (EADDRNOTAVAIL)",
            Fault::BadUrl => "invalid URL",
            Fault::HostNotAllowed => "host not allowed",
            Fault::OutOfMemory => "memory budget used up (--memory)",
            Fault::Declared => "the step cannot be sent",
            Fault::Other => "socket error",
            Fault::Unfinished => "unfinished when the run ended",
            Fault::Cancelled => "cancelled when its user was stopped",
        }
    }
}

/// Why an answered request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The status.
    Status(u16),
    /// A check. Has its kind.
    Check(&'static str),
    /// A strict capture or match.
    Capture,
    /// The body is needed and cannot be decoded.
    Encoding,
    /// There was one redirect more than the limit.
    RedirectLimit,
    /// The server refused. Has the protocol's name for the reason.
    Refusal(&'static str),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Status(code) => write!(f, "status {code}"),
            Failure::Check(kind) => write!(f, "check {kind}"),
            Failure::Capture => f.write_str("capture or match"),
            Failure::Encoding => f.write_str("content encoding"),
            Failure::RedirectLimit => f.write_str("redirect limit"),
            Failure::Refusal(reason) => write!(f, "refused: {reason}"),
        }
    }
}
