use mqtt::{
    Connect, Filter, Malformed, NextPacket, Packet, Qos, Version, Will, connect, packet,
    subscribe::put_subscribe,
};

/// Uses the example of 3.1.1 §3.1.2, with the payload that its flags require.
#[test]
fn connect_3_1_1_matches_specification() {
    let connect = Connect {
        client_id: "c",
        clean: true,
        keep_alive: 10,
        username: Some("u"),
        password: Some(b"p"),
        will: Some(Will {
            topic: "w",
            payload: b"m",
            qos: Qos::AtLeastOnce,
            retain: false,
            properties: &[],
        }),
        properties: &[],
    };
    let mut out = Vec::new();
    connect.put(&mut out, Version::V311).unwrap();
    assert_eq!(
        out,
        b"\x10\x19\x00\x04MQTT\x04\xce\x00\x0a\x00\x01c\x00\x01w\x00\x01m\x00\x01u\x00\x01p"
    );
}

#[test]
fn subscribe_3_1_1_matches_specification() {
    let filters = [
        Filter::new("a/b", Qos::AtLeastOnce),
        Filter::new("c/d", Qos::ExactlyOnce),
    ];
    let mut out = Vec::new();
    put_subscribe(&mut out, Version::V311, 10, &filters, &[]).unwrap();
    assert_eq!(out, b"\x82\x0e\x00\x0a\x00\x03a/b\x01\x00\x03c/d\x02");
}

#[test]
fn shortest_packets_of_5_are_parsed() {
    let mut out = Vec::new();
    connect::put_ping(&mut out);
    connect::put_disconnect(&mut out, Version::V5, mqtt::Reason::SUCCESS, &[]).unwrap();
    assert_eq!(out, [0xc0, 0, 0xe0, 0]);
    for (bytes, reason) in [
        (&b"\x40\x02\x00\x01"[..], 0),
        (b"\x40\x03\x00\x01\x10", 0x10),
        (b"\x40\x04\x00\x01\x10\x00", 0x10),
    ] {
        match packet::next(Version::V5, bytes, 100) {
            Ok(NextPacket::Packet(Packet::Ack(ack), _)) => assert_eq!(ack.reason.0, reason),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn forbidden_packets_are_rejected() {
    use Malformed::{Code, Flags, Long, NoIdentifier, Property, Short, Type};
    let v311: [(&[u8], Malformed); 14] = [
        (b"\x00\x00", Type(0)),
        (b"\x10\x00", Type(1)),
        (b"\x82\x00", Type(8)),
        (b"\xc0\x00", Type(12)),
        (b"\xe0\x00", Type(14)),
        (b"\x21\x02\x00\x00", Flags(0x21)),
        (b"\x20\x02\x02\x00", Flags(2)),
        (b"\x20\x02\x00\x09", Code(9)),
        (b"\x20\x01\x00", Short),
        (b"\x20\x03\x00\x00\x00", Long),
        (b"\x40\x02\x00\x00", NoIdentifier),
        (b"\x60\x02\x00\x01", Flags(0x60)),
        (b"\x90\x03\x00\x01\x03", Code(3)),
        (b"\xd0\x01\x00", Long),
    ];
    for (bytes, fault) in v311 {
        assert_eq!(packet::next(Version::V311, bytes, 100), Err(fault));
    }
    let v5: [(&[u8], Malformed); 5] = [
        (b"\x20\x02\x00\x00", Short),
        (b"\x20\x05\x00\x00\x02\x01\x00", Property(1)),
        (b"\x90\x03\x00\x01\x00", Short),
        (b"\x90\x04\x00\x01\x00\x03", Code(3)),
        (b"\x40\x06\x00\x01\x00\x00\x00\x00", Long),
    ];
    for (bytes, fault) in v5 {
        assert_eq!(packet::next(Version::V5, bytes, 100), Err(fault));
    }
}
