//! WebSocket steps: sending messages on a connection, and waiting for messages.
//!
//! A request step with [`Request::websocket`](crate::Request::websocket) opens the connection.

use serde::Serialize;

use crate::{
    At,
    scenario::{Capture, ResponseCheck},
    template::Template,
};

/// Settings for a request that opens a WebSocket connection. The request must be a GET without a
/// body.
#[derive(Debug, Clone, Serialize)]
pub struct WebSocketConnect {
    /// Name by which later steps refer to the connection. Empty if there is only one connection.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub connection: String,
    /// Subprotocols to offer, in order of preference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subprotocols: Vec<Template>,
    /// Compression to offer to the server.
    pub deflate: WebSocketDeflate,
}

/// Compression to offer to the server (permessage-deflate).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WebSocketDeflate {
    /// No compression.
    #[default]
    Off,
    /// Each message is compressed independently, so that a connection needs no memory for
    /// compression.
    EachMessage,
    /// Messages may refer to earlier ones, as browsers allow. A connection needs up to 300 kB.
    Full,
}

/// A step on an open WebSocket connection.
#[derive(Debug, Clone, Serialize)]
pub struct WebSocketStep {
    /// Name of the connection. Empty if there is only one connection.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub connection: String,
    /// What the step does.
    pub action: WebSocketAction,
    /// Label of the samples, without the verb that [`WebSocketStep::verb`] returns.
    pub label: String,
    /// Position in the file.
    pub at: Option<At>,
}

impl WebSocketStep {
    /// Returns the first word of the label. `None` if the step is not timed and has no label.
    #[must_use]
    pub fn verb(&self) -> Option<&'static str> {
        match self.action {
            WebSocketAction::Send { .. } => Some("SEND"),
            WebSocketAction::Expect(_) => Some("EXPECT"),
            WebSocketAction::Listen(_) | WebSocketAction::Close(_) => None,
        }
    }
}

/// What a WebSocket step does.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WebSocketAction {
    /// Sends a message, and waits for a message if `expect` is set.
    Send {
        /// The text to send. A mapping or list is sent as JSON.
        payload: Template,
        /// Message to wait for.
        #[serde(skip_serializing_if = "Option::is_none")]
        expect: Option<MessageExpectation>,
    },
    /// Waits for a message.
    Expect(MessageExpectation),
    /// Reads and counts messages for this time, in nanoseconds.
    Listen(u64),
    /// Closes the connection with this code.
    Close(u16),
}

/// The messages to wait for.
#[derive(Debug, Clone, Serialize)]
pub struct MessageExpectation {
    /// Conditions that an awaited message meets. Other messages count as unclaimed. Without
    /// conditions, any message matches.
    pub conditions: Vec<ResponseCheck>,
    /// Number of messages to wait for.
    pub count: u32,
    /// Time limit in nanoseconds. `None` means the time limit of requests.
    pub within_ns: Option<u64>,
    /// Values to extract from the last awaited message.
    pub captures: Vec<Capture>,
}

impl Default for MessageExpectation {
    fn default() -> Self {
        MessageExpectation {
            conditions: Vec::new(),
            count: 1,
            within_ns: None,
            captures: Vec::new(),
        }
    }
}
