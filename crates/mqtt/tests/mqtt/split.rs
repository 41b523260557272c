use mqtt::{Malformed, NextPacket, Packet, Publish, Qos, Template, Version, packet};
use proptest::prelude::*;

fn stream() -> (Vec<u8>, Vec<String>) {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&[0x20, 3, 1, 0, 0]);
    for (n, size) in [0usize, 1, 121, 122, 300].into_iter().enumerate() {
        let qos = Qos::from_level(n as u8 % 3).unwrap();
        let publish = Publish {
            topic: "t",
            qos,
            retain: false,
            properties: &[],
        };
        let template = Template::new(Version::V5, &publish).unwrap();
        template.put(&mut bytes, n as u16 + 1, false, &vec![n as u8; size]);
        packet::put_ack(
            &mut bytes,
            Version::V5,
            mqtt::AckKind::Acknowledged,
            77,
            mqtt::Reason(n as u8 | 0x80),
        );
    }
    bytes.extend_from_slice(&[0xd0, 0]);
    let reported = read(&bytes).0;
    (bytes, reported)
}

fn read(bytes: &[u8]) -> (Vec<String>, usize) {
    let (mut reported, mut at) = (Vec::new(), 0);
    loop {
        match packet::next(Version::V5, &bytes[at..], usize::MAX).unwrap() {
            NextPacket::Packet(packet, used) => {
                reported.push(format!("{packet:?}"));
                at += used;
            }
            NextPacket::Partial(needed) => {
                assert!(needed > bytes.len() - at, "it asks for what it has");
                return (reported, at);
            }
        }
    }
}

#[test]
fn result_is_independent_of_splits() {
    let (bytes, reported) = stream();
    assert_eq!(reported.len(), 12);
    for at in 0..=bytes.len() {
        let (mut first, used) = read(&bytes[..at]);
        let (second, rest) = read(&bytes[used..]);
        first.extend(second);
        assert_eq!(first, reported, "split at {at}");
        assert_eq!(used + rest, bytes.len());
    }
}

#[test]
fn needed_bytes_match_packet_size() {
    let (bytes, _) = stream();
    let mut at = 0;
    while at < bytes.len() {
        let Ok(NextPacket::Packet(_, whole)) = packet::next(Version::V5, &bytes[at..], usize::MAX)
        else {
            panic!("no packet at {at}")
        };
        for part in 0..whole {
            let needed = packet::next(Version::V5, &bytes[at..at + part], usize::MAX);
            let Ok(NextPacket::Partial(needed)) = needed else {
                panic!("{needed:?}")
            };
            assert!(part < needed && needed <= whole);
        }
        at += whole;
    }
}

#[test]
fn messages_at_length_edges_are_parsed() {
    let publish = Publish {
        topic: "t",
        qos: Qos::AtMostOnce,
        retain: false,
        properties: &[],
    };
    let template = Template::new(Version::V311, &publish).unwrap();
    for length in [127, 128, 16_383, 16_384, 2_097_151, 2_097_152] {
        let payload = vec![7; length - 3];
        let mut bytes = Vec::new();
        template.put(&mut bytes, 0, false, &payload);
        match packet::next(Version::V311, &bytes, usize::MAX) {
            Ok(NextPacket::Packet(Packet::Publish(read), used)) => {
                assert_eq!((read.payload, used), (&payload[..], bytes.len()));
            }
            other => panic!("{length}: {other:?}"),
        }
        let short = packet::next(Version::V311, &bytes[..bytes.len() - 1], usize::MAX);
        assert_eq!(short, Ok(NextPacket::Partial(bytes.len())));
        let too_large = packet::next(Version::V311, &bytes[..10], bytes.len() - 1);
        assert_eq!(too_large, Err(Malformed::TooLarge(bytes.len())));
    }
    let head = [0x30, 0xff, 0xff, 0xff, 0x7f];
    let longest = packet::next(Version::V311, &head, usize::MAX);
    assert_eq!(longest, Ok(NextPacket::Partial(268_435_460)));
    let longer = [0x30, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(
        packet::next(Version::V311, &longer, usize::MAX),
        Err(Malformed::Length)
    );
}

proptest! {
    #[test]
    fn any_bytes_are_handled(bytes in prop::collection::vec(any::<u8>(), 0..60), more in prop::collection::vec(any::<u8>(), 0..10)) {
        for version in [Version::V311, Version::V5] {
            let alone = packet::next(version, &bytes, 1000);
            let whole: Vec<u8> = bytes.iter().chain(&more).copied().collect();
            if let Ok(NextPacket::Packet(..)) = alone {
                prop_assert_eq!(packet::next(version, &whole, 1000), alone);
            }
            if let Ok(NextPacket::Packet(Packet::Publish(message), _)) = alone {
                let _ = mqtt::Stamp::from_payload(message.payload);
                prop_assert!(message.properties.iter().count() <= bytes.len());
            }
        }
    }
}
