//! What became of a request: the kinds of time, the three outcomes, and every cause of a missing answer by name.

use serde::{Deserialize, Serialize};

pub use crate::tls_fault::{Alert, TlsFault};

/// A kind of time that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    /// Intended start → the worker turned to it, wherever somebody had to wait for that moment: arrivals, and steps behind
    /// a think time. The generator's fault, and nothing else. Run-wide only.
    Lateness,
    /// The worker turned to it → first byte written: pool, DNS, connect, TLS. Run-wide only.
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
    /// Intended arrival → last answer of the iteration.
    Iteration,
    /// MQTT: publish → acknowledgement.
    Ack,
    /// MQTT: publish → delivery.
    Delivery,
    /// A look of the worker's at its connections and deadlines: the random moment at which it was to be taken → the moment at which
    /// it was. For so long the worker could neither send nor read. Run-wide only.
    Stall,
    /// The call of a test's own code → the answer in its hands: what it sees, whatever it was busy with meanwhile.
    Script,
    /// Last byte read → the answer in the hands of the test's own code: for so long it was busy elsewhere. Run-wide only.
    Lag,
    /// An iteration without its pauses: for so long it sent, waited for answers, or was late.
    Unpaused,
}

impl Kind {
    /// All, in the order of their numbers.
    pub const ALL: [Kind; 14] = [
        Kind::Lateness,
        Kind::Wait,
        Kind::Service,
        Kind::Response,
        Kind::FirstByte,
        Kind::Connect,
        Kind::Tls,
        Kind::Iteration,
        Kind::Ack,
        Kind::Delivery,
        Kind::Stall,
        Kind::Script,
        Kind::Lag,
        Kind::Unpaused,
    ];

    /// The name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Lateness => "lateness",
            Kind::Wait => "wait",
            Kind::Service => "service",
            Kind::Response => "response",
            Kind::FirstByte => "first_byte",
            Kind::Connect => "connect",
            Kind::Tls => "tls",
            Kind::Iteration => "iteration",
            Kind::Ack => "ack",
            Kind::Delivery => "delivery",
            Kind::Stall => "stall",
            Kind::Script => "script",
            Kind::Lag => "lag",
            Kind::Unpaused => "unpaused",
        }
    }

    /// The kind of a name in the record.
    #[must_use]
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// How a request (or an iteration, or a connect) ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Outcome {
    /// Answered, and as it should be.
    Ok,
    /// Answered, and status or check says no.
    Failed,
    /// No complete answer; `none` in the record.
    #[serde(rename = "none")]
    Unanswered,
}

impl Outcome {
    /// All, in the order of their numbers.
    pub const ALL: [Outcome; 3] = [Outcome::Ok, Outcome::Failed, Outcome::Unanswered];

    /// The name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Unanswered => "none",
        }
    }

    /// The outcome of a name in the record.
    #[must_use]
    pub fn named(name: &str) -> Option<Outcome> {
        Outcome::ALL
            .into_iter()
            .find(|outcome| outcome.name() == name)
    }
}

/// The classes of missing answers that the ledger counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum NoAnswer {
    /// A limit of the request's life was passed.
    Timeout,
    /// The connection was reset or closed before the answer was complete.
    Reset,
    /// Nobody accepted the connection.
    Refused,
    /// The TLS handshake failed.
    Tls,
    /// The name has no address.
    Dns,
    /// What came back is not an answer.
    Protocol,
    /// Our own fault: no descriptors, no ports, an impossible URL.
    Generator,
    /// Still under way when the run ended.
    Unfinished,
}

impl NoAnswer {
    /// All, in the order of their numbers.
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

/// Exactly what went wrong when there was no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// No answer's head in time, or the whole took too long.
    ResponseTimeout,
    /// Nothing moved for too long.
    IdleTimeout,
    /// The kernel gave up connecting.
    ConnectTimeout,
    /// Connection reset by the peer.
    Reset,
    /// Written to a connection that the peer had closed.
    BrokenPipe,
    /// The peer closed before the answer was complete.
    ClosedEarly,
    /// A connection that had answered before ended without a byte of this answer.
    Kept(KeptEnd),
    /// Connection refused.
    Refused,
    /// No route.
    Unreachable,
    /// The name does not exist.
    DnsNotFound,
    /// The resolver did not answer.
    DnsAgain,
    /// TLS could not be spoken: why, by name.
    Tls(TlsFault),
    /// What came back is not HTTP: what the parser says.
    Protocol(ProtocolFault),
    /// More redirects than allowed.
    TooManyRedirects,
    /// The content's encoding is broken.
    BadEncoding,
    /// Somebody wants to look at a body that is larger than is kept.
    BodyTooLarge,
    /// The proxy would not connect.
    Proxy,
    /// No file descriptors left.
    NoDescriptors,
    /// No local ports left.
    NoPorts,
    /// The URL that a template made cannot be requested.
    BadUrl,
    /// What would have to be kept of the answer is more than the budget has left.
    OutOfMemory,
    /// The URL leads to a host that the user has not named.
    HostNotAllowed,
    /// The test file says that this step fails so: its name is kept beside the sample.
    Declared,
    /// Another failure of the socket.
    Other,
    /// Still under way when the run ended.
    Unfinished,
    /// Given up by the test itself while it was under way: a user was stopped.
    Cancelled,
}

/// How a connection that was kept from an earlier request ended: most servers close idle ones after a while, and whoever writes at
/// that moment is not to blame, nor is the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeptEnd {
    /// By a reset.
    Reset,
    /// It was found closed while writing.
    BrokenPipe,
    /// It was closed.
    Closed,
}

/// Faults of an answer as HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProtocolFault {
    /// The first line is no status line.
    StatusLine,
    /// The status line has another version than 1.0 and 1.1.
    Version,
    /// The status line has no status.
    Status,
    /// A header line is malformed.
    Header,
    /// The head is larger than any server's should be.
    HeadTooLarge,
    /// Content-Length is no number.
    ContentLength,
    /// There are two of them, and they differ.
    Lengths,
    /// A chunk's size is malformed.
    ChunkSize,
    /// A chunk does not end where its size says.
    ChunkEnd,
    /// Bytes where none may be.
    Trailing,
    /// Frames of HTTP/2 instead of an answer.
    Http2,
    /// An alert of TLS instead of an answer.
    Tls,
}

impl Fault {
    /// The class that the ledger counts.
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

    /// The same fault, if it came on a connection that had answered before, and before the first byte of this answer.
    #[must_use]
    pub fn on_kept(self) -> Fault {
        match self {
            Fault::Reset => Fault::Kept(KeptEnd::Reset),
            Fault::BrokenPipe => Fault::Kept(KeptEnd::BrokenPipe),
            Fault::ClosedEarly => Fault::Kept(KeptEnd::Closed),
            other => other,
        }
    }

    /// In a few words, for people.
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
            Fault::Protocol(ProtocolFault::Trailing) => "not HTTP: bytes behind the answer",
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
    /// A check, by its kind.
    Check(&'static str),
    /// A strict capture or match.
    Capture,
    /// The body is wanted and cannot be unpacked.
    Encoding,
    /// It redirects once more than is followed.
    RedirectLimit,
    /// A server said no, and why, by the name that its protocol has for it.
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
            Failure::Refusal(why) => write!(f, "refused: {why}"),
        }
    }
}
