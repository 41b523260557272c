//! Socket.IO sessions and events in the summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use record::Run;

/// Socket.IO sessions and events of the whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SocketIo {
    /// Sessions opened.
    pub opened: u64,
    /// Sessions and namespaces that the server refused.
    pub refused: u64,
    /// Sessions that moved from polling to a WebSocket.
    pub upgraded: u64,
    /// Sessions that should have moved to a WebSocket, and stayed on polling.
    pub not_upgraded: u64,
    /// Sessions open at the end of the run.
    pub open: u64,
    /// Sessions that Loadline closed.
    pub closed_here: u64,
    /// Sessions that the server ended.
    pub closed_by_server: u64,
    /// Sessions lost with their connection, or because the server violated the protocol.
    pub lost: u64,
    /// Sessions given up because the server's pings stopped.
    pub ping_timeouts: u64,
    /// Events sent.
    pub sent: u64,
    /// Events received.
    pub received: u64,
    /// Acknowledgements received.
    pub acknowledged: u64,
    /// Received events and acknowledgements for which no step waited.
    pub unclaimed: u64,
    /// Pings of the server, which were answered.
    pub pings: u64,
    /// Polling requests, which receive or send.
    pub polls: u64,
    /// Polling requests with another status than 200. A load balancer that sends the requests of a
    /// session to different servers causes status 400.
    pub refused_polls: u64,
}

/// Returns `None` if no step asked for a session that got an answer.
pub(super) fn row(run: &Run) -> Option<SocketIo> {
    let counts = &run.totals.rows.socketio;
    if counts.opened + counts.refused + counts.polls == 0 {
        return None;
    }
    Some(SocketIo {
        opened: counts.opened,
        refused: counts.refused,
        upgraded: counts.upgraded,
        not_upgraded: counts.not_upgraded,
        open: counts.open,
        closed_here: counts.closed_here,
        closed_by_server: counts.closed_by_server,
        lost: counts.lost,
        ping_timeouts: counts.ping_timeouts,
        sent: counts.sent,
        received: counts.received,
        acknowledged: counts.acknowledged,
        unclaimed: counts.unclaimed,
        pings: counts.pings,
        polls: counts.polls,
        refused_polls: counts.refused_polls,
    })
}
