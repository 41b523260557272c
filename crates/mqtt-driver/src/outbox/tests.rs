//! Compares the ledger with the records of a peer. Connections break at every byte, and events
//! arrive in any order.

use std::collections::{BTreeMap, BTreeSet};

use mqtt::{AckKind, Reason, property::Block};
use proptest::prelude::*;

use super::*;

const BYTES: u64 = 7;

struct Peer {
    outbox: Outbox,
    now: u64,
    encoded: Vec<(u64, u16, u64)>,
    written: u64,
    taken: u64,
    arrived: BTreeMap<u64, u64>,
    unanswered: Vec<(u16, u64)>,
    released: Vec<(u16, u64)>,
    answered: BTreeSet<u64>,
    booked: u64,
}

impl Peer {
    fn new(qos: Qos, inflight: u16) -> Peer {
        Peer {
            outbox: Outbox::new(qos, inflight),
            now: 1,
            encoded: Vec::new(),
            written: 0,
            taken: 0,
            arrived: BTreeMap::new(),
            unanswered: Vec::new(),
            released: Vec::new(),
            answered: BTreeSet::new(),
            booked: 0,
        }
    }

    fn due(&mut self) {
        let sequence = self.outbox.ledger.due;
        let intended = Intended::scheduled(self.now);
        self.outbox
            .due(SentMessage::new(0, sequence, intended, self.now));
    }

    fn encode(&mut self) {
        while let Some(next) = self.outbox.next() {
            let NextWrite::Message { id, is_again, sent } = next else {
                continue;
            };
            self.written += BYTES;
            let at = self.written;
            self.outbox.encoded(id, is_again, sent, BYTES as u32, at);
            self.encoded.push((at, id, sent.sequence));
        }
    }

    fn take(&mut self, bytes: u64) {
        self.now += 1;
        self.taken = self.written.min(self.taken + bytes);
        let whole = self.encoded.iter().take_while(|(at, ..)| *at <= self.taken);
        let whole = whole.count();
        for (_, id, sequence) in self.encoded.drain(..whole) {
            *self.arrived.entry(sequence).or_default() += 1;
            self.unanswered.push((id, sequence));
        }
        while self.outbox.next_written(self.taken, self.now).is_some() {
            self.booked += 1;
        }
    }

    fn ack(&mut self, stage: AckKind, id: u16) -> Event<SentMessage> {
        let ack = Ack {
            stage,
            identifier: id,
            reason: Reason::SUCCESS,
            properties: Block::default(),
        };
        self.outbox.acknowledged(&ack, self.now)
    }

    fn answer(&mut self) {
        if self.outbox.qos == Qos::AtMostOnce || self.unanswered.is_empty() {
            return;
        }
        let (id, sequence) = self.unanswered.remove(0);
        let is_twice = self.outbox.qos == Qos::ExactlyOnce;
        let stage = if is_twice {
            AckKind::Received
        } else {
            AckKind::Acknowledged
        };
        match self.ack(stage, id) {
            Event::Done(..) => self.booked += 1,
            Event::Release(_) => self.released.push((id, sequence)),
            other => panic!("{other:?}"),
        }
        self.answered.insert(sequence);
    }

    fn complete(&mut self) {
        if let Some((id, _)) = self.released.pop() {
            assert!(matches!(
                self.ack(AckKind::Complete, id),
                Event::Complete(_)
            ));
            self.booked += 1;
        }
    }

    fn lose(&mut self, session_present: bool) {
        self.booked += self.outbox.disconnected().len() as u64;
        (self.written, self.taken) = (0, 0);
        self.encoded.clear();
        self.unanswered.clear();
        self.released.clear();
        self.booked += self.outbox.connected(session_present, 1000).len() as u64;
    }

    fn check(&self) {
        let ledger = self.outbox.ledger;
        let arrived = self.arrived.len() as u64;
        assert_eq!(ledger.sent, arrived, "what the server has got whole");
        let often: u64 = self.arrived.values().sum();
        assert_eq!(ledger.resent, often - arrived, "and got again");
        assert!(ledger.sent + ledger.unsent <= ledger.due);
        assert!(ledger.confirmed + ledger.unknown <= ledger.sent);
        if self.outbox.qos > Qos::AtMostOnce {
            assert!(ledger.confirmed <= self.answered.len() as u64);
        }
    }

    fn close(mut self) -> MessageLedger {
        self.booked += self.outbox.close().len() as u64;
        self.check();
        let ledger = self.outbox.ledger;
        assert_eq!(ledger.due, ledger.sent + ledger.unsent);
        assert_eq!(ledger.sent, ledger.confirmed + ledger.unknown);
        assert_eq!((ledger.open(), self.booked), (0, ledger.due), "each once");
        if self.outbox.qos > Qos::AtMostOnce {
            assert_eq!(ledger.confirmed, self.answered.len() as u64);
        }
        ledger
    }
}

#[test]
fn wherever_a_connection_breaks_the_ledger_is_the_servers() {
    for qos in [Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce] {
        for (is_kept, bytes) in [false, true]
            .into_iter()
            .flat_map(|is_kept| (0..=5 * BYTES).map(move |bytes| (is_kept, bytes)))
        {
            let mut peer = Peer::new(qos, 1000);
            (0..5).for_each(|_| peer.due());
            peer.encode();
            peer.take(bytes / 2);
            peer.take(bytes - bytes / 2);
            peer.answer();
            peer.check();
            peer.lose(is_kept);
            (0..3).for_each(|_| peer.due());
            peer.encode();
            peer.take(u64::MAX / 2);
            peer.outbox.ask(peer.now);
            peer.outbox.pong();
            for _ in 0..8 {
                peer.answer();
                peer.complete();
            }
            let whole = bytes / BYTES;
            let first = whole.min(1);
            let ledger = peer.close();
            let (sent, resent, unknown) = match (qos, is_kept) {
                (Qos::AtMostOnce, _) => (whole + 3, 0, whole),
                (_, false) => (whole + 3, 0, whole - first),
                (_, true) => (8, whole - first, 0),
            };
            let seen = (ledger.sent, ledger.resent, ledger.unknown);
            assert_eq!(seen, (sent, resent, unknown), "{qos:?} {is_kept} {bytes}");
        }
    }
}

#[test]
fn premature_acknowledgement_is_harmless() {
    let mut peer = Peer::new(Qos::AtLeastOnce, 1000);
    peer.due();
    peer.due();
    peer.encode();
    assert!(matches!(
        peer.ack(AckKind::Acknowledged, 1),
        Event::Done(sent, _) if sent.sequence == 0
    ));
    assert_eq!(peer.ack(AckKind::Acknowledged, 1), Event::Unknown);
    assert_eq!(peer.ack(AckKind::Complete, 2), Event::Unknown);
    assert!(peer.outbox.next_written(2 * BYTES, 5).is_none());
    peer.outbox.close();
    let ledger = peer.outbox.ledger;
    let seen = (ledger.due, ledger.sent, ledger.confirmed, ledger.unknown);
    assert_eq!(seen, (2, 2, 1, 1));
}

#[test]
fn qos_0_is_read_when_a_later_sign_of_life_is_answered() {
    let mut peer = Peer::new(Qos::AtMostOnce, 1);
    peer.due();
    peer.due();
    peer.encode();
    peer.outbox.ask(1);
    assert!(!peer.outbox.wants_to_ask(1, true), "nothing new is written");
    peer.due();
    peer.encode();
    assert!(
        peer.outbox.wants_to_ask(1, true),
        "although one is in flight"
    );
    peer.outbox.ask(2);
    assert_eq!(peer.outbox.asked_since(), Some(1));
    peer.take(3 * BYTES);
    peer.outbox.pong();
    assert_eq!(peer.outbox.ledger.confirmed, 2);
    assert_eq!(peer.outbox.asked_since(), Some(2));
    peer.outbox.pong();
    assert!(!peer.outbox.wants_to_ask(2, true));
    assert_eq!(peer.close().confirmed, 3);
}

#[test]
fn during_the_load_qos_0_asks_once_a_second_and_for_several_messages() {
    let mut peer = Peer::new(Qos::AtMostOnce, 1);
    (0..ASK_MESSAGES - 1).for_each(|_| peer.due());
    peer.encode();
    assert!(!peer.outbox.wants_to_ask(0, false), "too few");
    peer.due();
    peer.encode();
    assert!(peer.outbox.wants_to_ask(0, false));
    peer.outbox.ask(0);
    (0..ASK_MESSAGES).for_each(|_| peer.due());
    peer.encode();
    assert!(!peer.outbox.wants_to_ask(ASK_NS - 1, false), "too soon");
    assert!(peer.outbox.wants_to_ask(ASK_NS, false));
    let mut other = Peer::new(Qos::AtLeastOnce, 1000);
    (0..ASK_MESSAGES).for_each(|_| other.due());
    other.encode();
    assert!(
        !other.outbox.wants_to_ask(0, false),
        "it has acknowledgements"
    );
}

#[test]
fn what_a_server_has_received_it_has_though_its_session_dies() {
    let mut peer = Peer::new(Qos::ExactlyOnce, 10);
    peer.due();
    peer.due();
    peer.encode();
    peer.take(2 * BYTES);
    peer.answer();
    peer.lose(false);
    let ledger = peer.close();
    assert_eq!(
        (ledger.confirmed, ledger.incomplete, ledger.unknown),
        (1, 1, 1)
    );
}

proptest! {
    #[test]
    fn the_ledger_adds_up_whatever_happens(
        level in 0..3u8,
        inflight in 1..5u16,
        steps in prop::collection::vec((0..9u8, 0..40u64), 0..120),
    ) {
        let mut peer = Peer::new(Qos::from_level(level).unwrap(), inflight);
        for (step, n) in steps {
            match step {
                0 | 1 => peer.due(),
                2 => peer.encode(),
                3 | 4 => peer.take(n),
                5 => peer.answer(),
                6 => peer.complete(),
                7 => peer.outbox.ask(peer.now),
                _ => peer.lose(n % 2 == 0),
            }
            peer.check();
        }
        peer.close();
    }
}
