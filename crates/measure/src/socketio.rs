//! Faults and counts of Socket.IO sessions.

use serde::{Deserialize, Serialize};

use crate::is_zero;

/// Why a Socket.IO operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SocketIoFault {
    /// The server's response does not open a session.
    BadHandshake,
    /// The server sent data that is not a packet.
    BadPacket,
    /// The server refused the namespace.
    Refused,
    /// The server refused a polling request.
    PollRefused,
    /// The server closed the session, or disconnected the user from the namespace.
    Disconnected,
    /// The connection of the session was lost.
    Lost,
    /// The server stopped sending pings.
    PingTimeout,
    /// The step needs an open session and a joined namespace.
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

/// Counts of Socket.IO sessions in one interval. A record omits counts that are 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SocketIoCounts {
    /// Sessions opened.
    #[serde(skip_serializing_if = "is_zero")]
    pub opened: u64,
    /// Sessions and namespaces that the server refused.
    #[serde(skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// Sessions upgraded from polling to a WebSocket.
    #[serde(skip_serializing_if = "is_zero")]
    pub upgraded: u64,
    /// Sessions that failed to upgrade to a WebSocket and continued with polling.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_upgraded: u64,
    /// Sessions that the client closed.
    #[serde(skip_serializing_if = "is_zero")]
    pub closed_here: u64,
    /// Sessions that the server closed.
    #[serde(skip_serializing_if = "is_zero")]
    pub closed_by_server: u64,
    /// Sessions whose connection was lost, or whose server violated the protocol.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Sessions closed because the server stopped sending pings.
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
    /// Received events and acknowledgements that no step waited for.
    #[serde(skip_serializing_if = "is_zero")]
    pub unclaimed: u64,
    /// Pings received from servers and answered.
    #[serde(skip_serializing_if = "is_zero")]
    pub pings: u64,
    /// Polling requests, for sending or for receiving.
    #[serde(skip_serializing_if = "is_zero")]
    pub polls: u64,
    /// Polling requests with a status other than 200.
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

    /// Adds the counts of a later interval. Its level replaces the current one.
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

    /// Returns a copy with the level, and without the counts.
    #[must_use]
    pub fn level(&self) -> SocketIoCounts {
        SocketIoCounts {
            open: self.open,
            ..SocketIoCounts::default()
        }
    }

    /// Returns whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == SocketIoCounts::default()
    }
}
