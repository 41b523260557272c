use mqtt::{
    AckKind, Connect, Filter, Id, Property, Publish, Qos, Reason, Retained, Template, Version,
    Will, connect, packet, subscribe,
};
use mqtt_proto::{Pid, QoS, QosPid, v3, v5};
use proptest::prelude::*;

fn in_v3(bytes: &[u8]) -> v3::Packet {
    v3::Packet::decode(bytes).unwrap().expect("a whole packet")
}

fn in_v5(bytes: &[u8]) -> v5::Packet {
    v5::Packet::decode(bytes).unwrap().expect("a whole packet")
}

fn theirs(qos: Qos) -> QoS {
    [QoS::Level0, QoS::Level1, QoS::Level2][usize::from(qos.level())]
}

fn with_pid(qos: Qos, pid: u16) -> QosPid {
    let pid = Pid::try_from(pid).unwrap();
    [QosPid::Level0, QosPid::Level1(pid), QosPid::Level2(pid)][usize::from(qos.level())]
}

fn qos() -> impl Strategy<Value = Qos> {
    (0..3u8).prop_map(|level| Qos::from_level(level).unwrap())
}

fn text() -> impl Strategy<Value = String> {
    "[a-zäß€0-9/]{1,20}"
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..300)
}

#[derive(Debug, Clone)]
struct Plain {
    id: String,
    username: Option<String>,
    password: Option<Vec<u8>>,
    will: Option<(String, Vec<u8>, Qos, bool)>,
    clean: bool,
    keep_alive: u16,
}

fn plain() -> impl Strategy<Value = Plain> {
    (
        text(),
        prop::option::of(text()),
        prop::option::of(payload()),
        prop::option::of((text(), payload(), qos(), any::<bool>())),
        any::<bool>(),
        any::<u16>(),
    )
        .prop_map(|(id, username, password, will, clean, keep_alive)| Plain {
            id,
            username,
            password,
            will,
            clean,
            keep_alive,
        })
}

fn put_connect(
    plain: &Plain,
    version: Version,
    properties: &[Property<'_>],
    of_will: &[Property<'_>],
) -> Vec<u8> {
    let will = plain
        .will
        .as_ref()
        .map(|(topic, payload, qos, retain)| Will {
            topic,
            payload,
            qos: *qos,
            retain: *retain,
            properties: of_will,
        });
    let connect = Connect {
        client_id: &plain.id,
        clean: plain.clean,
        keep_alive: plain.keep_alive,
        username: plain.username.as_deref(),
        password: plain.password.as_deref(),
        will,
        properties,
    };
    let mut out = Vec::new();
    connect.put(&mut out, version).unwrap();
    out
}

proptest! {
    #[test]
    fn connect_3_1_1_is_encoded(plain in plain()) {
        let bytes = put_connect(&plain, Version::V311, &[], &[]);
        let v3::Packet::Connect(read) = in_v3(&bytes) else { panic!("no CONNECT") };
        prop_assert_eq!(read.protocol, mqtt_proto::Protocol::V311);
        prop_assert_eq!(read.client_id.as_ref(), plain.id.as_str());
        prop_assert_eq!((read.clean_session, read.keep_alive), (plain.clean, plain.keep_alive));
        prop_assert_eq!(read.username.as_deref(), plain.username.as_deref());
        prop_assert_eq!(read.password.map(|p| p.to_vec()), plain.password);
        let will = read.last_will.map(|w| (w.topic_name.to_string(), w.message.to_vec(), w.qos, w.retain));
        prop_assert_eq!(will, plain.will.map(|w| (w.0, w.1, theirs(w.2), w.3)));
    }

    #[test]
    fn connect_5_is_encoded(plain in plain(), expiry: u32, receive in 1..=u16::MAX, alias: u16, packet in 1..=u32::MAX, delay: u32) {
        let properties = [
            Property::number(Id::SessionExpiry, expiry),
            Property::number(Id::ReceiveMaximum, receive.into()),
            Property::number(Id::MaximumPacket, packet),
            Property::number(Id::TopicAliasMaximum, alias.into()),
            Property::number(Id::RequestResponse, 1),
            Property::number(Id::RequestProblem, 0),
            Property::user("name", "value"),
            Property::text(Id::AuthMethod, "SCRAM"),
            Property::binary(Id::AuthData, b"\x00\xff"),
        ];
        let of_will = [
            Property::number(Id::WillDelay, delay),
            Property::number(Id::PayloadFormat, 0),
            Property::number(Id::MessageExpiry, 9),
            Property::text(Id::ContentType, "x"),
            Property::text(Id::ResponseTopic, "r/s"),
            Property::binary(Id::CorrelationData, b"c"),
            Property::user("n", "v"),
        ];
        let bytes = put_connect(&plain, Version::V5, &properties, &of_will);
        let v5::Packet::Connect(read) = in_v5(&bytes) else { panic!("no CONNECT") };
        prop_assert_eq!(read.client_id.as_ref(), plain.id.as_str());
        prop_assert_eq!((read.clean_start, read.keep_alive), (plain.clean, plain.keep_alive));
        prop_assert_eq!(read.username.as_deref(), plain.username.as_deref());
        prop_assert_eq!(read.password.map(|p| p.to_vec()), plain.password);
        let actual = read.properties;
        prop_assert_eq!(actual.session_expiry_interval, Some(expiry));
        prop_assert_eq!(actual.receive_max, Some(receive));
        prop_assert_eq!(actual.max_packet_size, Some(packet));
        prop_assert_eq!(actual.topic_alias_max, Some(alias));
        prop_assert_eq!((actual.request_response_info, actual.request_problem_info), (Some(true), Some(false)));
        prop_assert_eq!(actual.auth_method.as_deref(), Some("SCRAM"));
        prop_assert_eq!(actual.auth_data.as_deref(), Some(b"\x00\xff".as_slice()));
        prop_assert_eq!(actual.user_properties[0].value.as_ref(), "value");
        let will = read.last_will.map(|w| {
            assert_eq!(w.properties.delay_interval, Some(delay));
            assert_eq!(w.properties.message_expiry_interval, Some(9));
            assert_eq!(w.properties.response_topic.as_deref(), Some("r/s"));
            (w.topic_name.to_string(), w.payload.to_vec(), w.qos, w.retain)
        });
        prop_assert_eq!(will, plain.will.map(|w| (w.0, w.1, theirs(w.2), w.3)));
    }

    #[test]
    fn message_is_encoded(topic in text(), qos in qos(), retain: bool, again: bool, pid in 1..=u16::MAX, payload in payload(), alias in 1..=u16::MAX) {
        let again = again && qos > Qos::AtMostOnce;
        let mut bytes = Vec::new();
        let publish = Publish { topic: &topic, qos, retain, properties: &[] };
        let template = Template::new(Version::V311, &publish).unwrap();
        template.put(&mut bytes, pid, again, &payload);
        let v3::Packet::Publish(read) = in_v3(&bytes) else { panic!("no PUBLISH") };
        prop_assert_eq!((read.dup, read.retain, read.qos_pid), (again, retain, with_pid(qos, pid)));
        prop_assert_eq!((&*read.topic_name, &read.payload[..]), (topic.as_str(), &payload[..]));

        bytes.clear();
        let properties = [
            Property::number(Id::TopicAlias, alias.into()),
            Property::number(Id::MessageExpiry, 60),
            Property::text(Id::ResponseTopic, "answers"),
            Property::binary(Id::CorrelationData, &payload),
            Property::user("a", "b"),
        ];
        let publish = Publish { topic: "", qos, retain, properties: &properties };
        let template = Template::new(Version::V5, &publish).unwrap();
        template.put(&mut bytes, pid, again, &payload);
        let v5::Packet::Publish(read) = in_v5(&bytes) else { panic!("no PUBLISH") };
        prop_assert_eq!((read.dup, read.retain, read.qos_pid), (again, retain, with_pid(qos, pid)));
        prop_assert_eq!((&*read.topic_name, &read.payload[..]), ("", &payload[..]));
        prop_assert_eq!(read.properties.topic_alias, Some(alias));
        prop_assert_eq!(read.properties.correlation_data.as_deref(), Some(&payload[..]));
    }

    #[test]
    fn subscriptions_are_encoded(pid in 1..=u16::MAX, filters in prop::collection::vec((text(), qos(), any::<bool>(), any::<bool>(), 0..3u8), 1..4)) {
        let ours: Vec<Filter> = filters.iter().map(|(topic, qos, no_local, as_published, retained)| Filter {
            topic, qos: *qos, no_local: *no_local, as_published: *as_published,
            retained: [Retained::Send, Retained::SendIfNew, Retained::Keep][usize::from(*retained)],
        }).collect();
        let mut bytes = Vec::new();
        subscribe::put_subscribe(&mut bytes, Version::V311, pid, &ours, &[]).unwrap();
        let v3::Packet::Subscribe(read) = in_v3(&bytes) else { panic!("no SUBSCRIBE") };
        prop_assert_eq!(read.pid.value(), pid);
        let expected: Vec<_> = filters.iter().map(|f| (f.0.clone(), theirs(f.1))).collect();
        prop_assert_eq!(read.topics.into_iter().map(|(t, q)| (t.to_string(), q)).collect::<Vec<_>>(), expected);

        bytes.clear();
        let id = Property::number(Id::SubscriptionId, 268_435_455);
        subscribe::put_subscribe(&mut bytes, Version::V5, pid, &ours, &[id]).unwrap();
        let v5::Packet::Subscribe(read) = in_v5(&bytes) else { panic!("no SUBSCRIBE") };
        prop_assert_eq!(read.properties.subscription_id.map(|id| id.value()), Some(268_435_455));
        for ((topic, options), (t, q, l, p, r)) in read.topics.iter().zip(&filters) {
            prop_assert_eq!((topic.to_string(), options.max_qos), (t.clone(), theirs(*q)));
            prop_assert_eq!((options.no_local, options.retain_as_published, options.retain_handling as u8), (*l, *p, *r));
        }
    }

    #[test]
    fn acknowledgements_are_encoded(pid in 1..=u16::MAX) {
        let put = |version, stage, reason| {
            let mut bytes = Vec::new();
            packet::put_ack(&mut bytes, version, stage, pid, reason);
            bytes
        };
        let pid = Pid::try_from(pid).unwrap();
        let plain = |stage| in_v3(&put(Version::V311, stage, Reason(0x97)));
        prop_assert_eq!(plain(AckKind::Acknowledged), v3::Packet::Puback(pid));
        prop_assert_eq!(plain(AckKind::Received), v3::Packet::Pubrec(pid));
        prop_assert_eq!(plain(AckKind::Released), v3::Packet::Pubrel(pid));
        prop_assert_eq!(plain(AckKind::Complete), v3::Packet::Pubcomp(pid));
        let five = |stage, reason| in_v5(&put(Version::V5, stage, reason));
        prop_assert_eq!(five(AckKind::Acknowledged, Reason::SUCCESS), v5::Puback::new_success(pid).into());
        prop_assert_eq!(five(AckKind::Acknowledged, Reason(0x97)), v5::Puback::new(pid, v5::PubackReasonCode::QuotaExceeded).into());
        prop_assert_eq!(five(AckKind::Received, Reason(0x10)), v5::Pubrec::new(pid, v5::PubrecReasonCode::NoMatchingSubscribers).into());
        prop_assert_eq!(five(AckKind::Released, Reason::NOT_FOUND), v5::Pubrel::new(pid, v5::PubrelReasonCode::PacketIdentifierNotFound).into());
        prop_assert_eq!(five(AckKind::Complete, Reason::NOT_FOUND), v5::Pubcomp::new(pid, v5::PubcompReasonCode::PacketIdentifierNotFound).into());
    }
}

#[test]
fn minimal_packets_are_encoded() {
    let mut bytes = Vec::new();
    connect::put_ping(&mut bytes);
    assert_eq!(in_v3(&bytes), v3::Packet::Pingreq);
    assert_eq!(in_v5(&bytes), v5::Packet::Pingreq);
    bytes.clear();
    let with_will = Reason(4);
    connect::put_disconnect(&mut bytes, Version::V311, with_will, &[]).unwrap();
    assert_eq!(in_v3(&bytes), v3::Packet::Disconnect);
    bytes.clear();
    connect::put_disconnect(&mut bytes, Version::V5, Reason::SUCCESS, &[]).unwrap();
    assert_eq!(in_v5(&bytes), v5::Disconnect::new_normal().into());
    bytes.clear();
    let expiry = Property::number(Id::SessionExpiry, 7);
    connect::put_disconnect(&mut bytes, Version::V5, with_will, &[expiry]).unwrap();
    let v5::Packet::Disconnect(read) = in_v5(&bytes) else {
        panic!("no DISCONNECT")
    };
    assert_eq!(
        read.reason_code,
        v5::DisconnectReasonCode::DisconnectWithWillMessage
    );
    assert_eq!(read.properties.session_expiry_interval, Some(7));
}
