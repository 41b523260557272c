//! Artillery's names for errors, most of which come from Node.js.

use std::borrow::Cow;

use measure::{
    Fault,
    accumulator::Reason,
    outcome::{SocketIoFault, TlsFault, WebSocketFault},
};
pub use script::js::fault_name;

const NOT_OPEN: &str = "WebSocket is not open: readyState 3 (CLOSED)";

#[must_use]
pub fn error_name<'a>(reason: &Reason<'a>) -> Cow<'a, str> {
    match reason {
        Reason::Fault(fault) => fault_name(*fault).into(),
        Reason::WebSocket(fault) => message_error(*fault).into(),
        Reason::Refused(status) => format!("Unexpected server response: {status}").into(),
        Reason::Capture => "Failed capture or match".into(),
        Reason::Named(name) => (*name).into(),
    }
}

/// Returns the error message for a step that sends or waits.
fn message_error(fault: Fault) -> &'static str {
    match fault {
        Fault::ResponseTimeout => "response timeout",
        Fault::WebSocket(
            WebSocketFault::Closed
            | WebSocketFault::ClosedWithError
            | WebSocketFault::Lost
            | WebSocketFault::NotConnected,
        ) => NOT_OPEN,
        Fault::SocketIo(SocketIoFault::Disconnected) => "io server disconnect",
        Fault::SocketIo(SocketIoFault::Lost) => "transport close",
        Fault::SocketIo(SocketIoFault::PingTimeout) => "ping timeout",
        Fault::SocketIo(SocketIoFault::BadPacket) => "parse error",
        Fault::SocketIo(SocketIoFault::PollRefused) => "xhr poll error",
        Fault::WebSocket(fault) => fault.text(),
        Fault::SocketIo(fault) => fault.text(),
        fault => fault_name(fault),
    }
}

/// Returns the error message for a WebSocket connection that cannot be opened. `authority` is the
/// host and port of its URL, or empty if they are unknown.
#[must_use]
pub fn connect_error(fault: Fault, authority: &str) -> Cow<'static, str> {
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, _)| host);
    let name = fault_name(fault);
    match fault {
        Fault::Refused | Fault::Unreachable if !authority.is_empty() => {
            format!("connect {name} {authority}").into()
        }
        Fault::DnsNotFound | Fault::DnsAgain if !host.is_empty() => {
            format!("getaddrinfo {name} {host}").into()
        }
        Fault::ResponseTimeout | Fault::ConnectTimeout => "Opening handshake has timed out".into(),
        Fault::Reset => "read ECONNRESET".into(),
        Fault::ClosedEarly => "socket hang up".into(),
        Fault::Tls(TlsFault::UnknownIssuer) => "unable to verify the first certificate".into(),
        Fault::Tls(TlsFault::SelfSigned) => "self-signed certificate".into(),
        Fault::Tls(TlsFault::SelfSignedInChain) => {
            "self-signed certificate in certificate chain".into()
        }
        Fault::Tls(TlsFault::Expired) => "certificate has expired".into(),
        Fault::Tls(TlsFault::NotYetValid) => "certificate is not yet valid".into(),
        Fault::WebSocket(fault) => fault.text().into(),
        _ => name.into(),
    }
}

/// Returns the error message for a Socket.IO session that cannot be opened.
#[must_use]
pub fn session_error<'a>(reason: &Reason<'a>, is_websocket: bool) -> Cow<'a, str> {
    match reason {
        Reason::Named(message) => format!("Error: {message}").into(),
        Reason::Fault(Fault::SocketIo(SocketIoFault::BadHandshake)) => "Error: server error".into(),
        Reason::Fault(Fault::ResponseTimeout | Fault::ConnectTimeout) => "Error: timeout".into(),
        _ if is_websocket => "Error: websocket error".into(),
        _ => "Error: xhr poll error".into(),
    }
}
