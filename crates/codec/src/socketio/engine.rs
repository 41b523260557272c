//! Engine.IO packets: one character for the type, followed by the content.

use serde::Deserialize;

/// Character between the packets of a polling request or response.
pub const SEPARATOR: char = '\u{1e}';
/// Content of the ping and pong that test a WebSocket before a session is upgraded to it.
pub const PROBE: &str = "probe";

/// A packet of Engine.IO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnginePacket<'a> {
    /// Opens the session. Contains the [`Handshake`].
    Open(&'a str),
    /// Closes the session.
    Close,
    /// Requests a pong with the same content.
    Ping(&'a str),
    /// Answers a ping.
    Pong(&'a str),
    /// Contains a Socket.IO packet.
    Message(&'a str),
    /// Upgrades the session to this transport.
    Upgrade,
    /// Does nothing, but ends a polling request.
    Noop,
    /// Contains a binary attachment, in base64.
    Binary(&'a str),
}

impl<'a> EnginePacket<'a> {
    /// Parses a packet. Returns `None` if the type is unknown.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<EnginePacket<'a>> {
        let mut chars = text.chars();
        let kind = chars.next()?;
        let rest = chars.as_str();
        Some(match kind {
            '0' => EnginePacket::Open(rest),
            '1' => EnginePacket::Close,
            '2' => EnginePacket::Ping(rest),
            '3' => EnginePacket::Pong(rest),
            '4' => EnginePacket::Message(rest),
            '5' => EnginePacket::Upgrade,
            '6' => EnginePacket::Noop,
            'b' => EnginePacket::Binary(rest),
            _ => return None,
        })
    }

    /// Returns the packet as text.
    #[must_use]
    pub fn to_text(self) -> String {
        match self {
            EnginePacket::Open(rest) => format!("0{rest}"),
            EnginePacket::Close => "1".to_owned(),
            EnginePacket::Ping(rest) => format!("2{rest}"),
            EnginePacket::Pong(rest) => format!("3{rest}"),
            EnginePacket::Message(rest) => format!("4{rest}"),
            EnginePacket::Upgrade => "5".to_owned(),
            EnginePacket::Noop => "6".to_owned(),
            EnginePacket::Binary(rest) => format!("b{rest}"),
        }
    }
}

/// Splits a polling request or response into its packets.
pub fn split_payload(text: &str) -> impl Iterator<Item = &str> {
    text.split(SEPARATOR).filter(|packet| !packet.is_empty())
}

/// The server's first packet of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handshake {
    /// Session ID, which later requests repeat.
    pub sid: String,
    /// Transports to which the session can be upgraded.
    #[serde(default)]
    pub upgrades: Vec<String>,
    /// Time between the server's pings, in milliseconds.
    pub ping_interval: u64,
    /// Time without a ping after which the session is considered dead, in addition to the interval,
    /// in milliseconds.
    pub ping_timeout: u64,
    /// Maximum number of bytes of a polling request.
    #[serde(default = "no_limit")]
    pub max_payload: usize,
}

fn no_limit() -> usize {
    usize::MAX
}

impl Handshake {
    /// Parses the content of [`EnginePacket::Open`]. Returns `None` if it is not a handshake, or if
    /// the session ID cannot be used in a URL.
    #[must_use]
    pub fn parse(text: &str) -> Option<Handshake> {
        let handshake: Handshake = serde_json::from_str(text).ok()?;
        let is_plain = |c: char| c.is_ascii_graphic() && !"&#\"<>".contains(c);
        let is_valid = !handshake.sid.is_empty() && handshake.sid.chars().all(is_plain);
        is_valid.then_some(handshake)
    }

    /// Returns whether the session can be upgraded to a WebSocket.
    #[must_use]
    pub fn offers_websocket(&self) -> bool {
        self.upgrades.iter().any(|name| name == "websocket")
    }
}
