//! Faults and counts of WebSocket connections.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::is_zero;

/// Why a WebSocket operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WebSocketFault {
    /// The server answered the upgrade with 101, but violated the rules of the handshake.
    BadUpgrade,
    /// The server sent invalid frames.
    BadFrame,
    /// A message is too large.
    TooLarge,
    /// A text is not UTF-8.
    BadText,
    /// The server closed the connection with a close code for a normal end.
    Closed,
    /// The server closed the connection with a close code for an error.
    ClosedWithError,
    /// The connection ended without a close frame.
    Lost,
    /// The step needs an open connection.
    NotConnected,
}

impl WebSocketFault {
    /// All faults.
    pub const ALL: [WebSocketFault; 8] = [
        WebSocketFault::BadUpgrade,
        WebSocketFault::BadFrame,
        WebSocketFault::TooLarge,
        WebSocketFault::BadText,
        WebSocketFault::Closed,
        WebSocketFault::ClosedWithError,
        WebSocketFault::Lost,
        WebSocketFault::NotConnected,
    ];

    /// Returns the name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WebSocketFault::BadUpgrade => "websocket_bad_upgrade",
            WebSocketFault::BadFrame => "websocket_bad_frame",
            WebSocketFault::TooLarge => "websocket_too_large",
            WebSocketFault::BadText => "websocket_bad_text",
            WebSocketFault::Closed => "websocket_closed",
            WebSocketFault::ClosedWithError => "websocket_closed_with_error",
            WebSocketFault::Lost => "websocket_lost",
            WebSocketFault::NotConnected => "websocket_not_connected",
        }
    }

    /// Returns a short text for users.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            WebSocketFault::BadUpgrade => "not a WebSocket server: bad upgrade",
            WebSocketFault::BadFrame => "WebSocket: invalid frame",
            WebSocketFault::TooLarge => "WebSocket: message too large",
            WebSocketFault::BadText => "WebSocket: text is not UTF-8",
            WebSocketFault::Closed => "WebSocket closed by the server",
            WebSocketFault::ClosedWithError => "WebSocket closed by the server with an error",
            WebSocketFault::Lost => "WebSocket connection lost",
            WebSocketFault::NotConnected => "no WebSocket connection is open",
        }
    }
}

/// Counts of WebSocket connections in one interval. A record omits counts that are 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WebSocketCounts {
    /// Connections opened.
    #[serde(skip_serializing_if = "is_zero")]
    pub opened: u64,
    /// Upgrades that the server refused, or answered with an invalid handshake.
    #[serde(skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// Connections that the client closed.
    #[serde(skip_serializing_if = "is_zero")]
    pub closed_here: u64,
    /// Connections that ended without a close frame from the server, because of a protocol
    /// violation, or for lack of memory.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Messages sent.
    #[serde(skip_serializing_if = "is_zero")]
    pub sent: u64,
    /// Messages received.
    #[serde(skip_serializing_if = "is_zero")]
    pub received: u64,
    /// Received messages that no step waited for.
    #[serde(skip_serializing_if = "is_zero")]
    pub unclaimed: u64,
    /// Pings received from servers and answered.
    #[serde(skip_serializing_if = "is_zero")]
    pub pings: u64,
    /// Bytes of frames sent, including frame headers.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes_sent: u64,
    /// Bytes of frames received, including frame headers.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes_received: u64,
    /// Open connections at the end of the interval.
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u64,
    /// Number of connections that servers closed, by close code.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub closed_by_server: BTreeMap<u16, u64>,
}

impl WebSocketCounts {
    /// Adds the counts of another worker in the same interval.
    pub fn join(&mut self, other: &WebSocketCounts) {
        self.open += other.open;
        self.add_counts(other);
    }

    /// Adds the counts of a later interval. Its level replaces the current one.
    pub fn add(&mut self, later: &WebSocketCounts) {
        self.open = later.open;
        self.add_counts(later);
    }

    fn add_counts(&mut self, other: &WebSocketCounts) {
        self.opened += other.opened;
        self.refused += other.refused;
        self.closed_here += other.closed_here;
        self.lost += other.lost;
        self.sent += other.sent;
        self.received += other.received;
        self.unclaimed += other.unclaimed;
        self.pings += other.pings;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        for (code, n) in &other.closed_by_server {
            *self.closed_by_server.entry(*code).or_default() += n;
        }
    }

    /// Returns a copy with the level, and without the counts.
    #[must_use]
    pub fn level(&self) -> WebSocketCounts {
        WebSocketCounts {
            open: self.open,
            ..WebSocketCounts::default()
        }
    }

    /// Returns whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == WebSocketCounts::default()
    }
}
