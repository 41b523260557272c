//! Compiled steps on WebSocket connections.

use measure::LabelId;
use plan::{
    Problem,
    listen::stamps_of,
    template::Template,
    websocket::{MessageExpectation, WebSocketAction, WebSocketStep},
};

use super::{Interest, captures::ContentRules};

/// Variable that holds the number of the message on its connection.
pub(crate) const SEQUENCE: &str = "$seq";

/// A compiled step on a WebSocket connection.
#[derive(Debug, Clone)]
pub struct MessageStep {
    /// Label of the samples. `None` if nothing is timed.
    pub label: Option<LabelId>,
    /// The step of the plan.
    pub spec: WebSocketStep,
    /// What the step sends. `None` if it only waits.
    pub payload: Option<Template>,
    /// The message that the step waits for.
    pub expected: Option<ExpectedMessage>,
    /// Whether the step reads the number of the message.
    pub uses_sequence: bool,
    /// Whether the step publishes a message that listeners recognize.
    pub publishes: bool,
}

/// A compiled expectation.
#[derive(Debug, Clone)]
pub struct ExpectedMessage {
    /// Conditions of the message, and what is extracted from it.
    pub content: ContentRules,
    /// Number of messages.
    pub count: u32,
    /// Time limit in nanoseconds. `None` means the limit of requests.
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
            // All uses of a variable's name are in the strings of the step.
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
