use mqtt::{
    AckKind, Connect, Event, Filter, NextPacket, Packet, Publish, Qos, Reason, Session, Template,
    Version, packet, subscribe,
};
use mqtt_protocol_core::mqtt::{
    self as theirs, Connection, common::Cursor, connection::Event as Theirs,
    packet::GenericPacketTrait, role::Server,
};

struct Line {
    version: Version,
    server: Connection<Server>,
    down: Vec<u8>,
    came: Vec<theirs::packet::Packet>,
}

impl Line {
    fn new(version: Version) -> Line {
        let of = match version {
            Version::V311 => theirs::Version::V3_1_1,
            Version::V5 => theirs::Version::V5_0,
        };
        let mut server = Connection::new(of);
        server.set_auto_pub_response(true);
        server.set_auto_ping_response(true);
        let (down, came) = (Vec::new(), Vec::new());
        let mut line = Line {
            version,
            server,
            down,
            came,
        };
        line.connect();
        line
    }

    fn connect(&mut self) {
        let connect = Connect {
            client_id: "ours",
            clean: true,
            keep_alive: 10,
            username: Some("u"),
            password: None,
            will: None,
            properties: &[],
        };
        let mut bytes = Vec::new();
        connect.put(&mut bytes, self.version).unwrap();
        self.up(&bytes);
        let connack = match self.version {
            Version::V311 => theirs::packet::v3_1_1::Connack::builder()
                .session_present(false)
                .return_code(theirs::result_code::ConnectReturnCode::Accepted)
                .build()
                .unwrap()
                .into(),
            Version::V5 => theirs::packet::v5_0::Connack::builder()
                .session_present(false)
                .reason_code(theirs::result_code::ConnectReasonCode::Success)
                .build()
                .unwrap()
                .into(),
        };
        self.send(connack);
        let (down, used) = (std::mem::take(&mut self.down), self.came.len());
        let first = packet::next(self.version, &down, usize::MAX).unwrap();
        assert!(
            matches!(first, NextPacket::Packet(Packet::Connack(c), _) if c.reason == Reason::SUCCESS)
        );
        assert_eq!(used, 1);
    }

    fn up(&mut self, bytes: &[u8]) {
        let mut cursor = Cursor::new(bytes);
        while (cursor.position() as usize) < bytes.len() {
            let events = self.server.recv(&mut cursor);
            self.events(events);
        }
    }

    fn send(&mut self, packet: theirs::packet::Packet) {
        let events = self.server.send(packet);
        self.events(events);
    }

    fn events(&mut self, events: Vec<Theirs>) {
        for event in events {
            match event {
                Theirs::NotifyPacketReceived(packet) => self.came.push(packet),
                Theirs::RequestSendPacket { packet, .. } => {
                    self.down.extend(packet.to_continuous_buffer());
                }
                Theirs::NotifyError(error) => panic!("the server does not like it: {error:?}"),
                Theirs::RequestClose => panic!("the server hangs up"),
                _ => {}
            }
        }
    }

    /// Exchanges bytes until both sides are idle. Returns completed entries and deliveries.
    fn settle(&mut self, session: &mut Session<u32>) -> (Vec<u32>, Vec<Vec<u8>>) {
        let (mut over, mut delivered) = (Vec::new(), Vec::new());
        while !self.down.is_empty() {
            let down = std::mem::take(&mut self.down);
            let (mut at, mut up) = (0, Vec::new());
            while at < down.len() {
                let next = packet::next(self.version, &down[at..], usize::MAX).unwrap();
                let NextPacket::Packet(packet, used) = next else {
                    panic!("half a packet of the server's")
                };
                at += used;
                let mut answer = |stage, id, reason| {
                    packet::put_ack(&mut up, self.version, stage, id, reason);
                };
                match packet {
                    Packet::Ack(ack) => match session.acknowledged(&ack) {
                        Event::Done(what, _) | Event::Complete(what) => over.push(what),
                        Event::Release(_) => {
                            answer(AckKind::Released, ack.identifier, Reason::SUCCESS);
                        }
                        Event::Forget(reason) => answer(AckKind::Complete, ack.identifier, reason),
                        Event::Unknown => panic!("{ack:?} of nothing"),
                    },
                    Packet::Publish(message) => {
                        let was = session.delivered(&message);
                        if let (Some(stage), Some(id)) = (was.answer, message.identifier) {
                            answer(stage, id, Reason::SUCCESS);
                        }
                        if was.is_new {
                            delivered.push(message.payload.to_vec());
                        }
                    }
                    Packet::Suback(answered) => {
                        over.extend(session.answered(answered.identifier));
                    }
                    other => panic!("{other:?}"),
                }
            }
            self.up(&up);
        }
        (over, delivered)
    }
}

fn messages_are_acknowledged(version: Version, qos: Qos) {
    let mut line = Line::new(version);
    let mut session = Session::new(3);
    let publish = Publish {
        topic: "a/b",
        qos,
        retain: false,
        properties: &[],
    };
    let template = Template::new(version, &publish).unwrap();
    let mut over = Vec::new();
    for round in 0..4u32 {
        let mut bytes = Vec::new();
        for n in 0..3 {
            let id = session.publish(qos, round * 3 + n).unwrap();
            template.put(&mut bytes, id, false, &[n as u8]);
        }
        assert!(!session.has_room());
        line.up(&bytes);
        over.extend(line.settle(&mut session).0);
    }
    assert_eq!(over, (0..12).collect::<Vec<u32>>());
    assert_eq!(session.connected(false, 1), Vec::<u32>::new());
    let published = line.came.iter().filter(|packet| {
        matches!(
            packet,
            theirs::packet::Packet::V3_1_1Publish(_) | theirs::packet::Packet::V5_0Publish(_)
        )
    });
    assert_eq!(published.count(), 12);
}

#[test]
fn qos_1_messages_complete() {
    messages_are_acknowledged(Version::V311, Qos::AtLeastOnce);
    messages_are_acknowledged(Version::V5, Qos::AtLeastOnce);
}

#[test]
fn qos_2_messages_complete() {
    messages_are_acknowledged(Version::V311, Qos::ExactlyOnce);
    messages_are_acknowledged(Version::V5, Qos::ExactlyOnce);
}

#[test]
fn subscription_receives_messages() {
    use theirs::packet::Qos as Theirs;
    let mut line = Line::new(Version::V5);
    let mut session = Session::<u32>::new(1);
    let id = session.request(77).unwrap();
    let mut bytes = Vec::new();
    let filters = [Filter::new("a/#", Qos::ExactlyOnce)];
    subscribe::put_subscribe(&mut bytes, Version::V5, id, &filters, &[]).unwrap();
    line.up(&bytes);
    let suback = theirs::packet::v5_0::Suback::builder()
        .packet_id(id)
        .reason_codes(vec![theirs::result_code::SubackReasonCode::GrantedQos2])
        .build()
        .unwrap();
    line.send(suback.into());
    assert_eq!(line.settle(&mut session).0, [77]);
    for (qos, text) in [
        (Theirs::AtMostOnce, "zero"),
        (Theirs::AtLeastOnce, "one"),
        (Theirs::ExactlyOnce, "two"),
    ] {
        let mut publish = theirs::packet::v5_0::Publish::builder()
            .topic_name("a/b")
            .unwrap()
            .qos(qos)
            .payload(text.as_bytes());
        if qos != Theirs::AtMostOnce {
            publish = publish.packet_id(line.server.acquire_packet_id().unwrap());
        }
        line.send(publish.build().unwrap().into());
        let (_, delivered) = line.settle(&mut session);
        assert_eq!(delivered, [text.as_bytes()]);
    }
    assert_eq!(
        line.server.get_stored_packets().len(),
        0,
        "the server has nothing left to be answered"
    );
}
