use bytes::Bytes;
use mqtt::{AckKind, Id, NextPacket, Packet, Qos, Reason, Version, packet};
use mqtt_proto::{Pid, QoS, QosPid, TopicName, v3, v5};
use proptest::prelude::*;

fn whole(version: Version, bytes: &[u8]) -> Packet<'_> {
    match packet::next(version, bytes, usize::MAX) {
        Ok(NextPacket::Packet(packet, used)) if used == bytes.len() => packet,
        other => panic!("{other:?} of {bytes:?}"),
    }
}

fn v5_bytes(packet: impl Into<v5::Packet>) -> Vec<u8> {
    packet.into().encode().unwrap().as_ref().to_vec()
}

fn v3_bytes(packet: impl Into<v3::Packet>) -> Vec<u8> {
    packet.into().encode().unwrap().as_ref().to_vec()
}

fn pid(value: u16) -> Pid {
    Pid::try_from(value).unwrap()
}

proptest! {
    #[test]
    fn message_is_parsed(topic in "[a-z€/]{1,200}", level in 0..3usize, id in 1..=u16::MAX, dup: bool, retain: bool,
                 payload in prop::collection::vec(any::<u8>(), 0..20_000), expiry in prop::option::of(any::<u32>()), content in prop::option::of("[a-zß]{0,130}")) {
        let with = [QosPid::Level0, QosPid::Level1(pid(id)), QosPid::Level2(pid(id))][level];
        let topic_name = TopicName::try_from(topic.as_str()).unwrap();
        let dup = dup && level > 0;
        let check = |packet: Packet<'_>| {
            let Packet::Publish(read) = packet else { panic!("no PUBLISH") };
            assert_eq!((read.topic, read.payload), (topic.as_bytes(), &payload[..]));
            assert_eq!((read.qos, read.identifier), (Qos::from_level(level as u8).unwrap(), (level > 0).then_some(id)));
            assert_eq!((read.is_again, read.retain), (dup, retain));
            (read.properties.number(Id::MessageExpiry), read.properties.text(Id::ContentType).map(str::to_owned))
        };
        let bytes = v3_bytes(v3::Publish { dup, retain, qos_pid: with, topic_name: topic_name.clone(), payload: Bytes::from(payload.clone()) });
        check(whole(Version::V311, &bytes));
        let properties = v5::PublishProperties { message_expiry_interval: expiry, content_type: content.clone().map(Into::into), ..Default::default() };
        let bytes = v5_bytes(v5::Publish { dup, retain, qos_pid: with, topic_name, payload: Bytes::from(payload.clone()), properties });
        prop_assert_eq!(check(whole(Version::V5, &bytes)), (expiry, content));
    }

    #[test]
    fn acknowledgements_are_parsed(id in 1..=u16::MAX) {
        let pid = pid(id);
        let stage = |version, bytes: &[u8]| match whole(version, bytes) {
            Packet::Ack(ack) => (ack.stage, ack.identifier, ack.reason.0),
            other => panic!("{other:?}"),
        };
        for (packet, expected) in [
            (v3::Packet::Puback(pid), AckKind::Acknowledged), (v3::Packet::Pubrec(pid), AckKind::Received),
            (v3::Packet::Pubrel(pid), AckKind::Released), (v3::Packet::Pubcomp(pid), AckKind::Complete),
        ] {
            prop_assert_eq!(stage(Version::V311, &v3_bytes(packet)), (expected, id, 0));
        }
        let mut refused = v5::Puback::new(pid, v5::PubackReasonCode::NotAuthorized);
        refused.properties.reason_string = Some("no".into());
        for (packet, expected) in [
            (v5::Packet::from(refused), (AckKind::Acknowledged, id, 0x87)),
            (v5::Puback::new_success(pid).into(), (AckKind::Acknowledged, id, 0)),
            (v5::Pubrec::new(pid, v5::PubrecReasonCode::QuotaExceeded).into(), (AckKind::Received, id, 0x97)),
            (v5::Pubrel::new(pid, v5::PubrelReasonCode::PacketIdentifierNotFound).into(), (AckKind::Released, id, 0x92)),
            (v5::Pubcomp::new_success(pid).into(), (AckKind::Complete, id, 0)),
        ] {
            prop_assert_eq!(stage(Version::V5, &v5_bytes(packet)), expected);
        }
    }
}

#[test]
fn full_connack_is_parsed() {
    let mut connack = v5::Connack::new(true, v5::ConnectReasonCode::Success);
    connack.properties = v5::ConnackProperties {
        session_expiry_interval: Some(7200),
        receive_max: Some(20),
        max_qos: Some(QoS::Level1),
        retain_available: Some(false),
        max_packet_size: Some(2_000_000),
        assigned_client_id: Some("auto-1".into()),
        topic_alias_max: Some(10),
        reason_string: Some("welcome".into()),
        user_properties: vec![v5::UserProperty {
            name: "a".into(),
            value: "b".into(),
        }],
        wildcard_subscription_available: Some(false),
        subscription_id_available: Some(true),
        shared_subscription_available: Some(false),
        server_keep_alive: Some(60),
        response_info: Some("r".into()),
        server_reference: Some("other".into()),
        auth_method: Some("m".into()),
        auth_data: Some(Bytes::from_static(b"d")),
    };
    let bytes = v5_bytes(connack);
    let Packet::Connack(read) = whole(Version::V5, &bytes) else {
        panic!("no CONNACK")
    };
    let terms = read.terms();
    assert!(read.session_present && read.reason == Reason::SUCCESS);
    assert_eq!(
        (terms.receive_maximum, terms.maximum_qos, terms.retain),
        (20, Qos::AtLeastOnce, false)
    );
    assert_eq!(
        (terms.maximum_packet, terms.topic_alias_maximum),
        (2_000_000, 10)
    );
    assert_eq!(
        (terms.keep_alive, terms.session_expiry_s),
        (Some(60), Some(7200))
    );
    assert_eq!(
        (terms.wildcards, terms.subscription_ids, terms.shared),
        (false, true, false)
    );
    let text = |id| read.properties.text(id);
    assert_eq!(text(Id::AssignedClientId), Some("auto-1"));
    assert_eq!(text(Id::ReasonString), Some("welcome"));
    assert_eq!(read.properties.iter().count(), 17);
    let bytes = v5_bytes(v5::Connack::new(false, v5::ConnectReasonCode::Banned));
    let Packet::Connack(read) = whole(Version::V5, &bytes) else {
        panic!("no CONNACK")
    };
    assert_eq!(read.reason.name(), Some("Banned"));
    let terms = read.terms();
    assert!(terms.retain && terms.shared && terms.receive_maximum == u16::MAX);
}

#[test]
fn refusals_of_3_1_1_use_names_of_5() {
    use v3::ConnectReturnCode as Code;
    for (code, name) in [
        (Code::Accepted, "Success"),
        (
            Code::UnacceptableProtocolVersion,
            "Unsupported Protocol Version",
        ),
        (Code::IdentifierRejected, "Client Identifier not valid"),
        (Code::ServerUnavailable, "Server unavailable"),
        (Code::BadUserNameOrPassword, "Bad User Name or Password"),
        (Code::NotAuthorized, "Not authorized"),
    ] {
        let bytes = v3_bytes(v3::Connack::new(false, code));
        let Packet::Connack(read) = whole(Version::V311, &bytes) else {
            panic!("no CONNACK")
        };
        assert_eq!(read.reason.name(), Some(name));
    }
}

#[test]
fn suback_and_unsuback_are_parsed() {
    use v3::SubscribeReturnCode as Code;
    let codes = vec![Code::MaxLevel0, Code::MaxLevel2];
    let mut bytes = v3_bytes(v3::Suback::new(pid(5), codes));
    // A refusal is 0x80 in 3.1.1. mqtt-proto 0.4.0 writes 3 here, so this byte is set by hand.
    bytes.push(0x80);
    bytes[1] += 1;
    let Packet::Suback(read) = whole(Version::V311, &bytes) else {
        panic!("no SUBACK")
    };
    assert_eq!(read.identifier, 5);
    let reasons: Vec<u8> = read.reasons().map(|r| r.0).collect();
    assert_eq!(reasons, [0, 2, 0x80]);
    let codes = vec![
        v5::SubscribeReasonCode::GrantedQoS1,
        v5::SubscribeReasonCode::NotAuthorized,
    ];
    let mut suback = v5::Suback::new(pid(6), codes);
    suback.properties.reason_string = Some("some".into());
    let bytes = v5_bytes(suback);
    let Packet::Suback(read) = whole(Version::V5, &bytes) else {
        panic!("no SUBACK")
    };
    assert!(read.reasons().eq([Reason(1), Reason(0x87)]));
    let bytes = v3_bytes(v3::Packet::Unsuback(pid(7)));
    assert!(matches!(whole(Version::V311, &bytes), Packet::Unsuback(u) if u.identifier == 7));
    let codes = vec![v5::UnsubscribeReasonCode::NoSubscriptionExisted];
    let bytes = v5_bytes(v5::Unsuback::new(pid(8), codes));
    let Packet::Unsuback(read) = whole(Version::V5, &bytes) else {
        panic!("no UNSUBACK")
    };
    assert!(read.reasons().eq([Reason(0x11)]));
}

#[test]
fn disconnects_are_parsed() {
    let mut goodbye = v5::Disconnect::new(v5::DisconnectReasonCode::ServerShuttingDown);
    goodbye.properties.server_reference = Some("b:1883".into());
    let bytes = v5_bytes(goodbye);
    let Packet::Disconnect(read) = whole(Version::V5, &bytes) else {
        panic!("no DISCONNECT")
    };
    assert_eq!(read.reason.name(), Some("Server shutting down"));
    assert_eq!(read.properties.text(Id::ServerReference), Some("b:1883"));
    let bytes = v5_bytes(v5::Disconnect::new_normal());
    assert!(matches!(whole(Version::V5, &bytes), Packet::Disconnect(d) if d.reason.0 == 0));
    let bytes = v5_bytes(v5::Auth::new(v5::AuthReasonCode::ContinueAuthentication));
    assert!(matches!(whole(Version::V5, &bytes), Packet::Auth(a) if a.reason.0 == 0x18));
    let bytes = v3_bytes(v3::Packet::Pingresp);
    assert_eq!(whole(Version::V311, &bytes), Packet::Pingresp);
}
