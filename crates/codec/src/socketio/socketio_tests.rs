use proptest::prelude::*;

use super::{EnginePacket, Handshake, Packet, PacketError, PacketKind, split_payload};

#[test]
fn texts_of_the_protocol_are_read() {
    let event = |namespace, id, json| Packet {
        id,
        ..Packet::new(PacketKind::Event, namespace, json)
    };
    for (text, packet) in [
        ("0", Packet::new(PacketKind::Connect, "/", "")),
        (
            r#"0/admin,{"sid":"x"}"#,
            Packet::new(PacketKind::Connect, "/admin", r#"{"sid":"x"}"#),
        ),
        (
            "1/admin,",
            Packet::new(PacketKind::Disconnect, "/admin", ""),
        ),
        (r#"2["foo"]"#, event("/", None, r#"["foo"]"#)),
        (
            r#"2/admin,13["bar"]"#,
            event("/admin", Some(13), r#"["bar"]"#),
        ),
        (
            r#"4/locked,{"message":"no"}"#,
            Packet::new(PacketKind::ConnectError, "/locked", r#"{"message":"no"}"#),
        ),
        (
            r#"51-["baz",{"_placeholder":true,"num":0}]"#,
            Packet {
                attachments: 1,
                ..Packet::new(
                    PacketKind::BinaryEvent,
                    "/",
                    r#"["baz",{"_placeholder":true,"num":0}]"#,
                )
            },
        ),
    ] {
        assert_eq!(Packet::parse(text), Ok(packet), "{text}");
        assert_eq!(packet.to_text(), text);
    }
}

#[test]
fn namespace_may_lack_its_comma_and_have_a_query() {
    let packet = Packet::parse("1/admin").unwrap();
    assert_eq!((packet.namespace, packet.json), ("/admin", ""));
    let packet = Packet::parse(r#"0/admin?token=1,{}"#).unwrap();
    assert_eq!((packet.namespace, packet.json), ("/admin", "{}"));
}

#[test]
fn other_texts_are_errors() {
    for text in ["", "7", "x[]", "5[]", "5x-[]", "299999999999999999999[]"] {
        assert_eq!(Packet::parse(text), Err(PacketError), "{text}");
    }
    assert_eq!(EnginePacket::parse(""), None);
    assert_eq!(EnginePacket::parse("{\"token\":1}"), None);
}

#[test]
fn payload_is_split_at_separators() {
    let payload = "2\u{1e}42[\"a\"]\u{1e}\u{1e}6";
    let packets: Vec<_> = split_payload(payload).map(EnginePacket::parse).collect();
    assert_eq!(
        packets,
        [
            Some(EnginePacket::Ping("")),
            Some(EnginePacket::Message("2[\"a\"]")),
            Some(EnginePacket::Noop),
        ]
    );
}

#[test]
fn handshake_of_servers_is_read() {
    let text = r#"{"sid":"Xn_1","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#;
    let handshake = Handshake::parse(text).unwrap();
    assert!(handshake.offers_websocket());
    assert_eq!(handshake.max_payload, 1_000_000);
    // Socket.IO 3 has no `maxPayload`.
    let text = r#"{"sid":"a","upgrades":[],"pingInterval":25000,"pingTimeout":5000}"#;
    let handshake = Handshake::parse(text).unwrap();
    assert!(!handshake.offers_websocket());
    assert_eq!(
        (handshake.ping_interval, handshake.ping_timeout),
        (25_000, 5_000)
    );
}

#[test]
fn handshake_needs_a_name_for_urls() {
    for sid in ["", "a b", "a&b", "a#b", "a\\u000d"] {
        let text = format!(r#"{{"sid":"{sid}","pingInterval":1,"pingTimeout":1}}"#);
        assert_eq!(Handshake::parse(&text), None, "{sid}");
    }
    assert_eq!(Handshake::parse("{}"), None);
}

proptest! {
    #[test]
    fn written_packets_are_read_back(
        kind in 0_usize..7,
        attachments in any::<u32>(),
        namespace in "/[a-z]{0,5}",
        id in proptest::option::of(any::<u64>()),
        json in "(\\[.*\\])?",
    ) {
        let kind = PacketKind::ALL[kind];
        let attachments = if kind.is_binary() { attachments } else { 0 };
        let packet = Packet { kind, attachments, namespace: &namespace, id, json: &json };
        let written = packet.to_text();
        prop_assert_eq!(Packet::parse(&written), Ok(packet));
    }

    #[test]
    fn engine_packets_are_read_back(text in "[0-6b].{0,20}") {
        let Some(packet) = EnginePacket::parse(&text) else {
            return Err(TestCaseError::fail("no packet"));
        };
        let again = packet.to_text();
        prop_assert_eq!(EnginePacket::parse(&again), Some(packet));
    }
}
