//! A client's messages on their way: which are due, which are running, where among the bytes of a connection each ends, and what became
//! of it. Every message is in the ledger once, however many connections it takes. Writes no bytes, reads no clock, knows no socket.

use std::collections::VecDeque;

use measure::{LabelId, sample::Intended};
use mqtt::{
    Ack, Event, Qos, Session,
    session::{Again, Delivered},
};

/// Something running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentMessage {
    pub label: LabelId,
    pub sequence: u64,
    pub intended: Intended,
    pub started: u64,
    /// When the socket had taken it whole for the first time; 0: not yet.
    pub first_write: u64,
    pub bytes: u32,
    /// Of QoS 2: the server has said that it has it (PUBREC).
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

/// What became of a client's messages. At every moment: due = sent + not sent + not yet sent, and sent = confirmed + unknown + not yet
/// answered; each message counts once in each sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MessageLedger {
    pub due: u64,
    /// A connection has taken every byte of it.
    pub sent: u64,
    /// Sent anew, with DUP: how often, beyond the first time.
    pub resent: u64,
    /// The server has certainly read it.
    pub confirmed: u64,
    /// Confirmed with a refusal.
    pub turned_down: u64,
    /// Sent, and nobody will ever know.
    pub unknown: u64,
    /// Never sent, and never will be.
    pub unsent: u64,
    /// Confirmed by PUBREC, and the session was lost before PUBCOMP: the server has it, whether it passes it on is unknown.
    pub incomplete: u64,
}

impl MessageLedger {
    /// What is not settled.
    pub fn open(&self) -> u64 {
        self.due - self.confirmed - self.unknown - self.unsent
    }
}

/// The next thing to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextWrite {
    /// A message; of QoS 0 its identifier is 0.
    Message {
        id: u16,
        is_again: bool,
        sent: SentMessage,
    },
    /// A PUBREL.
    Release(u16),
}

/// Where a message ends among the bytes of a connection.
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
    /// What is due and has no room yet.
    queue: VecDeque<SentMessage>,
    /// What was encoded and is not yet taken whole.
    ends: VecDeque<MessageEnd>,
    ledger: MessageLedger,
    /// PINGREQs in flight, oldest first.
    asked: VecDeque<Ping>,
    /// The newest PINGREQ of this connection.
    last_asked: Option<Ping>,
}

/// A PINGREQ.
#[derive(Debug, Clone, Copy)]
struct Ping {
    /// How many messages were written before it.
    covers: u64,
    at_ns: u64,
}

/// During the load a publisher of QoS 0 asks at most this often,
const ASK_NS: u64 = 1_000_000_000;
/// and for at least this many messages, so that PINGREQs add little to the load.
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

    /// A message is due.
    #[inline]
    pub fn due(&mut self, sent: SentMessage) {
        self.ledger.due += 1;
        self.queue.push_back(sent);
    }

    /// Whether nothing waits for room.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether a message that came due now could be written now.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.qos == Qos::AtMostOnce || self.session.has_room()
    }

    /// What is to be written next, as far as there is room in the session. Whoever writes a message says where it ends.
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

    /// A message was encoded, and ends here among the bytes of its connection.
    #[inline]
    pub fn encoded(
        &mut self,
        (id, is_again): (u16, bool),
        mut sent: SentMessage,
        bytes: u32,
        at: u64,
    ) {
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

    /// The next message of QoS 0 of which a connection that has taken so many bytes has taken every one: that is all that happens to it.
    /// Those of QoS 1 and 2 go on waiting for their answers.
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
            // A server may have answered what it had not got: then the identifier may be another message's.
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

    /// An acknowledgement came.
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

    /// Who has an answer has had the message.
    fn confirm(&mut self, mut sent: SentMessage, now: u64) -> SentMessage {
        if sent.first_write == 0 {
            sent.first_write = now;
            self.ledger.sent += 1;
        }
        self.ledger.confirmed += 1;
        sent
    }

    /// A message was delivered to this client.
    #[inline]
    pub fn delivered(&mut self, message: &mqtt::Message<'_>) -> Delivered {
        self.session.delivered(message)
    }

    /// A SUBSCRIBE is about to be sent: its identifier; none: all are in use.
    pub fn request(&mut self, sent: SentMessage) -> Option<u16> {
        self.session.request(sent)
    }

    /// A SUBSCRIBE or UNSUBSCRIBE was answered.
    pub fn answered(&mut self, id: u16) -> Option<SentMessage> {
        self.session.answered(id)
    }

    /// A PINGREQ is written behind everything that was encoded.
    pub fn ask(&mut self, now: u64) {
        let ping = Ping {
            covers: self.written(),
            at_ns: now,
        };
        self.asked.push_back(ping);
        self.last_asked = Some(ping);
    }

    /// Since when the oldest PINGREQ in flight waits for its answer.
    pub fn asked_since(&self) -> Option<u64> {
        self.asked.front().map(|ping| ping.at_ns)
    }

    /// Messages that were encoded, whether or not the socket has taken them.
    fn written(&self) -> u64 {
        self.ledger.sent + self.ends.len() as u64
    }

    /// Whether a PINGREQ should show that the server has read what was written: QoS 0 has no answers. During the load now and then,
    /// after it as soon as everything is written.
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

    /// The PINGREQ was answered: what had been written before it, the server has read.
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

    /// The connection is over. Messages of QoS 0 of which it has not taken every byte are handed over: they will never be sent.
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

    /// A connection was accepted. Messages of QoS 1 and 2 whose session is gone are handed over: they will never be answered.
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

    /// The client is no more: what is neither sent nor answered never will be.
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
