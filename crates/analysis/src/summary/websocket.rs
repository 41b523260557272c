//! WebSocket connections and messages in the summary.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use record::Run;

/// WebSocket connections and messages of the whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebSocket {
    /// Connections opened.
    pub opened: u64,
    /// Upgrades that the server refused, or answered with an invalid handshake.
    pub refused: u64,
    /// Connections open at the end of the run.
    pub open: u64,
    /// Connections that Loadline closed.
    pub closed_here: u64,
    /// Number of connections that the server closed, by close code. 1005 means that it sent no
    /// code.
    pub closed_by_server: BTreeMap<String, u64>,
    /// Connections that ended without a close frame from the server, because of a protocol
    /// violation, or for lack of memory.
    pub lost: u64,
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Received messages that no step waited for.
    pub unclaimed: u64,
    /// Pings received from servers and answered.
    pub pings: u64,
    /// Bytes of frames sent, including frame headers.
    pub bytes_sent: u64,
    /// Bytes of frames received, including frame headers.
    pub bytes_received: u64,
}

/// Returns the WebSocket figures of a run. `None` if no request for a connection got a response.
pub(super) fn row(run: &Run) -> Option<WebSocket> {
    let counts = &run.totals.rows.websocket;
    if counts.opened + counts.refused == 0 {
        return None;
    }
    let closed = counts.closed_by_server.iter();
    Some(WebSocket {
        opened: counts.opened,
        refused: counts.refused,
        open: counts.open,
        closed_here: counts.closed_here,
        closed_by_server: closed.map(|(code, n)| (code.to_string(), *n)).collect(),
        lost: counts.lost,
        sent: counts.sent,
        received: counts.received,
        unclaimed: counts.unclaimed,
        pings: counts.pings,
        bytes_sent: counts.bytes_sent,
        bytes_received: counts.bytes_received,
    })
}
