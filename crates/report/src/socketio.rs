//! Figures of Socket.IO sessions.

use analysis::summary::{SocketIo, Summary};
use record::units::count;

use crate::facts::{self, Fact};

/// Returns all Socket.IO figures that are not zero. Empty if there was no Socket.IO session.
#[must_use]
pub fn facts(summary: &Summary) -> Vec<Fact> {
    let Some(socketio) = &summary.socketio else {
        return Vec::new();
    };
    facts::known([
        ("sessions", Some(sessions(socketio))),
        ("stayed on polling", some(socketio.not_upgraded)),
        ("refused by the server", some(socketio.refused)),
        ("ended by the server", some(socketio.closed_by_server)),
        ("lost sessions", some(socketio.lost)),
        ("pings stopped", some(socketio.ping_timeouts)),
        ("events", Some(events(socketio))),
        ("unclaimed", some(socketio.unclaimed)),
        ("pings answered", some(socketio.pings)),
        ("polling requests", polls(socketio)),
    ])
}

fn some(n: u64) -> Option<String> {
    (n > 0).then(|| count(n))
}

fn sessions(socketio: &SocketIo) -> String {
    let mut text = format!("{} opened", count(socketio.opened));
    for (n, what) in [
        (socketio.upgraded, "moved to a WebSocket"),
        (socketio.closed_here, "closed by Loadline"),
        (socketio.open, "open at the end"),
    ] {
        if n > 0 {
            text.push_str(&format!(", {} {what}", count(n)));
        }
    }
    text
}

fn events(socketio: &SocketIo) -> String {
    let mut text = format!(
        "{} sent, {} received",
        count(socketio.sent),
        count(socketio.received)
    );
    if socketio.acknowledged > 0 {
        text.push_str(&format!(", {} acknowledged", count(socketio.acknowledged)));
    }
    text
}

fn polls(socketio: &SocketIo) -> Option<String> {
    let polls = some(socketio.polls)?;
    Some(match socketio.refused_polls {
        0 => polls,
        n => format!("{polls}, {} with another status than 200", count(n)),
    })
}
