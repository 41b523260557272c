//! Artillery's names of errors, most of which come from Node.js.

use measure::{Fault, accumulator::Reason};
pub use script::js::fault_name;

#[must_use]
pub fn error_name<'a>(reason: &Reason<'a>) -> &'a str {
    match reason {
        Reason::Fault(fault) => fault_name(*fault),
        Reason::WebSocket(Fault::ResponseTimeout) => "response timeout",
        Reason::WebSocket(fault) => fault.text(),
        Reason::Refused(_) => "Unexpected server response",
        Reason::Capture => "Failed capture or match",
        Reason::Named(name) => name,
    }
}
