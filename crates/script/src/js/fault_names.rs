//! Names of errors in Node.js.

use measure::{
    Fault,
    outcome::{Alert, KeptEnd, ProtocolFault, TlsFault},
};

/// Returns the `code` of the error that Node.js and its HTTP client `got` report for a fault.
#[must_use]
pub fn fault_name(fault: Fault) -> &'static str {
    match fault {
        Fault::ResponseTimeout | Fault::ConnectTimeout | Fault::Unfinished | Fault::Cancelled => {
            "ETIMEDOUT"
        }
        Fault::IdleTimeout => "ERR_SOCKET_TIMEOUT",
        Fault::Reset
        | Fault::ClosedEarly
        | Fault::Kept(KeptEnd::Reset | KeptEnd::Closed)
        | Fault::Other
        | Fault::Declared => "ECONNRESET",
        Fault::BrokenPipe | Fault::Kept(KeptEnd::BrokenPipe) => "EPIPE",
        Fault::Refused => "ECONNREFUSED",
        Fault::Unreachable => "EHOSTUNREACH",
        Fault::DnsNotFound => "ENOTFOUND",
        Fault::DnsAgain => "EAI_AGAIN",
        Fault::Tls(TlsFault::UnknownIssuer) => "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
        Fault::Tls(TlsFault::SelfSigned) => "DEPTH_ZERO_SELF_SIGNED_CERT",
        Fault::Tls(TlsFault::SelfSignedInChain) => "SELF_SIGNED_CERT_IN_CHAIN",
        Fault::Tls(TlsFault::Expired) => "CERT_HAS_EXPIRED",
        Fault::Tls(TlsFault::NotYetValid) => "CERT_NOT_YET_VALID",
        Fault::Tls(TlsFault::WrongName) => "ERR_TLS_CERT_ALTNAME_INVALID",
        Fault::Tls(TlsFault::Closed) => "ECONNRESET",
        // No other alert can arrive after the client has completed the handshake.
        Fault::Tls(TlsFault::Alert(Alert::CertificateRequired)) => {
            "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"
        }
        Fault::Tls(_) => "EPROTO",
        Fault::Protocol(ProtocolFault::StatusLine) => "HPE_INVALID_CONSTANT",
        Fault::Protocol(ProtocolFault::Version) => "HPE_INVALID_VERSION",
        Fault::Protocol(ProtocolFault::Status) => "HPE_INVALID_STATUS",
        Fault::Protocol(ProtocolFault::Lengths) => "HPE_UNEXPECTED_CONTENT_LENGTH",
        Fault::Protocol(ProtocolFault::ChunkEnd) => "HPE_STRICT",
        Fault::Protocol(ProtocolFault::Header) => "HPE_INVALID_HEADER_TOKEN",
        Fault::Protocol(ProtocolFault::HeadTooLarge) => "HPE_HEADER_OVERFLOW",
        Fault::Protocol(ProtocolFault::ContentLength) => "HPE_INVALID_CONTENT_LENGTH",
        Fault::Protocol(ProtocolFault::ChunkSize) => "HPE_INVALID_CHUNK_SIZE",
        Fault::Protocol(ProtocolFault::Trailing | ProtocolFault::Http2 | ProtocolFault::Tls) => {
            "HPE_INVALID_CONSTANT"
        }
        Fault::Http2(_) => "ERR_HTTP2_STREAM_ERROR",
        // Scripts of native plans also receive names from Node.js.
        Fault::Stream(_) | Fault::WebSocket(_) | Fault::SocketIo(_) => {
            "ERR_READING_RESPONSE_STREAM"
        }
        Fault::TooManyRedirects => "ERR_TOO_MANY_REDIRECTS",
        // Node.js and `got` have no size limit and therefore no name for this fault.
        Fault::BodyTooLarge => "EMSGSIZE",
        Fault::Proxy => "ERR_PROXY_CONNECT",
        Fault::BadEncoding => "ERR_READING_RESPONSE_STREAM",
        Fault::NoDescriptors => "EMFILE",
        Fault::NoPorts => "EADDRNOTAVAIL",
        Fault::BadUrl => "ERR_INVALID_URL",
        // This occurs only with a fixed list of hosts. Node.js has no name for it.
        Fault::HostNotAllowed => "host not allowed",
        Fault::OutOfMemory => "ENOMEM",
    }
}
