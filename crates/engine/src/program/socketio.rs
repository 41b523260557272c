//! Compiled steps in Socket.IO sessions.

use measure::LabelId;
use plan::{
    Problem,
    socketio::{EmitAwaits, SocketIoAction, SocketIoStep},
};

use super::ExpectedMessage;

/// A compiled step in a Socket.IO session.
#[derive(Debug, Clone)]
pub struct SessionStep {
    /// Label of the samples. `None` if the step is not timed.
    pub label: Option<LabelId>,
    /// Step as described in the plan.
    pub spec: SocketIoStep,
    /// Acknowledgement or event that the step waits for.
    pub expected: Option<ExpectedMessage>,
}

impl SessionStep {
    pub(super) fn compile(
        spec: &SocketIoStep,
        label: Option<LabelId>,
    ) -> Result<SessionStep, Problem> {
        let content = match &spec.action {
            SocketIoAction::Emit(emit) => match &emit.awaits {
                EmitAwaits::Nothing => None,
                EmitAwaits::Ack(ack) => Some(&ack.content),
                EmitAwaits::Event(event) => Some(&event.content),
            },
            SocketIoAction::Expect(event) => Some(&event.content),
            _ => None,
        };
        let expected = content.map(ExpectedMessage::compile).transpose();
        let expected = expected.map_err(|message| Problem {
            at: spec.at.clone(),
            message,
        })?;
        Ok(SessionStep {
            label,
            spec: spec.clone(),
            expected,
        })
    }
}
