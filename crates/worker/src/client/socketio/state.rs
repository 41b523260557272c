//! State of a session: its namespaces, and the interpretation of its packets.

use codec::socketio::{EnginePacket, Packet, PacketKind};
use measure::{Fault, outcome::SocketIoFault};
use serde_json::Value;
use std::rc::Rc;

use super::super::websocket::Claim;
use crate::worker::Worker;

pub(super) struct SessionState {
    worker: Rc<Worker>,
    /// Namespaces that the user has joined.
    pub namespaces: Vec<String>,
    /// Namespaces from which the server disconnected the user.
    removed: Vec<String>,
    /// Fault that later steps report. `None` while the session is open.
    pub ended: Option<Fault>,
    /// When the last packet arrived.
    pub last_heard_ns: u64,
    pub bytes_received: u64,
    /// Number of events and acknowledgements that no step waited for.
    pub unclaimed: u64,
    last_id: u64,
    /// An event with binary arguments that have not all arrived.
    incomplete: Option<(String, u32)>,
}

impl std::fmt::Debug for SessionState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("SessionState");
        shown
            .field("namespaces", &self.namespaces)
            .field("ended", &self.ended);
        shown.finish_non_exhaustive()
    }
}

/// Effect of a packet on the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Read {
    /// No effect, or a step waits for more packets.
    More,
    /// A step has received its last awaited packet, which arrived at this time.
    Last(u64),
    /// The server requests a pong with this content.
    Pong(String),
    /// The server closes the session.
    Closed,
    /// The text is not a packet.
    Bad,
}

impl SessionState {
    pub fn new(worker: &Rc<Worker>) -> SessionState {
        SessionState {
            worker: Rc::clone(worker),
            namespaces: Vec::new(),
            removed: Vec::new(),
            ended: None,
            last_heard_ns: worker.clock.now(),
            bytes_received: 0,
            unclaimed: 0,
            last_id: 0,
            incomplete: None,
        }
    }

    pub fn has_joined(&self, namespace: &str) -> bool {
        self.ended.is_none() && self.namespaces.iter().any(|joined| joined == namespace)
    }

    /// Returns why events of this namespace cannot be sent or received.
    pub fn fault(&self, namespace: &str) -> Fault {
        self.ended.unwrap_or_else(|| {
            let is_removed = self.removed.iter().any(|removed| removed == namespace);
            Fault::SocketIo(if is_removed {
                SocketIoFault::Disconnected
            } else {
                SocketIoFault::NotConnected
            })
        })
    }

    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id - 1
    }

    /// Reads an Engine.IO packet.
    pub fn read(
        &mut self,
        text: &str,
        now_ns: u64,
        receiver: &mut dyn FnMut(&Packet<'_>, u64) -> Claim,
    ) -> Read {
        self.last_heard_ns = now_ns;
        self.bytes_received += text.len() as u64;
        match EnginePacket::parse(text) {
            Some(EnginePacket::Message(text)) => match Packet::parse(text) {
                Ok(packet) if packet.attachments > 0 => {
                    self.incomplete = Some((text.to_owned(), packet.attachments));
                    Read::More
                }
                Ok(packet) => self.packet(&packet, now_ns, receiver),
                Err(_) => Read::Bad,
            },
            Some(EnginePacket::Binary(base64)) => {
                self.read_attachment(base64.len(), now_ns, receiver)
            }
            Some(EnginePacket::Ping(content)) => {
                self.worker.recorder.borrow_mut().run.socketio.pings += 1;
                Read::Pong(content.to_owned())
            }
            Some(EnginePacket::Close) => Read::Closed,
            Some(
                EnginePacket::Open(_)
                | EnginePacket::Pong(_)
                | EnginePacket::Upgrade
                | EnginePacket::Noop,
            ) => Read::More,
            None => Read::Bad,
        }
    }

    /// Counts a binary argument. The event counts as read when its last binary argument has
    /// arrived. Its JSON keeps the placeholders.
    pub fn read_attachment(
        &mut self,
        bytes: usize,
        now_ns: u64,
        receiver: &mut dyn FnMut(&Packet<'_>, u64) -> Claim,
    ) -> Read {
        self.last_heard_ns = now_ns;
        self.bytes_received += bytes as u64;
        match self.incomplete.take() {
            None => Read::Bad,
            Some((text, 1)) => match Packet::parse(&text) {
                Ok(packet) => self.packet(&packet, now_ns, receiver),
                Err(_) => Read::Bad,
            },
            Some((text, left)) => {
                self.incomplete = Some((text, left - 1));
                Read::More
            }
        }
    }

    fn packet(
        &mut self,
        packet: &Packet<'_>,
        now_ns: u64,
        receiver: &mut dyn FnMut(&Packet<'_>, u64) -> Claim,
    ) -> Read {
        if packet.kind == PacketKind::Disconnect {
            self.namespaces.retain(|name| name != packet.namespace);
            self.removed.push(packet.namespace.to_owned());
            return match self.namespaces.is_empty() {
                true => Read::Closed,
                false => Read::More,
            };
        }
        let claim = receiver(packet, now_ns);
        let is_content = !matches!(packet.kind, PacketKind::Connect | PacketKind::ConnectError);
        if is_content {
            let counts = &mut self.worker.recorder.borrow_mut().run.socketio;
            match packet.kind {
                PacketKind::Ack | PacketKind::BinaryAck => counts.acknowledged += 1,
                _ => counts.received += 1,
            }
            counts.unclaimed += u64::from(claim == Claim::Unclaimed);
            self.unclaimed += u64::from(claim == Claim::Unclaimed);
        }
        match claim {
            Claim::Last => Read::Last(now_ns),
            Claim::Awaited | Claim::Unclaimed => Read::More,
        }
    }
}

/// Returns the message with which the server refused a namespace.
pub(super) fn refusal(json: &str) -> String {
    let value: Option<Value> = serde_json::from_str(json).ok();
    let message = match &value {
        Some(Value::Object(members)) => members.get("message").and_then(Value::as_str),
        Some(Value::String(text)) => Some(text.as_str()),
        _ => None,
    };
    message.unwrap_or("refused").to_owned()
}
