//! Socket.IO steps: what is emitted in a session, and which events are awaited.
//!
//! A session is opened by a request step with [`Request::socketio`](crate::Request::socketio). A
//! virtual user has one.

use serde::Serialize;

use crate::{At, template::Template, websocket::MessageExpectation};

/// Makes a request open a Socket.IO session. The request must be a GET without a body.
#[derive(Debug, Clone, Serialize)]
pub struct SocketIoConnect {
    /// Namespace to join.
    pub namespace: Template,
    /// Credentials for the namespace, sent as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<Template>,
    /// Whether the session begins with a WebSocket instead of polling.
    pub is_websocket: bool,
}

/// A step in an open Socket.IO session.
#[derive(Debug, Clone, Serialize)]
pub struct SocketIoStep {
    /// What the step does.
    pub action: SocketIoAction,
    /// Label of the samples without its leading verb, see [`SocketIoStep::verb`].
    pub label: String,
    /// Position in the file.
    pub at: Option<At>,
}

impl SocketIoStep {
    /// Returns the first word of the label. `None` if the step has no label, because nothing is
    /// timed.
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

    /// Returns what the arguments of the awaited acknowledgement or event must be.
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
    /// Joins another namespace, unless the user already has.
    Join {
        /// The namespace.
        namespace: Template,
        /// Credentials for the namespace, sent as JSON.
        #[serde(skip_serializing_if = "Option::is_none")]
        auth: Option<Template>,
    },
    /// Moves the session from polling to a WebSocket, if the server offers that.
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
    /// Arguments of the event, sent as JSON. A value without a name is sent as null.
    pub arguments: Vec<Template>,
    /// What the step waits for.
    pub awaits: EmitAwaits,
}

/// What a step that sends an event waits for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EmitAwaits {
    /// Nothing: the step ends when the event was sent.
    Nothing,
    /// The server's acknowledgement, whose arguments are a list.
    Ack(AckExpectation),
    /// An event.
    Event(Box<EventExpectation>),
}

/// An acknowledgement to wait for.
#[derive(Debug, Clone, Serialize)]
pub struct AckExpectation {
    /// What the arguments must be.
    pub fits: ArgumentMatch,
    /// Conditions of the list of arguments, and what is extracted from it.
    pub content: MessageExpectation,
}

/// An event to wait for.
#[derive(Debug, Clone, Serialize)]
pub struct EventExpectation {
    /// Namespace of the event.
    pub namespace: Template,
    /// Name of the event.
    pub event: Template,
    /// What the arguments must be.
    pub fits: ArgumentMatch,
    /// Conditions of the list of arguments, and what is extracted from it. An event that does not
    /// meet them is not the expected one.
    pub content: MessageExpectation,
}

/// What the arguments of an event or acknowledgement must be.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentMatch {
    /// Anything.
    #[default]
    Any,
    /// Artillery's rule. The arguments of all events with the name are collected until they fit, or
    /// until the time limit. Conditions and captures then apply to all of them, and a failed
    /// condition fails the step.
    Collected {
        /// A list must equal all collected arguments, and another value the last one. A text must
        /// be part of the last one. `None`: arguments are collected until the time limit.
        expected: Option<Template>,
        /// Whether the expected text is searched in the concatenated arguments.
        is_joined: bool,
    },
}
