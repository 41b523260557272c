//! A client's session: unacknowledged messages and requests, and deliveries that have not been
//! released. It outlives a connection if the server keeps it.
//!
//! The caller encodes the packets that the session requires.

use std::collections::VecDeque;

use crate::{
    Qos, Reason,
    flight::Flight,
    packet::{Ack, AckKind},
    publish::Message,
};

/// A client's session. `T` is the caller's data for a message or request.
#[derive(Debug, Clone)]
pub struct Session<T> {
    flight: Flight<InFlight<T>>,
    /// Maximum number of unacknowledged messages of QoS 1 and 2: the lower of the client's and the
    /// server's limit.
    limit: u16,
    unanswered: u16,
    /// Identifiers of messages to send again before any new message.
    again: VecDeque<u16>,
    /// Identifiers of delivered QoS 2 messages that have not been released.
    arriving: VecDeque<u16>,
}

#[derive(Debug, Clone, Copy)]
struct InFlight<T> {
    what: T,
    step: AckStep,
    is_counted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AckStep {
    /// A QoS 1 message that waits for PUBACK.
    Once,
    /// A QoS 2 message that waits for PUBREC.
    Twice,
    /// A QoS 2 message that waits for PUBCOMP.
    Released,
    Request,
}

/// The effect of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<T> {
    /// A QoS 1 message is complete, or a QoS 2 message was refused.
    Done(T, Reason),
    /// The server has received a QoS 2 message, and the caller must send PUBREL. Contains the data
    /// only the first time.
    Release(Option<T>),
    /// A QoS 2 message is complete.
    Complete(T),
    /// The server released a delivery, and the caller must send PUBCOMP with this reason.
    Forget(Reason),
    /// No message in flight has this identifier. The caller must respond to such a PUBREC with
    /// PUBREL and [`Reason::NOT_FOUND`].
    Unknown,
}

/// A packet to send again on a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again<T> {
    /// A message, to be marked as a duplicate.
    Message(T),
    /// A PUBREL without content.
    Release,
}

/// How to handle a delivered message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// Acknowledgement to send, if any.
    pub answer: Option<AckKind>,
    /// Whether this is the first delivery. Always true for QoS 0 and 1, which do not reveal
    /// repetitions.
    pub is_new: bool,
}

impl<T: Copy> Session<T> {
    /// Creates a session with at most `limit` unacknowledged messages of QoS 1 and 2.
    #[must_use]
    pub fn new(limit: u16) -> Session<T> {
        Session {
            flight: Flight::default(),
            limit: limit.max(1),
            unanswered: 0,
            again: VecDeque::new(),
            arriving: VecDeque::new(),
        }
    }

    /// Handles an accepted connection. If the server has no session, returns everything that was in
    /// flight, because its result is unknown.
    pub fn connected(&mut self, session_present: bool, limit: u16) -> Vec<T> {
        self.limit = limit.max(1);
        self.unanswered = 0;
        self.again.clear();
        let in_flight = self.flight.in_order();
        let requests = in_flight.iter().filter(|(_, s)| s.step == AckStep::Request);
        let requests: Vec<u16> = requests.map(|(id, _)| *id).collect();
        for id in requests {
            self.flight.end(id);
        }
        if !session_present {
            let lost = self.flight.in_order();
            let lost = lost.into_iter().map(|(_, sent)| sent.what).collect();
            self.flight = Flight::default();
            self.arriving.clear();
            return lost;
        }
        let again = self.flight.in_order().into_iter().map(|(id, _)| id);
        self.again = again.collect();
        let counted = self.again.clone();
        for id in counted {
            if let Some(sent) = self.flight.get_mut(id) {
                sent.is_counted = false;
            }
        }
        Vec::new()
    }

    /// Returns the next item to send again, if the limit allows it.
    pub fn again(&mut self) -> Option<(u16, Again<T>)> {
        let id = *self.again.front()?;
        let may = self.unanswered < self.limit;
        let Some(sent) = self.flight.get_mut(id) else {
            self.again.pop_front();
            return self.again();
        };
        if sent.step == AckStep::Released {
            self.again.pop_front();
            return Some((id, Again::Release));
        }
        if !may {
            return None;
        }
        sent.is_counted = true;
        self.unanswered += 1;
        self.again.pop_front();
        Some((id, Again::Message(sent.what)))
    }

    /// Returns whether the limit allows another message of QoS 1 or 2.
    #[inline]
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.unanswered < self.limit && self.again.is_empty()
    }

    /// Returns an identifier for a message of QoS 1 or 2. `None` if the limit is reached.
    #[inline]
    pub fn publish(&mut self, qos: Qos, what: T) -> Option<u16> {
        if !self.has_room() {
            return None;
        }
        let step = match qos {
            Qos::ExactlyOnce => AckStep::Twice,
            _ => AckStep::Once,
        };
        let id = self.flight.begin(InFlight {
            what,
            step,
            is_counted: true,
        })?;
        self.unanswered += 1;
        Some(id)
    }

    /// Returns an identifier for a SUBSCRIBE or UNSUBSCRIBE. `None` if all are in use.
    pub fn request(&mut self, what: T) -> Option<u16> {
        self.flight.begin(InFlight {
            what,
            step: AckStep::Request,
            is_counted: false,
        })
    }

    /// Handles the response to a SUBSCRIBE or UNSUBSCRIBE. Returns `None` if the identifier is
    /// unknown.
    pub fn answered(&mut self, identifier: u16) -> Option<T> {
        let sent = self.flight.get_mut(identifier)?;
        if sent.step != AckStep::Request {
            return None;
        }
        self.flight.end(identifier).map(|sent| sent.what)
    }

    /// Returns the data of a message or request in flight.
    #[inline]
    pub fn what_mut(&mut self, identifier: u16) -> Option<&mut T> {
        self.flight.get_mut(identifier).map(|sent| &mut sent.what)
    }

    /// Handles an acknowledgement and returns its effect.
    #[inline]
    pub fn acknowledged(&mut self, ack: &Ack<'_>) -> Event<T> {
        let id = ack.identifier;
        if ack.stage == AckKind::Released {
            return self.released(id);
        }
        let Some(sent) = self.flight.get_mut(id) else {
            return Event::Unknown;
        };
        match (ack.stage, sent.step) {
            (AckKind::Acknowledged, AckStep::Once) => self.done(id, ack.reason),
            (AckKind::Received, AckStep::Twice) if ack.reason.is_refusal() => {
                self.done(id, ack.reason)
            }
            (AckKind::Received, AckStep::Twice) => {
                sent.step = AckStep::Released;
                Event::Release(Some(sent.what))
            }
            (AckKind::Received, AckStep::Released) => Event::Release(None),
            (AckKind::Complete, AckStep::Released) => match self.end(id) {
                Some(what) => Event::Complete(what),
                None => Event::Unknown,
            },
            _ => Event::Unknown,
        }
    }

    /// Handles a delivered message and returns how to acknowledge it.
    #[inline]
    pub fn delivered(&mut self, message: &Message<'_>) -> Delivered {
        let (answer, is_new) = match (message.qos, message.identifier) {
            (Qos::AtLeastOnce, _) => (Some(AckKind::Acknowledged), true),
            (Qos::ExactlyOnce, Some(id)) => {
                let is_new = !self.arriving.contains(&id);
                if is_new {
                    self.arriving.push_back(id);
                }
                (Some(AckKind::Received), is_new)
            }
            _ => (None, true),
        };
        Delivered { answer, is_new }
    }

    fn released(&mut self, identifier: u16) -> Event<T> {
        // Search from the front, because releases usually arrive in the order of the deliveries.
        match self.arriving.iter().position(|id| *id == identifier) {
            Some(at) => {
                self.arriving.remove(at);
                Event::Forget(Reason::SUCCESS)
            }
            None => Event::Forget(Reason::NOT_FOUND),
        }
    }

    #[inline]
    fn done(&mut self, identifier: u16, reason: Reason) -> Event<T> {
        match self.end(identifier) {
            Some(what) => Event::Done(what, reason),
            None => Event::Unknown,
        }
    }

    #[inline]
    fn end(&mut self, identifier: u16) -> Option<T> {
        let sent = self.flight.end(identifier)?;
        self.unanswered -= u16::from(sent.is_counted);
        Some(sent.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Block;

    fn ack(stage: AckKind, identifier: u16, reason: u8) -> Ack<'static> {
        Ack {
            stage,
            identifier,
            reason: Reason(reason),
            properties: Block::default(),
        }
    }

    fn message(qos: Qos, identifier: u16) -> Message<'static> {
        Message {
            topic: b"a",
            qos,
            is_again: false,
            retain: false,
            identifier: Some(identifier),
            properties: Block::default(),
            payload: b"",
        }
    }

    use AckKind::{Acknowledged, Complete, Received, Released};

    #[test]
    fn qos_1_completes_with_puback() {
        let mut session = Session::new(1);
        let id = session.publish(Qos::AtLeastOnce, 'a').unwrap();
        assert_eq!(
            session.publish(Qos::AtLeastOnce, 'b'),
            None,
            "one at a time"
        );
        assert_eq!(session.acknowledged(&ack(Received, id, 0)), Event::Unknown);
        let done = session.acknowledged(&ack(Acknowledged, id, 0x10));
        assert_eq!(done, Event::Done('a', Reason(0x10)));
        assert_eq!(
            session.acknowledged(&ack(Acknowledged, id, 0)),
            Event::Unknown
        );
        assert!(session.has_room());
    }

    #[test]
    fn qos_2_completes_in_two_rounds() {
        let mut session = Session::new(2);
        let id = session.publish(Qos::ExactlyOnce, 'a').unwrap();
        let refused = session.publish(Qos::ExactlyOnce, 'b').unwrap();
        assert_eq!(session.acknowledged(&ack(Complete, id, 0)), Event::Unknown);
        let first = session.acknowledged(&ack(Received, id, 0));
        assert_eq!(first, Event::Release(Some('a')));
        let again = session.acknowledged(&ack(Received, id, 0));
        assert_eq!(again, Event::Release(None), "PUBREL, and nothing else");
        assert!(!session.has_room());
        let refusal = session.acknowledged(&ack(Received, refused, 0x97));
        assert_eq!(refusal, Event::Done('b', Reason(0x97)));
        let complete = session.acknowledged(&ack(Complete, id, 0));
        assert_eq!(complete, Event::Complete('a'));
        assert!(session.flight.in_order().is_empty());
    }

    #[test]
    fn qos_2_delivery_is_new_only_until_release() {
        let mut session = Session::<()>::new(1);
        let of = |answer, is_new| Delivered { answer, is_new };
        let once = message(Qos::ExactlyOnce, 9);
        assert_eq!(session.delivered(&once), of(Some(Received), true));
        assert_eq!(session.delivered(&once), of(Some(Received), false));
        let released = session.acknowledged(&ack(Released, 9, 0));
        assert_eq!(released, Event::Forget(Reason::SUCCESS));
        let again = session.acknowledged(&ack(Released, 9, 0));
        assert_eq!(again, Event::Forget(Reason::NOT_FOUND));
        assert_eq!(session.delivered(&once), of(Some(Received), true));
        let at_least = message(Qos::AtLeastOnce, 9);
        assert_eq!(session.delivered(&at_least), of(Some(Acknowledged), true));
        let mut at_most = message(Qos::AtMostOnce, 9);
        at_most.identifier = None;
        assert_eq!(session.delivered(&at_most), of(None, true));
    }

    #[test]
    fn kept_session_resends_in_order() {
        let mut session = Session::new(10);
        let ids: Vec<u16> = ['a', 'b', 'c']
            .map(|what| session.publish(Qos::ExactlyOnce, what).unwrap())
            .into();
        session.request('s').unwrap();
        session.acknowledged(&ack(Received, ids[0], 0));
        assert_eq!(session.connected(true, 1), []);
        assert!(!session.has_room(), "what was sent before goes first");
        assert_eq!(session.again(), Some((ids[0], Again::Release)));
        assert_eq!(session.again(), Some((ids[1], Again::Message('b'))));
        assert_eq!(session.again(), None);
        session.acknowledged(&ack(Complete, ids[0], 0));
        assert_eq!(session.again(), None);
        session.acknowledged(&ack(Received, ids[1], 0));
        session.acknowledged(&ack(Complete, ids[1], 0));
        assert_eq!(session.again(), Some((ids[2], Again::Message('c'))));
        assert_eq!(
            session.flight.in_order().len(),
            1,
            "the request is forgotten"
        );
    }

    #[test]
    fn lost_session_returns_messages_with_unknown_result() {
        let mut session = Session::new(10);
        session.publish(Qos::AtLeastOnce, 'a').unwrap();
        session.publish(Qos::ExactlyOnce, 'b').unwrap();
        session.delivered(&message(Qos::ExactlyOnce, 3));
        assert_eq!(session.connected(false, 10), ['a', 'b']);
        assert!(session.has_room() && session.again().is_none());
        assert!(session.delivered(&message(Qos::ExactlyOnce, 3)).is_new);
        assert_eq!(session.publish(Qos::AtLeastOnce, 'c'), Some(1));
    }
}
