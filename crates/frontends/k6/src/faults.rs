//! k6's error codes and texts for failed requests.

use measure::{
    Fault,
    outcome::{KeptEnd, TlsFault},
};
use script::k6::HttpError;

/// Returns the error for a request without a complete response.
pub fn error(fault: Fault) -> HttpError {
    let (code, text) = match fault {
        Fault::ResponseTimeout | Fault::IdleTimeout => (1050, "request timeout"),
        Fault::ConnectTimeout => (1211, "dial: i/o timeout"),
        Fault::Refused => (1212, "dial: connection refused"),
        Fault::DnsNotFound => (1101, "lookup: no such host"),
        Fault::DnsAgain => (1100, "lookup: the name server did not answer"),
        Fault::Unreachable => (1213, "dial: no route to host"),
        Fault::Reset | Fault::Kept(KeptEnd::Reset) => (1220, "read: connection reset by peer"),
        Fault::BrokenPipe | Fault::Kept(KeptEnd::BrokenPipe) => (1201, "write: broken pipe"),
        Fault::BadUrl => (1020, "invalid URL"),
        Fault::BadEncoding => (1701, "decompression failed"),
        Fault::Tls(TlsFault::Plain) => {
            (1301, "tls: first record does not look like a TLS handshake")
        }
        Fault::Tls(
            TlsFault::UnknownIssuer | TlsFault::SelfSigned | TlsFault::SelfSignedInChain,
        ) => (1310, "x509: unknown authority"),
        Fault::Tls(TlsFault::WrongName) => (1311, "x509: certificate doesn't match hostname"),
        Fault::Tls(_) => return described(1300, fault),
        Fault::Http2(_) => return described(1600, fault),
        _ => return described(1000, fault),
    };
    HttpError {
        code,
        text: text.to_owned(),
    }
}

fn described(code: u32, fault: Fault) -> HttpError {
    HttpError {
        code,
        text: fault.text().to_string(),
    }
}
