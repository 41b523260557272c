//! A client's queue of pending, in-flight and acknowledged messages, with their positions in the
//! byte stream. The ledger contains each message exactly once. Performs no I/O and reads no clock.

use std::collections::VecDeque;

use measure::{LabelId, sample::Intended};
use mqtt::{
    Ack, Event, Qos, Session,
    session::{Again, Delivered},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentMessage {
    pub label: LabelId,
    pub sequence: u64,
    pub intended: Intended,
    pub started: u64,
    /// When the message was first completely written. 0 if it was not.
    pub first_write: u64,
    pub bytes: u32,
    /// Whether the PUBREC of this QoS 2 message was received.
    pub is_received: bool,
}

impl SentMessage {
    pub fn new(label: LabelId, sequence: u64, intended: Intended, started: u64) -> SentMessage {
        SentMessage {
            label,
            sequence,
            intended,
            started,
            first_write: 0,
            bytes: 0,
            is_received: false,
        }
    }
}

/// The ledger of messages: due = sent + unsent + pending, and sent = confirmed + unknown +
/// unanswered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MessageLedger {
    pub due: u64,
    pub sent: u64,
    pub resent: u64,
    pub confirmed: u64,
    pub turned_down: u64,
    pub unknown: u64,
    /// Messages that were due but will never be sent.
    pub unsent: u64,
    /// Messages with PUBREC but without PUBCOMP. It is unknown whether they were delivered.
    pub incomplete: u64,
}

impl MessageLedger {
    pub fn open(&self) -> u64 {
        self.due - self.confirmed - self.unknown - self.unsent
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextWrite {
    Message {
        id: u16,
        is_again: bool,
        sent: SentMessage,
    },
    Release(u16),
}

#[derive(Debug)]
struct MessageEnd {
    at: u64,
    id: u16,
    is_again: bool,
    sent: SentMessage,
}

pub(crate) struct Outbox {
    qos: Qos,
    session: Session<SentMessage>,
    queue: VecDeque<SentMessage>,
    ends: VecDeque<MessageEnd>,
    ledger: MessageLedger,
    asked: VecDeque<Ping>,
    last_asked: Option<Ping>,
}

#[derive(Debug, Clone, Copy)]
struct Ping {
    covers: u64,
    at_ns: u64,
}

const ASK_NS: u64 = 1_000_000_000;
const ASK_MESSAGES: u64 = 8;

impl Outbox {
    pub fn new(qos: Qos, inflight: u16) -> Outbox {
        Outbox {
            qos,
            session: Session::new(inflight),
            queue: VecDeque::new(),
            ends: VecDeque::new(),
            ledger: MessageLedger::default(),
            asked: VecDeque::new(),
            last_asked: None,
        }
    }

    pub fn ledger(&self) -> &MessageLedger {
        &self.ledger
    }

    #[inline]
    pub fn due(&mut self, sent: SentMessage) {
        self.ledger.due += 1;
        self.queue.push_back(sent);
    }

    pub fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    #[inline]
    pub fn has_room(&self) -> bool {
        self.qos == Qos::AtMostOnce || self.session.has_room()
    }

    #[inline]
    pub fn next(&mut self) -> Option<NextWrite> {
        match self.session.again() {
            Some((id, Again::Message(sent))) => {
                let is_again = true;
                return Some(NextWrite::Message { id, is_again, sent });
            }
            Some((id, Again::Release)) => return Some(NextWrite::Release(id)),
            None => {}
        }
        let sent = *self.queue.front()?;
        let id = match self.qos {
            Qos::AtMostOnce => 0,
            qos => self.session.publish(qos, sent)?,
        };
        self.queue.pop_front();
        let is_again = false;
        Some(NextWrite::Message { id, is_again, sent })
    }

    #[inline]
    pub fn encoded(&mut self, id: u16, is_again: bool, mut sent: SentMessage, bytes: u32, at: u64) {
        sent.bytes = bytes;
        if let Some(what) = self.session.what_mut(id).filter(|_| id > 0) {
            what.bytes = bytes;
        }
        self.ends.push_back(MessageEnd {
            at,
            id,
            is_again,
            sent,
        });
    }

    /// Settles the next QoS 0 message that lies completely within the first `taken` bytes of the
    /// connection, and returns it.
    #[inline]
    pub fn next_written(&mut self, taken: u64, now: u64) -> Option<SentMessage> {
        while let Some(end) = self.ends.front().filter(|end| end.at <= taken) {
            let (id, is_again, mut sent) = (end.id, end.is_again, end.sent);
            self.ends.pop_front();
            if id == 0 {
                self.ledger.sent += 1;
                sent.first_write = now;
                return Some(sent);
            }
            let what = self.session.what_mut(id);
            let Some(what) = what.filter(|what| what.sequence == sent.sequence) else {
                continue;
            };
            if what.first_write == 0 {
                what.first_write = now;
                self.ledger.sent += 1;
            } else {
                self.ledger.resent += u64::from(is_again);
            }
        }
        None
    }

    #[inline]
    pub fn acknowledged(&mut self, ack: &Ack<'_>, now: u64) -> Event<SentMessage> {
        match self.session.acknowledged(ack) {
            Event::Done(sent, reason) => {
                let sent = self.confirm(sent, now);
                self.ledger.turned_down += u64::from(reason.is_refusal());
                Event::Done(sent, reason)
            }
            Event::Complete(sent) => Event::Complete(self.confirm(sent, now)),
            Event::Release(first) => {
                if let Some(what) = self.session.what_mut(ack.identifier) {
                    what.is_received = true;
                }
                Event::Release(first)
            }
            other => other,
        }
    }

    fn confirm(&mut self, mut sent: SentMessage, now: u64) -> SentMessage {
        if sent.first_write == 0 {
            sent.first_write = now;
            self.ledger.sent += 1;
        }
        self.ledger.confirmed += 1;
        sent
    }

    #[inline]
    pub fn delivered(&mut self, message: &mqtt::Message<'_>) -> Delivered {
        self.session.delivered(message)
    }

    pub fn request(&mut self, sent: SentMessage) -> Option<u16> {
        self.session.request(sent)
    }

    pub fn answered(&mut self, id: u16) -> Option<SentMessage> {
        self.session.answered(id)
    }

    pub fn ask(&mut self, now: u64) {
        let ping = Ping {
            covers: self.written(),
            at_ns: now,
        };
        self.asked.push_back(ping);
        self.last_asked = Some(ping);
    }

    pub fn asked_since(&self) -> Option<u64> {
        self.asked.front().map(|ping| ping.at_ns)
    }

    fn written(&self) -> u64 {
        self.ledger.sent + self.ends.len() as u64
    }

    /// Returns whether to send a PINGREQ that confirms QoS 0 messages. This is the case at
    /// intervals during the load, and again when all messages have been written.
    pub fn wants_to_ask(&self, now: u64, is_over: bool) -> bool {
        if self.qos != Qos::AtMostOnce {
            return false;
        }
        let settled = self.ledger.confirmed + self.ledger.unknown;
        let covered = self.last_asked.map_or(0, |ping| ping.covers).max(settled);
        let uncovered = self.written().saturating_sub(covered);
        let is_time = self
            .last_asked
            .is_none_or(|ping| now >= ping.at_ns + ASK_NS);
        if is_over {
            uncovered > 0 && self.is_idle()
        } else {
            uncovered >= ASK_MESSAGES && is_time
        }
    }

    pub fn pong(&mut self) {
        let Some(asked) = self.asked.pop_front() else {
            return;
        };
        if self.qos == Qos::AtMostOnce {
            let ledger = &mut self.ledger;
            let settled = ledger.confirmed + ledger.unknown;
            ledger.confirmed += asked.covers.min(ledger.sent).saturating_sub(settled);
        }
    }

    pub fn disconnected(&mut self) -> Vec<SentMessage> {
        self.asked.clear();
        self.last_asked = None;
        let ends = std::mem::take(&mut self.ends);
        if self.qos != Qos::AtMostOnce {
            return Vec::new();
        }
        let ledger = &mut self.ledger;
        ledger.unknown += ledger.sent - ledger.confirmed - ledger.unknown;
        ledger.unsent += ends.len() as u64;
        ends.into_iter().map(|end| end.sent).collect()
    }

    pub fn connected(&mut self, session_present: bool, inflight: u16) -> Vec<SentMessage> {
        let lost = self.session.connected(session_present, inflight);
        for sent in &lost {
            match (sent.first_write, sent.is_received) {
                (_, true) => {
                    self.ledger.confirmed += 1;
                    self.ledger.incomplete += 1;
                }
                (0, _) => self.ledger.unsent += 1,
                _ => self.ledger.unknown += 1,
            }
        }
        lost
    }

    pub fn close(&mut self) -> Vec<SentMessage> {
        let mut rest = self.disconnected();
        self.ledger.unsent += self.queue.len() as u64;
        rest.extend(std::mem::take(&mut self.queue));
        rest.extend(self.connected(false, 1));
        rest
    }
}

#[cfg(test)]
mod tests;
