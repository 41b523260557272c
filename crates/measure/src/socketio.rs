//! Faults and counts of Socket.IO sessions.

use serde::{Deserialize, Serialize};

use crate::is_zero;

/// Why a Socket.IO operation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SocketIoFault {
    /// The server's answer is not the beginning of a session.
    BadHandshake,
    /// The server sent something that is not a packet.
    BadPacket,
    /// The server refused the namespace.
    Refused,
    /// The server refused a polling request.
    PollRefused,
    /// The server ended the session, or removed the user from the namespace.
    Disconnected,
    /// The session was lost with its connection.
    Lost,
    /// The server's pings stopped.
    PingTimeout,
    /// The step needs a session and a joined namespace, and one is missing.
    NotConnected,
}

impl SocketIoFault {
    /// All faults.
    pub const ALL: [SocketIoFault; 8] = [
        SocketIoFault::BadHandshake,
        SocketIoFault::BadPacket,
        SocketIoFault::Refused,
        SocketIoFault::PollRefused,
        SocketIoFault::Disconnected,
        SocketIoFault::Lost,
        SocketIoFault::PingTimeout,
        SocketIoFault::NotConnected,
    ];

    /// Returns the name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SocketIoFault::BadHandshake => "socketio_bad_handshake",
            SocketIoFault::BadPacket => "socketio_bad_packet",
            SocketIoFault::Refused => "socketio_refused",
            SocketIoFault::PollRefused => "socketio_poll_refused",
            SocketIoFault::Disconnected => "socketio_disconnected",
            SocketIoFault::Lost => "socketio_lost",
            SocketIoFault::PingTimeout => "socketio_ping_timeout",
            SocketIoFault::NotConnected => "socketio_not_connected",
        }
    }

    /// Returns a short text for users.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            SocketIoFault::BadHandshake => "not a Socket.IO server",
            SocketIoFault::BadPacket => "Socket.IO: invalid packet",
            SocketIoFault::Refused => "Socket.IO: namespace refused",
            SocketIoFault::PollRefused => "Socket.IO: polling request refused",
            SocketIoFault::Disconnected => "Socket.IO: disconnected by the server",
            SocketIoFault::Lost => "Socket.IO: connection lost",
            SocketIoFault::PingTimeout => "Socket.IO: pings of the server stopped",
            SocketIoFault::NotConnected => {
                "no Socket.IO session is open, or its namespace was not joined"
            }
        }
    }
}

/// Counts of Socket.IO sessions in one interval. A record leaves out those that are 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SocketIoCounts {
    /// Sessions opened.
    #[serde(skip_serializing_if = "is_zero")]
    pub opened: u64,
    /// Sessions and namespaces that the server refused.
    #[serde(skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// Sessions that moved from polling to a WebSocket.
    #[serde(skip_serializing_if = "is_zero")]
    pub upgraded: u64,
    /// Sessions that should have moved to a WebSocket, and stayed on polling.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_upgraded: u64,
    /// Sessions that this side closed.
    #[serde(skip_serializing_if = "is_zero")]
    pub closed_here: u64,
    /// Sessions that the server ended.
    #[serde(skip_serializing_if = "is_zero")]
    pub closed_by_server: u64,
    /// Sessions lost with their connection, or because the server violated the protocol.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Sessions given up because the server's pings stopped.
    #[serde(skip_serializing_if = "is_zero")]
    pub ping_timeouts: u64,
    /// Events sent.
    #[serde(skip_serializing_if = "is_zero")]
    pub sent: u64,
    /// Events received.
    #[serde(skip_serializing_if = "is_zero")]
    pub received: u64,
    /// Acknowledgements received.
    #[serde(skip_serializing_if = "is_zero")]
    pub acknowledged: u64,
    /// Received events and acknowledgements for which no step waited.
    #[serde(skip_serializing_if = "is_zero")]
    pub unclaimed: u64,
    /// Pings of servers, which were answered.
    #[serde(skip_serializing_if = "is_zero")]
    pub pings: u64,
    /// Polling requests, which receive or send.
    #[serde(skip_serializing_if = "is_zero")]
    pub polls: u64,
    /// Polling requests with another status than 200.
    #[serde(skip_serializing_if = "is_zero")]
    pub refused_polls: u64,
    /// Open sessions at the end of the interval.
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u64,
}

impl SocketIoCounts {
    /// Adds the counts of another worker in the same interval.
    pub fn join(&mut self, other: &SocketIoCounts) {
        self.open += other.open;
        self.add_counts(other);
    }

    /// Adds the counts of a later interval, whose level replaces this one.
    pub fn add(&mut self, later: &SocketIoCounts) {
        self.open = later.open;
        self.add_counts(later);
    }

    fn add_counts(&mut self, other: &SocketIoCounts) {
        self.opened += other.opened;
        self.refused += other.refused;
        self.upgraded += other.upgraded;
        self.not_upgraded += other.not_upgraded;
        self.closed_here += other.closed_here;
        self.closed_by_server += other.closed_by_server;
        self.lost += other.lost;
        self.ping_timeouts += other.ping_timeouts;
        self.sent += other.sent;
        self.received += other.received;
        self.acknowledged += other.acknowledged;
        self.unclaimed += other.unclaimed;
        self.pings += other.pings;
        self.polls += other.polls;
        self.refused_polls += other.refused_polls;
    }

    /// Returns the level without the counts.
    #[must_use]
    pub fn level(&self) -> SocketIoCounts {
        SocketIoCounts {
            open: self.open,
            ..SocketIoCounts::default()
        }
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == SocketIoCounts::default()
    }
}
