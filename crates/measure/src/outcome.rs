//! Request results: time kinds, outcome classes, and causes of failure.

use serde::{Deserialize, Serialize};

pub use crate::{
    http2_fault::{Http2Code, Http2Fault, Http2Violation},
    socketio::SocketIoFault,
    stream::StreamFault,
    tls_fault::{Alert, TlsFault},
    websocket::WebSocketFault,
};

/// Type of a measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum TimeKind {
    /// Intended start → the worker picks up the arrival, or the step after a think time. This delay
    /// comes from the load generator. Measured only for the whole run, not by label.
    Lateness,
    /// The worker picks up the request → first byte written: connection pool, DNS, connect, TLS.
    /// Measured only for the whole run.
    Wait,
    /// First byte written → last byte read.
    Service,
    /// Exact sum of lateness, wait and service time.
    Response,
    /// First byte written → first byte read.
    FirstByte,
    /// Duration of the TCP connect.
    Connect,
    /// Duration of the TLS handshake.
    Tls,
    /// Intended start of the arrival → last response of the iteration.
    Iteration,
    /// MQTT: publish → acknowledgement.
    Ack,
    /// MQTT: publish → delivery.
    Delivery,
    /// A random time → the worker's next poll of its connections and deadlines. Until that poll,
    /// the worker can neither send nor read. Measured only for the whole run.
    Stall,
    /// Call in the script → response returned to the script.
    Script,
    /// Last byte read → response returned to the test script, which may be busy until then.
    /// Measured only for the whole run.
    Lag,
    /// Duration of an iteration without its think times.
    Unpaused,
    /// Intended start → first event of a streamed response.
    FirstEvent,
    /// First byte written → first event of a streamed response.
    FirstEventService,
    /// Intended start → first event with content of a streamed response: the time to first token
    /// (TTFT).
    Ttft,
    /// First byte written → first event with content of a streamed response.
    TtftService,
    /// Time between two consecutive events with content of a streamed response.
    Gap,
    /// Mean time per token after the first token of a streamed response.
    PerToken,
    /// HTTP/2: the part of the wait in which a request waited for a free stream. Measured only for
    /// requests that had to wait for one, and only for the whole run.
    StreamWait,
}

impl TimeKind {
    /// All types of time, in the order of their numbers.
    pub const ALL: [TimeKind; 21] = [
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
        TimeKind::FirstEvent,
        TimeKind::FirstEventService,
        TimeKind::Ttft,
        TimeKind::TtftService,
        TimeKind::Gap,
        TimeKind::PerToken,
        TimeKind::StreamWait,
    ];

    /// Returns the name in the record.
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
            TimeKind::FirstEvent => "first_event",
            TimeKind::FirstEventService => "first_event_service",
            TimeKind::Ttft => "ttft",
            TimeKind::TtftService => "ttft_service",
            TimeKind::Gap => "gap",
            TimeKind::PerToken => "per_token",
            TimeKind::StreamWait => "stream_wait",
        }
    }

    /// Returns the type of time with this name in the record.
    #[must_use]
    pub fn named(name: &str) -> Option<TimeKind> {
        TimeKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Class of the result of a request, an iteration or a connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum OutcomeClass {
    /// The response meets all expectations.
    Ok,
    /// There is a response, but its status is wrong, or a check or capture failed.
    Failed,
    /// There is no complete response. The record calls this class `none`.
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

    /// Returns the name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            OutcomeClass::Ok => "ok",
            OutcomeClass::Failed => "failed",
            OutcomeClass::Unanswered => "none",
        }
    }

    /// Returns the class with this name in the record.
    #[must_use]
    pub fn named(name: &str) -> Option<OutcomeClass> {
        OutcomeClass::ALL
            .into_iter()
            .find(|outcome| outcome.name() == name)
    }
}

/// Class of an unanswered request in the ledger.
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
    /// The host name could not be resolved.
    Dns,
    /// The received data is not a valid response.
    Protocol,
    /// The load generator failed: no file descriptors, no local ports, or an invalid URL.
    Generator,
    /// The request was in flight when the run ended.
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

    /// Returns the name in the record.
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

/// Cause of a missing or incomplete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The head did not arrive within its time limit, or the whole response exceeded its time
    /// limit.
    ResponseTimeout,
    /// No data arrived for the whole idle time limit.
    IdleTimeout,
    /// The connection attempt timed out in the kernel.
    ConnectTimeout,
    /// The peer reset the connection.
    Reset,
    /// The worker wrote data to a connection that the peer had closed.
    BrokenPipe,
    /// The peer closed the connection before the response was complete.
    ClosedEarly,
    /// A reused connection ended before the first byte of this response.
    Kept(KeptEnd),
    /// The connection was refused.
    Refused,
    /// There is no route to the host.
    Unreachable,
    /// The host name does not exist.
    DnsNotFound,
    /// The DNS resolver did not respond.
    DnsAgain,
    /// TLS failed.
    Tls(TlsFault),
    /// The response is not valid HTTP.
    Protocol(ProtocolFault),
    /// The server ended an HTTP/2 request without a complete response.
    Http2(Http2Fault),
    /// A streamed response is incomplete.
    Stream(StreamFault),
    /// A WebSocket operation failed.
    WebSocket(WebSocketFault),
    /// A Socket.IO operation failed.
    SocketIo(SocketIoFault),
    /// The number of redirects exceeded the limit.
    TooManyRedirects,
    /// The content encoding is invalid.
    BadEncoding,
    /// The body is needed but exceeds the size limit.
    BodyTooLarge,
    /// The proxy refused the connection.
    Proxy,
    /// The process has no file descriptors left.
    NoDescriptors,
    /// The machine has no local ports left.
    NoPorts,
    /// A template produced an invalid URL.
    BadUrl,
    /// The response exceeds the memory budget.
    OutOfMemory,
    /// The user did not allow requests to the host of the URL.
    HostNotAllowed,
    /// The test file declares that this step fails. The sample contains the name of the error.
    Declared,
    /// Another socket error.
    Other,
    /// The run ended before the request was complete.
    Unfinished,
    /// The request's virtual user was stopped during the run.
    Cancelled,
}

/// How a reused connection ended before a response. Servers may close idle connections at any time,
/// so a request that is sent at that moment is neither side's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeptEnd {
    /// The peer reset the connection.
    Reset,
    /// A write found the connection closed.
    BrokenPipe,
    /// The peer closed the connection.
    Closed,
}

/// Why a response is not valid HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProtocolFault {
    /// The first line is not a status line.
    StatusLine,
    /// The version is neither 1.0 nor 1.1.
    Version,
    /// The status line contains no status code.
    Status,
    /// A header line is invalid.
    Header,
    /// The head is too large.
    HeadTooLarge,
    /// Content-Length is not a number.
    ContentLength,
    /// Two Content-Length headers have different values.
    Lengths,
    /// A chunk size is invalid.
    ChunkSize,
    /// A chunk is longer or shorter than its size says.
    ChunkEnd,
    /// Unexpected bytes follow the response.
    Trailing,
    /// The peer sent HTTP/2 frames instead of a response.
    Http2,
    /// The peer sent a TLS alert instead of a response.
    Tls,
}

impl Fault {
    /// Returns the fault's class in the ledger.
    #[must_use]
    pub fn class(self) -> NoAnswer {
        match self {
            Fault::ResponseTimeout
            | Fault::IdleTimeout
            | Fault::ConnectTimeout
            | Fault::Stream(StreamFault::Idle) => NoAnswer::Timeout,
            Fault::Reset
            | Fault::BrokenPipe
            | Fault::ClosedEarly
            | Fault::Kept(_)
            | Fault::Other => NoAnswer::Reset,
            Fault::Http2(
                Http2Fault::RefusedStream | Http2Fault::Reset(_) | Http2Fault::GoAway(_),
            )
            | Fault::Stream(StreamFault::Lost)
            | Fault::WebSocket(
                WebSocketFault::Closed | WebSocketFault::ClosedWithError | WebSocketFault::Lost,
            )
            | Fault::SocketIo(SocketIoFault::Disconnected | SocketIoFault::Lost) => NoAnswer::Reset,
            Fault::SocketIo(SocketIoFault::PingTimeout) => NoAnswer::Timeout,
            Fault::Refused | Fault::Unreachable | Fault::Proxy => NoAnswer::Refused,
            Fault::DnsNotFound | Fault::DnsAgain => NoAnswer::Dns,
            Fault::Tls(_) => NoAnswer::Tls,
            Fault::WebSocket(WebSocketFault::NotConnected)
            | Fault::SocketIo(SocketIoFault::NotConnected)
            | Fault::NoDescriptors
            | Fault::NoPorts
            | Fault::BadUrl
            | Fault::HostNotAllowed
            | Fault::OutOfMemory
            | Fault::Http2(Http2Fault::Cleartext)
            | Fault::Declared => NoAnswer::Generator,
            Fault::Protocol(_)
            | Fault::Http2(Http2Fault::Violation(_))
            | Fault::Stream(_)
            | Fault::WebSocket(_)
            | Fault::SocketIo(_)
            | Fault::TooManyRedirects
            | Fault::BadEncoding
            | Fault::BodyTooLarge => NoAnswer::Protocol,
            Fault::Unfinished | Fault::Cancelled => NoAnswer::Unfinished,
        }
    }

    /// Returns the fault to report if this fault occurred on a reused connection before the first
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

    /// Returns a short text for users.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Fault::ResponseTimeout => "no answer in time",
            Fault::IdleTimeout => "no data transferred for too long",
            Fault::ConnectTimeout => "connecting timed out",
            Fault::Reset => "connection reset",
            Fault::BrokenPipe => "connection closed while writing",
            Fault::ClosedEarly => "connection closed before the answer was complete",
            Fault::Kept(KeptEnd::Reset) => "reused connection reset before its next answer",
            Fault::Kept(KeptEnd::BrokenPipe) => "reused connection found closed while writing",
            Fault::Kept(KeptEnd::Closed) => "reused connection closed before its next answer",
            Fault::Refused => "connection refused",
            Fault::Unreachable => "host unreachable",
            Fault::DnsNotFound => "host name not found",
            Fault::DnsAgain => "name resolution failed",
            Fault::Tls(fault) => fault.text(),
            Fault::Protocol(ProtocolFault::StatusLine) => "not HTTP: bad status line",
            Fault::Protocol(ProtocolFault::Header) => "not HTTP: bad header",
            Fault::Protocol(ProtocolFault::HeadTooLarge) => "not HTTP: head too large",
            Fault::Protocol(ProtocolFault::Version) => "not HTTP/1.1: different version",
            Fault::Protocol(ProtocolFault::Status) => "not HTTP: bad status",
            Fault::Protocol(ProtocolFault::ContentLength) => "not HTTP: bad Content-Length",
            Fault::Protocol(ProtocolFault::Lengths) => "not HTTP: more than one Content-Length",
            Fault::Protocol(ProtocolFault::ChunkSize) => "not HTTP: bad chunk size",
            Fault::Protocol(ProtocolFault::ChunkEnd) => {
                "not HTTP: chunk longer than its declared size"
            }
            Fault::Protocol(ProtocolFault::Trailing) => "not HTTP: bytes after the response",
            Fault::Protocol(ProtocolFault::Tls) => "not HTTP: the port uses TLS (https)",
            Fault::Protocol(ProtocolFault::Http2) => {
                "not HTTP/1.1: the server supports only HTTP/2"
            }
            Fault::Http2(fault) => fault.text(),
            Fault::Stream(fault) => fault.text(),
            Fault::WebSocket(fault) => fault.text(),
            Fault::SocketIo(fault) => fault.text(),
            Fault::TooManyRedirects => "too many redirects",
            Fault::BadEncoding => "invalid content encoding",
            Fault::BodyTooLarge => "body that must be read is larger than 64 MiB",
            Fault::Proxy => "the proxy refused to connect",
            Fault::NoDescriptors => "no file descriptors left (EMFILE)",
            Fault::NoPorts => "no local ports left (EADDRNOTAVAIL)",
            Fault::BadUrl => "invalid URL",
            Fault::HostNotAllowed => "host not allowed",
            Fault::OutOfMemory => "memory limit reached (--memory)",
            Fault::Declared => "the step cannot be sent",
            Fault::Other => "socket error",
            Fault::Unfinished => "unfinished when the run ended",
            Fault::Cancelled => "cancelled when its user was stopped",
        }
    }
}

/// Why a request failed although there is a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The status is not an expected one.
    Status(u16),
    /// A check failed. Contains the type of the check.
    Check(&'static str),
    /// A strict capture or match failed.
    Capture,
    /// The body is needed but could not be decoded.
    Encoding,
    /// The number of redirects exceeded the limit.
    RedirectLimit,
    /// The server refused the operation. Contains the name that the protocol gives to the reason.
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
