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
    /// Sessions upgraded from polling to a WebSocket.
    pub upgraded: u64,
    /// Sessions that failed to upgrade to a WebSocket and continued with polling.
    pub not_upgraded: u64,
    /// Sessions open at the end of the run.
    pub open: u64,
    /// Sessions that Loadline closed.
    pub closed_here: u64,
    /// Sessions that the server closed.
    pub closed_by_server: u64,
    /// Sessions whose connection was lost, or whose server violated the protocol.
    pub lost: u64,
    /// Sessions closed because the server stopped sending pings.
    pub ping_timeouts: u64,
    /// Events sent.
    pub sent: u64,
    /// Events received.
    pub received: u64,
    /// Acknowledgements received.
    pub acknowledged: u64,
    /// Received events and acknowledgements that no step waited for.
    pub unclaimed: u64,
    /// Pings received from servers and answered.
    pub pings: u64,
    /// Polling requests, for sending or for receiving.
    pub polls: u64,
    /// Polling requests with a status other than 200. A load balancer that sends the requests of a
    /// session to different servers causes status 400.
    pub refused_polls: u64,
}

/// Returns the Socket.IO figures of a run. `None` if no request for a session got a response.
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
