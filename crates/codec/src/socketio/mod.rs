//! Socket.IO protocol version 5 on Engine.IO 4, which Socket.IO 3 and 4 servers use.
//!
//! Engine.IO transports texts between client and server, by long polling or in WebSocket messages
//! ([`EnginePacket`], [`split_payload`], [`Handshake`]). Most texts are Socket.IO packets, which
//! have a namespace and, for events, the name and arguments as a JSON list ([`Packet`]).

mod engine;
mod packet;

pub use engine::{EnginePacket, Handshake, PROBE, SEPARATOR, split_payload};
pub use packet::{Packet, PacketError, PacketKind};

#[cfg(test)]
#[path = "socketio_tests.rs"]
mod tests;
