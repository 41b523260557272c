//! Tests many connections: refused, lost and silent ones, and wrong session flags.

use std::{io::Read, io::Write, net::TcpListener, time::Duration};

use worker::stop::Cause;

use super::{peer::*, *};

#[test]
fn connections_are_arrivals_and_each_is_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let stop = StopHandle::default();
    let stopping = stop.clone();
    let server = std::thread::spawn(move || {
        let mut streams = Vec::new();
        for n in 0..100u8 {
            let mut stream = listener.accept().unwrap().0;
            let mut head = [0; 2];
            stream.read_exact(&mut head).unwrap();
            let mut rest = vec![0; usize::from(head[1])];
            stream.read_exact(&mut rest).unwrap();
            let code = if n % 4 == 3 { 5 } else { 0 };
            stream.write_all(&[0x20, 2, 0, code]).unwrap();
            streams.push((stream, code));
        }
        drop(listener);
        for (stream, code) in &mut streams {
            if *code == 0 {
                stream.write_all(&publish(0x32, 7)).unwrap();
                stream.read_exact(&mut [0; 4]).unwrap();
            } else {
                let _ = stream.read_to_end(&mut Vec::new());
            }
        }
        stopping.stop(Cause::Signal(15));
        for (mut stream, _) in streams {
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    let clients = Clients {
        count: 100,
        ..client()
    };
    let stored = stay(&stop, port, clients);
    server.join().unwrap();
    assert_eq!(stored.counts(["connected", "refused"]), [75, 25]);
    let started: u64 = stored.intervals.iter().map(|i| i.run.started).sum();
    assert_eq!(started, 100);
    let [issued, ok, failed, unanswered] = stored.requests();
    assert_eq!((ok, failed), (75, 25));
    assert_eq!(issued, ok + failed + unanswered);
    let refusal = "the server refused a connection: Not authorized (return code 5)";
    assert_eq!(stored.remarks().get(refusal), Some(&1));
}

#[test]
fn a_lost_connection_is_tried_again_after_longer_and_longer() {
    let hello = vec![connect(0, 0)];
    let busy = vec![connect(0, 0), connack(0, 3)];
    let well = vec![
        connect(0, 0),
        connack(0, 0),
        Hear(publish(0x32, 1)),
        Say(ack(PUBACK, 1)),
    ];
    let stop = StopHandle::default();
    let peer = Peer::ending(vec![hello, busy, well], stop.clone());
    let mut load = messages(1);
    if let Load::Open { phases, .. } = &mut load {
        phases.push(Phase::new(PATIENT, Shape::Pause));
    }
    let version = Version::V311;
    let stored = run_until(&stop, peer.port, load, version, publisher(1, 1));
    let came = peer.played().came;
    for (pair, at_least_ms) in came.windows(2).zip([200, 400]) {
        let gap = pair[1] - pair[0];
        assert!(gap >= Duration::from_millis(at_least_ms), "{gap:?}");
    }
    let counts = ["connected", "refused", "broken", "sent", "confirmed"];
    assert_eq!(stored.counts(counts), [1, 1, 1, 1, 1]);
    assert_eq!(stored.requests(), [4, 2, 1, 1]);
}

#[test]
fn a_silent_server_is_asked_for_a_sign_of_life_and_given_up() {
    let ping = || Hear(PINGREQ.to_vec());
    let first = vec![
        connect(0, 1),
        connack(0, 0),
        ping(),
        Say(PINGRESP.to_vec()),
        ping(),
        Silence,
    ];
    let mut second = vec![connect(0, 1), connack(1, 0)];
    second.extend(echo());
    let clients = Clients {
        keep_alive_s: 1,
        ..client()
    };
    let stop = StopHandle::default();
    let peer = Peer::ending(vec![first, second], stop.clone());
    let stored = stay(&stop, peer.port, clients);
    peer.played();
    assert_eq!(
        stored.counts(["connected", "reconnected", "broken"]),
        [2, 1, 1]
    );
}

#[test]
fn unrequested_session_is_reported_and_ignored() {
    let subscribe = || Hear(vec![0x82, 6, 0, 1, 0, 1, b'a', 1]);
    let mut script = vec![
        connect(2, 0),
        connack(1, 0),
        subscribe(),
        Say(vec![0x90, 3, 0, 1, 1]),
    ];
    script.extend(echo());
    let stop = StopHandle::default();
    let peer = Peer::ending(vec![script], stop.clone());
    let clients = Clients {
        clean: true,
        ..subscriber(1)
    };
    let stored = stay(&stop, peer.port, clients);
    peer.played();
    let line = "the server reports that it kept a session, although a new one was requested";
    assert_eq!(stored.remarks().get(line), Some(&1));
}

#[test]
fn a_subscription_that_is_never_answered_is_in_the_books() {
    let subscribe = || Hear(vec![0x82, 6, 0, 1, 0, 1, b'a', 1]);
    let first = vec![connect(0, 0), connack(0, 0), subscribe()];
    let mut refused = vec![
        connect(0, 0),
        connack(0, 0),
        subscribe(),
        Say(vec![0x90, 3, 0, 1, 0x80]),
    ];
    refused.extend(echo());
    let stop = StopHandle::default();
    let peer = Peer::ending(vec![first, refused], stop.clone());
    let stored = stay(&stop, peer.port, subscriber(1));
    peer.played();
    assert_eq!(stored.requests(), [4, 2, 1, 1]);
    assert_eq!(stored.count("filters_refused"), 1);
}
