//! Compiled steps on WebSocket connections.

use measure::LabelId;
use plan::{
    Problem,
    listen::stamps_of,
    template::Template,
    websocket::{MessageExpectation, WebSocketAction, WebSocketStep},
};

use super::{Interest, captures::ContentRules};

/// Variable that contains the message number on its connection.
pub(crate) const SEQUENCE: &str = "$seq";

/// A compiled step on a WebSocket connection.
#[derive(Debug, Clone)]
pub struct MessageStep {
    /// Label of the samples. `None` if the step is not timed.
    pub label: Option<LabelId>,
    /// Step as described in the plan.
    pub spec: WebSocketStep,
    /// Message to send. `None` if the step only waits.
    pub payload: Option<Template>,
    /// Messages that the step waits for.
    pub expected: Option<ExpectedMessage>,
    /// Whether the step uses the message number.
    pub uses_sequence: bool,
    /// Whether the step publishes a message that listeners recognize.
    pub publishes: bool,
}

/// Compiled conditions for the messages that a step waits for.
#[derive(Debug, Clone)]
pub struct ExpectedMessage {
    /// Conditions of the message, and values to extract from it.
    pub content: ContentRules,
    /// Number of messages to wait for.
    pub count: u32,
    /// Time limit in nanoseconds. `None` means the time limit of requests.
    pub within_ns: Option<u64>,
}

impl MessageStep {
    pub(super) fn compile(
        spec: &WebSocketStep,
        label: Option<LabelId>,
    ) -> Result<MessageStep, Problem> {
        let (payload, expected) = match &spec.action {
            WebSocketAction::Send { payload, expect } => (Some(payload), expect.as_ref()),
            WebSocketAction::Expect(expect) => (None, Some(expect)),
            WebSocketAction::Listen(_) | WebSocketAction::Close(_) => (None, None),
        };
        let expected = expected.map(ExpectedMessage::compile).transpose();
        let expected = expected.map_err(|message| Problem {
            at: spec.at.clone(),
            message,
        })?;
        Ok(MessageStep {
            label,
            payload: payload.cloned(),
            expected,
            // The strings of the step contain every use of a variable's name.
            uses_sequence: serde_json::to_string(spec).is_ok_and(|text| text.contains(SEQUENCE)),
            publishes: payload.is_some_and(|payload| stamps_of(payload) > 0),
            spec: spec.clone(),
        })
    }
}

impl ExpectedMessage {
    pub(super) fn compile(expect: &MessageExpectation) -> Result<ExpectedMessage, String> {
        let looks = Interest::default();
        let mut paths = Vec::new();
        let content =
            ContentRules::compile(&expect.captures, &expect.conditions, looks, &mut paths)?;
        Ok(ExpectedMessage {
            content,
            count: expect.count.max(1),
            within_ns: expect.within_ns,
        })
    }
}
