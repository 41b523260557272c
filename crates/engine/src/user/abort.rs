//! Reasons why an iteration ended before its last step.

use measure::{Fault, accumulator::Reason, sample::RequestOutcome};

/// Why an iteration ended early.
#[derive(Debug)]
pub(super) enum IterationAbort {
    /// A request had no complete response, or the run ended. Contains the step if it was a request.
    Fault(Fault, Option<u32>),
    /// A request failed.
    Failed(measure::Failure),
    Answered(measure::Failure, Fault, u32),
    /// A WebSocket or Socket.IO operation failed.
    WebSocket(Fault),
    /// The server refused a WebSocket connection or a Socket.IO session with this HTTP status.
    /// Contains the step.
    Refused(u16, u32),
    /// A strict capture or match failed. Contains the step if it was a request.
    Capture(Option<u32>),
    /// A hook ended the iteration. Contains the names of the failed check and of the error.
    Unexpected(&'static str, String),
    /// The original tool's HTTP client would not have sent the request, or the server refused a
    /// session's namespace. Contains the name of the error, the fault and the step.
    NamedInStep(String, Fault, u32),
    /// A named error that does not belong to a request.
    Named(String, Fault),
    Left,
}

impl IterationAbort {
    pub(super) fn ended(&self) -> RequestOutcome {
        match self {
            IterationAbort::Fault(fault, _)
            | IterationAbort::WebSocket(fault)
            | IterationAbort::NamedInStep(_, fault, _)
            | IterationAbort::Named(_, fault) => RequestOutcome::Unanswered(*fault),
            IterationAbort::Failed(failure) | IterationAbort::Answered(failure, ..) => {
                RequestOutcome::Failed(*failure)
            }
            IterationAbort::Refused(status, _) => {
                RequestOutcome::Failed(measure::Failure::Status(*status))
            }
            IterationAbort::Capture(_) => RequestOutcome::Failed(measure::Failure::Capture),
            IterationAbort::Unexpected(kind, _) => {
                RequestOutcome::Failed(measure::Failure::Check(kind))
            }
            IterationAbort::Left => RequestOutcome::Ok,
        }
    }

    /// Returns a description of the reason for the user.
    pub(super) fn reason(&self) -> String {
        match self {
            IterationAbort::Fault(fault, _)
            | IterationAbort::WebSocket(fault)
            | IterationAbort::Answered(_, fault, _) => fault.text().to_owned(),
            IterationAbort::Failed(failure) => failure.to_string(),
            IterationAbort::Refused(status, _) => measure::Failure::Status(*status).to_string(),
            IterationAbort::Capture(_) => "Failed capture or match".to_owned(),
            IterationAbort::Named(name, _)
            | IterationAbort::NamedInStep(name, ..)
            | IterationAbort::Unexpected(_, name) => name.clone(),
            IterationAbort::Left => String::new(),
        }
    }

    /// Returns the error to report to a front end. `None` for a failure that only the plan's rules
    /// define, for an exit step, and at the end of the run.
    pub(super) fn to_accumulator(&self) -> Option<Reason<'_>> {
        match self {
            IterationAbort::Fault(Fault::Unfinished, _)
            | IterationAbort::WebSocket(Fault::Unfinished)
            | IterationAbort::Failed(_)
            | IterationAbort::Left => None,
            IterationAbort::Fault(fault, _) | IterationAbort::Answered(_, fault, _) => {
                Some(Reason::Fault(*fault))
            }
            IterationAbort::WebSocket(fault) => Some(Reason::WebSocket(*fault)),
            IterationAbort::Refused(status, _) => Some(Reason::Refused(*status)),
            IterationAbort::Capture(_) => Some(Reason::Capture),
            IterationAbort::NamedInStep(name, ..)
            | IterationAbort::Unexpected(_, name)
            | IterationAbort::Named(name, _) => Some(Reason::Named(name)),
        }
    }
}
