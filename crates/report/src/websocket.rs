//! Figures of WebSocket connections as text.

use analysis::summary::{Summary, WebSocket};
use record::units::{self, count};

use crate::facts::{self, Fact};

/// Returns all WebSocket figures that are not zero. Empty if there was no WebSocket connection.
#[must_use]
pub fn facts(summary: &Summary) -> Vec<Fact> {
    let Some(websocket) = &summary.websocket else {
        return Vec::new();
    };
    facts::known([
        ("connections", Some(connections(websocket))),
        ("closed by the server", closed(websocket)),
        ("lost connections", some(websocket.lost)),
        ("failed upgrades", some(websocket.refused)),
        ("messages", Some(messages(websocket))),
        ("unclaimed", some(websocket.unclaimed)),
        ("pings answered", some(websocket.pings)),
    ])
}

fn some(n: u64) -> Option<String> {
    (n > 0).then(|| count(n))
}

fn connections(websocket: &WebSocket) -> String {
    let mut text = format!("{} opened", count(websocket.opened));
    for (n, what) in [
        (websocket.closed_here, "closed by Loadline"),
        (websocket.open, "open at the end"),
    ] {
        if n > 0 {
            text.push_str(&format!(", {} {what}", count(n)));
        }
    }
    text
}

fn closed(websocket: &WebSocket) -> Option<String> {
    let closed = websocket.closed_by_server.iter();
    let closed: Vec<String> = closed
        .map(|(code, n)| format!("{code} × {}", count(*n)))
        .collect();
    (!closed.is_empty()).then(|| closed.join(", "))
}

fn messages(websocket: &WebSocket) -> String {
    format!(
        "{} sent ({}), {} received ({})",
        count(websocket.sent),
        units::bytes(websocket.bytes_sent),
        count(websocket.received),
        units::bytes(websocket.bytes_received)
    )
}
