//! State of the broker: sessions, subscriptions, retained messages, deliveries. Independent of
//! packets and sockets.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    rc::Rc,
};

use mqtt_proto::QoS;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::topics;

#[derive(Debug, Clone)]
pub(super) struct BrokerMessage {
    pub topic: Rc<str>,
    pub payload: bytes::Bytes,
    pub qos: QoS,
    pub retain: bool,
}

#[derive(Debug)]
pub(super) enum Out {
    Publish {
        message: BrokerMessage,
        qos: QoS,
        retain: bool,
        id: u16,
        again: bool,
    },
    Release(u16),
    Close,
}

#[derive(Debug, Default)]
pub(super) struct Broker {
    sessions: HashMap<String, BrokerSession>,
    retained: HashMap<Rc<str>, BrokerMessage>,
    turns: HashMap<String, usize>,
    held: HashMap<String, BrokerMessage>,
    pub counts: BrokerCounts,
    next_connection: u64,
}

#[derive(Debug, Default)]
pub(super) struct BrokerCounts {
    pub connected: u64,
    pub refused: u64,
    pub received: u64,
    pub received_again: u64,
    pub dropped: u64,
    pub duplicated: u64,
    pub reordered: u64,
    pub delivered: u64,
    pub wills: u64,
    pub subscribed: u64,
}

type QueuedMessage = (BrokerMessage, QoS, bool);

#[derive(Debug, Default)]
struct BrokerSession {
    connection: u64,
    to: Option<UnboundedSender<Out>>,
    is_brief: bool,
    window: usize,
    filters: HashMap<String, QoS>,
    waiting: VecDeque<QueuedMessage>,
    /// Unacknowledged messages. After PUBREC, only the packet identifier is kept.
    in_flight: Vec<(u16, Option<QueuedMessage>)>,
    next_id: u16,
    arriving: HashSet<u16>,
}

pub(super) struct Coming {
    pub clean: bool,
    pub is_brief: bool,
    pub window: usize,
    pub to: UnboundedSender<Out>,
}

impl Broker {
    pub fn connect(&mut self, client: &str, coming: Coming) -> (u64, bool) {
        self.counts.connected += 1;
        self.next_connection += 1;
        let old = self.sessions.remove(client);
        if let Some(to) = old.as_ref().and_then(|old| old.to.as_ref()) {
            let _ = to.send(Out::Close);
        }
        let previous = old.filter(|old| !coming.clean && !old.is_brief);
        let was_there = previous.is_some();
        let mut session = previous.unwrap_or_default();
        session.connection = self.next_connection;
        session.to = Some(coming.to);
        (session.is_brief, session.window) = (coming.is_brief, coming.window);
        self.sessions.insert(client.to_owned(), session);
        (self.next_connection, was_there)
    }

    pub fn resume(&mut self, client: &str) {
        let Some(session) = self.sessions.get_mut(client) else {
            return;
        };
        for (id, sent) in &session.in_flight {
            let out = match sent {
                Some((message, qos, retain)) => Out::Publish {
                    message: message.clone(),
                    qos: *qos,
                    retain: *retain,
                    id: *id,
                    again: true,
                },
                None => Out::Release(*id),
            };
            let _ = session.to.as_ref().map(|to| to.send(out));
        }
        session.go_on(&mut self.counts);
    }

    pub fn disconnect(&mut self, client: &str, connection: u64) {
        let Some(session) = self.sessions.get_mut(client) else {
            return;
        };
        if session.connection != connection {
            return;
        }
        session.to = None;
        if session.is_brief {
            self.sessions.remove(client);
        }
    }

    pub fn arrives(&mut self, client: &str, id: u16) -> bool {
        let session = self.sessions.get_mut(client);
        session.is_some_and(|session| session.arriving.insert(id))
    }

    pub fn released(&mut self, client: &str, id: u16) {
        if let Some(session) = self.sessions.get_mut(client) {
            session.arriving.remove(&id);
        }
    }

    /// Handles an acknowledgement. QoS 2 has two: the first confirms receipt, the second completes
    /// the exchange.
    pub fn acknowledged(&mut self, client: &str, id: u16, has_arrived_only: bool) {
        let Some(session) = self.sessions.get_mut(client) else {
            return;
        };
        if has_arrived_only {
            if let Some((_, sent)) = session.in_flight.iter_mut().find(|(of, _)| *of == id) {
                *sent = None;
            }
            let _ = session.to.as_ref().map(|to| to.send(Out::Release(id)));
            return;
        }
        session.in_flight.retain(|(of, _)| *of != id);
        session.go_on(&mut self.counts);
    }

    pub fn hold(&mut self, client: &str, message: BrokerMessage) {
        let earlier = self.held.insert(client.to_owned(), message);
        if let Some(earlier) = earlier {
            self.deliver(&earlier);
        }
    }

    pub fn held(&mut self, client: &str) -> Option<BrokerMessage> {
        self.held.remove(client)
    }

    pub fn retain(&mut self, message: &BrokerMessage) {
        if !message.retain {
            return;
        }
        if message.payload.is_empty() {
            self.retained.remove(&message.topic);
        } else {
            self.retained
                .insert(Rc::clone(&message.topic), message.clone());
        }
    }

    pub fn deliver(&mut self, message: &BrokerMessage) {
        let mut shared: HashMap<String, Vec<(String, QoS)>> = HashMap::new();
        for (client, session) in &mut self.sessions {
            let mut best: Option<QoS> = None;
            for (filter, qos) in &session.filters {
                let (group, plain) = topics::split(filter);
                if !topics::passes(plain, &message.topic) {
                    continue;
                }
                if group.is_some() {
                    let member = (client.clone(), *qos);
                    shared.entry(filter.clone()).or_default().push(member);
                } else {
                    best = best.max(Some(*qos));
                }
            }
            if let Some(qos) = best {
                session.give(message, qos, false, &mut self.counts);
            }
        }
        for (filter, mut members) in shared {
            members.sort();
            let turn = self.turns.entry(filter).or_default();
            let (client, qos) = &members[*turn % members.len()];
            *turn += 1;
            if let Some(session) = self.sessions.get_mut(client) {
                session.give(message, *qos, false, &mut self.counts);
            }
        }
    }

    pub fn subscribe(&mut self, client: &str, filter: &str, qos: QoS) {
        let Some(session) = self.sessions.get_mut(client) else {
            return;
        };
        self.counts.subscribed += 1;
        session.filters.insert(filter.to_owned(), qos);
        let (group, plain) = topics::split(filter);
        if group.is_some() {
            return;
        }
        for message in self.retained.values() {
            if topics::passes(plain, &message.topic) {
                session.give(message, qos, true, &mut self.counts);
            }
        }
    }

    pub fn unsubscribe(&mut self, client: &str, filter: &str) -> bool {
        let session = self.sessions.get_mut(client);
        session.is_some_and(|session| session.filters.remove(filter).is_some())
    }

    pub fn to_json(&self) -> Value {
        let counts = &self.counts;
        json!({
            "connected": counts.connected,
            "refused": counts.refused,
            "received": counts.received,
            "received_again": counts.received_again,
            "dropped": counts.dropped,
            "duplicated": counts.duplicated,
            "reordered": counts.reordered,
            "delivered": counts.delivered,
            "wills": counts.wills,
            "subscribed": counts.subscribed,
            "retained": self.retained.len(),
            "sessions": self.sessions.len(),
        })
    }
}

impl BrokerSession {
    fn give(
        &mut self,
        message: &BrokerMessage,
        most: QoS,
        retain: bool,
        counts: &mut BrokerCounts,
    ) {
        let qos = message.qos.min(most);
        if qos == QoS::Level0 {
            if let Some(to) = &self.to {
                counts.delivered += 1;
                let _ = to.send(Out::Publish {
                    message: message.clone(),
                    qos,
                    retain,
                    id: 0,
                    again: false,
                });
            }
            return;
        }
        self.waiting.push_back((message.clone(), qos, retain));
        self.go_on(counts);
    }

    fn go_on(&mut self, counts: &mut BrokerCounts) {
        let Some(to) = &self.to else { return };
        while self.in_flight.len() < self.window {
            let Some((message, qos, retain)) = self.waiting.pop_front() else {
                return;
            };
            let id = loop {
                self.next_id = self.next_id.checked_add(1).unwrap_or(1);
                if self.in_flight.iter().all(|(used, _)| *used != self.next_id) {
                    break self.next_id;
                }
            };
            counts.delivered += 1;
            let sent = (message.clone(), qos, retain);
            self.in_flight.push((id, Some(sent)));
            let _ = to.send(Out::Publish {
                message,
                qos,
                retain,
                id,
                again: false,
            });
        }
    }
}
