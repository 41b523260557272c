//! Passes arbitrary bytes to the MQTT packet reader and a session. The result must not depend on
//! how the bytes are split.

use mqtt::{Event, NextPacket, Packet, Qos, Session, Version, alias::Aliases, packet};

fn read(version: Version, bytes: &[u8], piece: usize) -> (Vec<String>, bool) {
    let (mut held, mut reported) = (Vec::new(), Vec::new());
    let (mut session, mut aliases) = (Session::new(20), Aliases::new(5));
    for n in 0..20u32 {
        let qos = if n % 2 == 0 {
            Qos::AtLeastOnce
        } else {
            Qos::ExactlyOnce
        };
        let _ = session.publish(qos, n);
    }
    for part in bytes.chunks(piece.max(1)) {
        held.extend_from_slice(part);
        let mut at = 0;
        loop {
            let (packet, used) = match packet::next(version, &held[at..], 1 << 20) {
                Ok(NextPacket::Packet(packet, used)) => (packet, used),
                Ok(NextPacket::Partial(needed)) => {
                    assert!(needed > held.len() - at);
                    break;
                }
                Err(_) => return (reported, true),
            };
            reported.push(format!("{packet:?}"));
            match packet {
                Packet::Ack(ack) => {
                    if let Event::Done(n, _) | Event::Complete(n) = session.acknowledged(&ack) {
                        assert!(n < 20);
                    }
                }
                Packet::Publish(message) => {
                    let _ = mqtt::Stamp::from_payload(message.payload);
                    let _ = aliases.topic(&message);
                    let _ = session.delivered(&message);
                }
                Packet::Connack(connack) => {
                    let _ = connack.terms();
                }
                _ => {}
            }
            at += used;
        }
        held.drain(..at);
    }
    (reported, false)
}

pub fn check(is_v5: bool, piece: u8, bytes: &[u8]) {
    let version = if is_v5 { Version::V5 } else { Version::V311 };
    let whole = read(version, bytes, bytes.len());
    let split = read(version, bytes, usize::from(piece) + 1);
    assert_eq!(whole, split);
}
