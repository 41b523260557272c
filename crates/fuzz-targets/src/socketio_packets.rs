//! Reads arbitrary text as the payload of a polling request. The packets are then written and must
//! be read back unchanged.

use codec::socketio::{EnginePacket, Handshake, Packet, split_payload};

pub fn check(text: &str) {
    for part in split_payload(text) {
        let Some(packet) = EnginePacket::parse(part) else {
            continue;
        };
        let written = packet.to_text();
        assert_eq!(EnginePacket::parse(&written), Some(packet));
        match packet {
            EnginePacket::Open(json) => {
                if let Some(handshake) = Handshake::parse(json) {
                    // The name is part of URLs.
                    assert!(handshake.sid.bytes().all(|byte| byte.is_ascii_graphic()));
                }
            }
            EnginePacket::Message(text) => {
                if let Ok(packet) = Packet::parse(text) {
                    assert!(packet.namespace.starts_with('/'));
                    let written = packet.to_text();
                    assert_eq!(Packet::parse(&written), Ok(packet));
                }
            }
            _ => {}
        }
    }
}
