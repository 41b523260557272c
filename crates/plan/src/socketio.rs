//! Socket.IO steps: emitting events in a session, and waiting for events.
//!
//! A request step with [`Request::socketio`](crate::Request::socketio) opens the session. A virtual
//! user has at most one session.

use serde::Serialize;

use crate::{At, template::Template, websocket::MessageExpectation};

/// Settings for a request that opens a Socket.IO session. The request must be a GET without a body.
#[derive(Debug, Clone, Serialize)]
pub struct SocketIoConnect {
    /// Namespace to join.
    pub namespace: Template,
    /// Credentials for the namespace, sent as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<Template>,
    /// Whether the session starts on a WebSocket instead of polling.
    pub is_websocket: bool,
}

/// A step in an open Socket.IO session.
#[derive(Debug, Clone, Serialize)]
pub struct SocketIoStep {
    /// What the step does.
    pub action: SocketIoAction,
    /// Label of the samples, without the verb that [`SocketIoStep::verb`] returns.
    pub label: String,
    /// Position in the file.
    pub at: Option<At>,
}

impl SocketIoStep {
    /// Returns the first word of the label. `None` if the step is not timed and has no label.
    #[must_use]
    pub fn verb(&self) -> Option<&'static str> {
        match self.action {
            SocketIoAction::Join { .. } => Some("CONNECT"),
            SocketIoAction::Upgrade => Some("UPGRADE"),
            SocketIoAction::Emit(_) => Some("EMIT"),
            SocketIoAction::Expect(_) => Some("EXPECT"),
            SocketIoAction::Listen(_) | SocketIoAction::Close => None,
        }
    }

    /// Returns the condition on the arguments of the awaited acknowledgement or event.
    #[must_use]
    pub fn argument_match(&self) -> &ArgumentMatch {
        match &self.action {
            SocketIoAction::Emit(emit) => match &emit.awaits {
                EmitAwaits::Nothing => &ArgumentMatch::Any,
                EmitAwaits::Ack(ack) => &ack.fits,
                EmitAwaits::Event(event) => &event.fits,
            },
            SocketIoAction::Expect(event) => &event.fits,
            _ => &ArgumentMatch::Any,
        }
    }
}

/// What a Socket.IO step does.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketIoAction {
    /// Joins another namespace, unless the user is already in it.
    Join {
        /// The namespace.
        namespace: Template,
        /// Credentials for the namespace, sent as JSON.
        #[serde(skip_serializing_if = "Option::is_none")]
        auth: Option<Template>,
    },
    /// Upgrades the session from polling to a WebSocket, if the server supports that.
    Upgrade,
    /// Sends an event, and waits for its acknowledgement or for another event.
    Emit(Box<Emit>),
    /// Waits for an event.
    Expect(Box<EventExpectation>),
    /// Reads and counts events for this time, in nanoseconds.
    Listen(u64),
    /// Closes the session.
    Close,
}

/// An event to send.
#[derive(Debug, Clone, Serialize)]
pub struct Emit {
    /// Namespace of the event.
    pub namespace: Template,
    /// Name of the event.
    pub event: Template,
    /// Arguments of the event, sent as JSON. Undefined values are sent as null.
    pub arguments: Vec<Template>,
    /// What the step waits for after sending.
    pub awaits: EmitAwaits,
}

/// What a step waits for after it sent an event.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EmitAwaits {
    /// Nothing. The step ends as soon as the event is sent.
    Nothing,
    /// The server's acknowledgement, whose arguments form a list.
    Ack(AckExpectation),
    /// An event.
    Event(Box<EventExpectation>),
}

/// An acknowledgement to wait for.
#[derive(Debug, Clone, Serialize)]
pub struct AckExpectation {
    /// Condition on the arguments.
    pub fits: ArgumentMatch,
    /// Conditions on the list of arguments, and values to extract from it.
    pub content: MessageExpectation,
}

/// An event to wait for.
#[derive(Debug, Clone, Serialize)]
pub struct EventExpectation {
    /// Namespace of the event.
    pub namespace: Template,
    /// Name of the event.
    pub event: Template,
    /// Condition on the arguments.
    pub fits: ArgumentMatch,
    /// Conditions on the list of arguments, and values to extract from it. The step continues to
    /// wait if an event does not meet them.
    pub content: MessageExpectation,
}

/// A condition on the arguments of an event or acknowledgement.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentMatch {
    /// Any arguments.
    #[default]
    Any,
    /// Artillery's rule. The arguments of all events with the name are collected until they match
    /// or the time limit expires. Conditions and captures then apply to all of the arguments, and a
    /// failed condition fails the step.
    Collected {
        /// Expected value. A list must equal all collected arguments. Any other value must equal
        /// the last argument, and a text only needs to be part of it. `None` means that arguments
        /// are collected until the time limit.
        expected: Option<Template>,
        /// Whether to search for the expected text in the concatenated arguments.
        is_joined: bool,
    },
}
