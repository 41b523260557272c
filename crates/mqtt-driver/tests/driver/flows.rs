use super::{peer::*, *};

fn published(qos: u8, inflight: u16, count: u64, scripts: Vec<Vec<Do>>) -> (Kept, Played) {
    let peer = Peer::start(scripts);
    let clients = publisher(qos, inflight);
    let stored = run(peer.port, count, Version::V311, clients);
    (stored, peer.played())
}

const LEDGER: [&str; 6] = ["due", "sent", "resent", "confirmed", "unknown", "unsent"];

#[test]
fn qos_0_is_confirmed_by_a_later_pingresp() {
    let m = || Hear(publish(0x30, 0));
    let ping = [Hear(PINGREQ.to_vec()), Say(PINGRESP.to_vec())];
    let mut script = vec![connect(0, 0), connack(0, 0), m(), m()];
    script.extend(ping);
    let (stored, played) = published(0, 1, 2, vec![script]);
    assert_eq!(stored.counts(LEDGER), [2, 2, 0, 2, 0, 0]);
    assert_eq!(stored.requests(), [3, 3, 0, 0]);
    assert_eq!(played.rest, DISCONNECT);
}

#[test]
fn a_lost_acknowledgement_has_its_message_sent_again_once() {
    let first = vec![connect(0, 0), connack(0, 0), Hear(publish(0x32, 1))];
    let again = vec![
        connect(0, 0),
        connack(1, 0),
        Hear(publish(0x3a, 1)),
        Say(ack(PUBACK, 1)),
    ];
    let (stored, played) = published(1, 1, 1, vec![first, again]);
    assert_eq!(stored.counts(LEDGER), [1, 1, 1, 1, 0, 0]);
    assert_eq!(
        stored.counts(["connected", "reconnected", "broken"]),
        [2, 1, 1]
    );
    assert_eq!(stored.requests(), [3, 3, 0, 0]);
    assert_eq!(played.rest, DISCONNECT);
}

#[test]
fn lost_session_leaves_messages_in_flight_unknown() {
    let first = vec![connect(0, 0), connack(0, 0), Hear(publish(0x32, 1))];
    let repeated = vec![
        connect(0, 0),
        connack(0, 0),
        Hear(publish(0x32, 1)),
        Say(ack(PUBACK, 1)),
    ];
    let (stored, _) = published(1, 1, 2, vec![first, repeated]);
    assert_eq!(stored.counts(LEDGER), [2, 2, 0, 1, 1, 0]);
    assert_eq!(stored.requests(), [4, 3, 0, 1]);
}

#[test]
fn exactly_once_survives_a_receipt_that_comes_twice() {
    let script = vec![
        connect(0, 0),
        connack(0, 0),
        Hear(publish(0x34, 1)),
        Say([ack(PUBREC, 1), ack(PUBREC, 1)].concat()),
        Hear([ack(PUBREL, 1), ack(PUBREL, 1)].concat()),
        Say(ack(PUBREC, 9)),
        Hear(ack(PUBREL, 9)),
        Say(ack(PUBCOMP, 1)),
    ];
    let (stored, _) = published(2, 1, 1, vec![script]);
    assert_eq!(stored.counts(LEDGER), [1, 1, 0, 1, 0, 0]);
    assert_eq!(stored.count("stray"), 1);
}

#[test]
fn exactly_once_goes_on_with_the_release_on_a_new_connection() {
    let first = vec![
        connect(0, 0),
        connack(0, 0),
        Hear(publish(0x34, 1)),
        Say(ack(PUBREC, 1)),
        Hear(ack(PUBREL, 1)),
    ];
    let again = vec![
        connect(0, 0),
        connack(1, 0),
        Hear(ack(PUBREL, 1)),
        Say(ack(PUBCOMP, 1)),
    ];
    let (stored, _) = published(2, 1, 1, vec![first, again]);
    assert_eq!(stored.counts(LEDGER), [1, 1, 0, 1, 0, 0]);
}

#[test]
fn qos_2_message_of_lost_session_is_read_and_incomplete() {
    let first = vec![
        connect(0, 0),
        connack(0, 0),
        Hear(publish(0x34, 1)),
        Say(ack(PUBREC, 1)),
        Hear(ack(PUBREL, 1)),
    ];
    let repeated = vec![
        connect(0, 0),
        connack(0, 0),
        Hear(publish(0x34, 1)),
        Say(ack(PUBREC, 1)),
        Hear(ack(PUBREL, 1)),
        Say(ack(PUBCOMP, 1)),
    ];
    let (stored, _) = published(2, 1, 2, vec![first, repeated]);
    assert_eq!(stored.counts(LEDGER), [2, 2, 0, 2, 0, 0]);
    assert_eq!(stored.count("incomplete"), 1);
    assert_eq!(stored.requests(), [4, 3, 0, 1]);
}

#[test]
fn a_receive_maximum_of_1_is_heeded() {
    // The CONNECT of MQTT 5 differs only by its empty properties.
    let mut hello = vec![0x10, 15, 0, 4, b'M', b'Q', b'T', b'T', 5, 0, 0, 0, 0];
    hello.extend([0, 2, b'c', b'0']);
    let message = |id| Hear(vec![0x32, 7, 0, 1, b'a', 0, id, 0, b'm']);
    let script = vec![
        Hear(hello),
        Say(vec![0x20, 6, 0, 0, 3, 0x21, 0, 1]),
        message(1),
        Silence,
        Say(ack(PUBACK, 1)),
        message(2),
        Say(vec![PUBACK, 3, 0, 2, 0x97]),
    ];
    let peer = Peer::start(vec![script]);
    let clients = publisher(1, 10);
    let stored = run(peer.port, 2, Version::V5, clients);
    assert_eq!(peer.played().rest, DISCONNECT);
    assert_eq!(stored.counts(LEDGER), [2, 2, 0, 2, 0, 0]);
    assert_eq!(stored.count("turned_down"), 1);
    assert_eq!(stored.requests(), [3, 2, 1, 0]);
}

#[test]
fn deliveries_are_answered_and_counted_once() {
    let subscribe = Hear(vec![0x82, 6, 0, 1, 0, 1, b'a', 2]);
    let script = vec![
        connect(0, 0),
        connack(0, 0),
        subscribe,
        Say(vec![0x90, 3, 0, 1, 2]),
        Say(publish(0x30, 0)),
        Say(publish(0x32, 5)),
        Hear(ack(PUBACK, 5)),
        Say([publish(0x34, 6), publish(0x3c, 6)].concat()),
        Hear([ack(PUBREC, 6), ack(PUBREC, 6)].concat()),
        Say(ack(PUBREL, 6)),
        Hear(ack(PUBCOMP, 6)),
    ];
    let stop = StopHandle::default();
    let peer = Peer::ending(vec![script], stop.clone());
    let stored = stay(&stop, peer.port, subscriber(2));
    assert_eq!(peer.played().rest, DISCONNECT);
    assert_eq!(stored.counts(["foreign", "filters_refused"]), [3, 0]);
    assert_eq!(stored.requests(), [2, 2, 0, 0]);
}
