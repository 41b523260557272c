//! Why an iteration ended before its last step.

use measure::{Fault, accumulator::Reason, sample::RequestOutcome};

/// The reason why an iteration ended early.
#[derive(Debug)]
pub(super) enum IterationAbort {
    /// A request had no complete response, or the run ended.
    Fault(Fault, Option<u32>),
    /// A request failed.
    Failed(measure::Failure),
    Answered(measure::Failure, Fault, u32),
    /// An operation on a WebSocket connection or in a Socket.IO session has no result.
    WebSocket(Fault),
    /// The server refused a WebSocket connection or a Socket.IO session with this HTTP status.
    /// Contains the step.
    Refused(u16, u32),
    /// A strict capture or match failed. Contains the step if it was a request.
    Capture(Option<u32>),
    /// A hook ended the iteration. Contains the names of the failed check and of the error.
    Unexpected(&'static str, String),
    /// The HTTP client of the original tool would not send the request, or the server refused the
    /// namespace of a session. Contains the name of the error and the step.
    NamedInStep(String, Fault, u32),
    /// A named error that does not concern a request.
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

    /// Describes why the iteration ended.
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

    /// Returns the error for a front end. `None` for a failure that only the plan's rules define,
    /// and if the iteration was left or the run ended.
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
