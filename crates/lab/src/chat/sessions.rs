//! Socket.IO sessions with their packet queues, namespaces and rooms.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use codec::socketio::{EnginePacket, Packet, PacketKind, split_payload};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::ChatState;
use super::behaviour::{Behaviour, DeliveryFault};
use crate::clock;

/// Time after a missing ping until a client should abandon the session, in milliseconds.
const PING_TIMEOUT_MS: u64 = 20_000;
const PING_INTERVAL: Duration = Duration::from_secs(25);
const MAX_PAYLOAD: usize = 1_000_000;
/// A namespace that refuses every client.
const LOCKED: &str = "/locked";

/// Members of each room by session number, with the namespace in which they joined.
type Rooms = HashMap<String, BTreeMap<u64, (Arc<Session>, String)>>;

/// All sessions of the lab.
#[derive(Default)]
pub(super) struct Sessions {
    by_id: Mutex<HashMap<String, Arc<Session>>>,
    opened: AtomicU64,
    rooms: Mutex<Rooms>,
    totals: Mutex<Totals>,
}

/// Counts of sessions and events.
#[derive(Default)]
pub(super) struct Totals {
    closed: u64,
    pub(super) upgraded: u64,
    joined: u64,
    refused: u64,
    events_in: u64,
    events_out: u64,
    acknowledged: u64,
    pub(super) pings: u64,
    pongs: u64,
    pub(super) unknown: u64,
    dropped: u64,
    duplicated: u64,
}

/// A session.
pub(super) struct Session {
    number: u64,
    pub(super) id: String,
    behaviour: Behaviour,
    queue: Mutex<Queue>,
    /// Time at which the client last sent something, in nanoseconds.
    heard_ns: AtomicU64,
    /// Notified when the queue changes.
    pub(super) changed: Notify,
}

#[derive(Default)]
struct Queue {
    outbox: VecDeque<String>,
    namespaces: BTreeSet<String>,
    received: u64,
    sent: u64,
    /// Whether a polling request is waiting for packets.
    is_polled: bool,
    is_upgraded: bool,
    is_closed: bool,
}

/// Result of checking the queue for a polling request that is waiting for packets.
pub(super) enum Polled {
    Packets(String),
    Nothing,
}

impl Sessions {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session, and ends the sessions of clients that have disappeared.
    pub(super) fn open(&self, seed: u64, behaviour: Behaviour) -> Arc<Session> {
        let now_ns = clock::monotonic_ns();
        let silent: Vec<_> = self.sessions().values().cloned().collect();
        for session in silent.iter().filter(|session| session.is_silent(now_ns)) {
            self.close(session);
        }
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let id = format!("{:016x}{number:08x}", crate::random::mix(seed ^ number));
        let session = Arc::new(Session {
            number,
            id: id.clone(),
            behaviour,
            queue: Mutex::default(),
            heard_ns: AtomicU64::new(clock::monotonic_ns()),
            changed: Notify::new(),
        });
        self.sessions().insert(id, Arc::clone(&session));
        session
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        self.sessions().get(id).cloned()
    }

    /// Ends a session. If a polling request is waiting for packets, it gets a response.
    pub(super) fn close(&self, session: &Arc<Session>) {
        if self.sessions().remove(&session.id).is_none() {
            return;
        }
        for members in self.rooms().values_mut() {
            members.remove(&session.number);
        }
        session.queue().is_closed = true;
        session.changed.notify_waiters();
        self.totals().closed += 1;
    }

    pub(super) fn to_json(&self) -> Value {
        let totals = self.totals();
        let opened = self.opened.load(Ordering::Relaxed);
        json!({
            "sessions": {
                "opened": opened,
                "open": opened - totals.closed,
                "upgraded": totals.upgraded,
                "unknown": totals.unknown,
            },
            "namespaces": { "joined": totals.joined, "refused": totals.refused },
            "events_in": totals.events_in,
            "events_out": totals.events_out,
            "acknowledged": totals.acknowledged,
            "dropped": totals.dropped,
            "duplicated": totals.duplicated,
            "pings_sent": totals.pings,
            "pongs_received": totals.pongs,
        })
    }
}

impl Session {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the packet that opens the session.
    pub(super) fn handshake(&self) -> String {
        let interval = self.ping_interval();
        let upgrades: &[&str] = if self.queue().is_upgraded {
            &[]
        } else {
            &["websocket"]
        };
        let json = json!({
            "sid": self.id,
            "upgrades": upgrades,
            "pingInterval": u64::try_from(interval.as_millis()).unwrap_or(u64::MAX),
            "pingTimeout": PING_TIMEOUT_MS,
            "maxPayload": MAX_PAYLOAD,
        });
        EnginePacket::Open(&json.to_string()).to_text()
    }

    /// Records that the client is still active.
    pub(super) fn heard(&self) {
        self.heard_ns
            .store(clock::monotonic_ns(), Ordering::Relaxed);
    }

    fn is_silent(&self, now_ns: u64) -> bool {
        let allowed = self.ping_interval() + Duration::from_millis(PING_TIMEOUT_MS);
        let silent_ns = now_ns.saturating_sub(self.heard_ns.load(Ordering::Relaxed));
        u128::from(silent_ns) > allowed.as_nanos()
    }

    pub(super) fn ping_interval(&self) -> Duration {
        self.behaviour.ping.unwrap_or(PING_INTERVAL)
    }

    /// Moves the session to a WebSocket.
    pub(super) fn upgrade(&self) {
        self.queue().is_upgraded = true;
        self.changed.notify_waiters();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.queue().is_closed
    }

    /// Removes and returns the packets that are due.
    pub(super) fn take(&self) -> Vec<String> {
        self.queue().outbox.drain(..).collect()
    }

    /// Returns whether this is the only polling request that is waiting for packets.
    pub(super) fn begin_poll(&self) -> bool {
        self.heard();
        !std::mem::replace(&mut self.queue().is_polled, true)
    }

    /// Returns what the waiting polling request should respond with now.
    pub(super) fn poll(&self) -> Polled {
        let mut queue = self.queue();
        let packet = if queue.is_closed {
            EnginePacket::Close.to_text()
        } else if queue.is_upgraded {
            EnginePacket::Noop.to_text()
        } else if queue.outbox.is_empty() {
            return Polled::Nothing;
        } else {
            let packets: Vec<String> = queue.outbox.drain(..).collect();
            packets.join(&codec::socketio::SEPARATOR.to_string())
        };
        queue.is_polled = false;
        Polled::Packets(packet)
    }

    pub(super) fn end_poll(&self) {
        self.queue().is_polled = false;
    }

    fn push(&self, packet: &Packet<'_>) {
        let text = EnginePacket::Message(&packet.to_text()).to_text();
        self.queue().outbox.push_back(text);
        self.changed.notify_waiters();
    }
}

/// Handles the packets of a polling request. Returns whether all of them were valid.
pub(super) fn receive_all(state: &Arc<ChatState>, session: &Arc<Session>, body: &str) -> bool {
    split_payload(body).all(|text| receive(state, session, text))
}

/// Handles a packet. Returns whether it was valid.
pub(super) fn receive(state: &Arc<ChatState>, session: &Arc<Session>, text: &str) -> bool {
    session.heard();
    match EnginePacket::parse(text) {
        Some(EnginePacket::Message(text)) => match Packet::parse(text) {
            Ok(packet) => receive_packet(state, session, packet),
            Err(_) => return false,
        },
        Some(EnginePacket::Pong(_)) => state.sessions.totals().pongs += 1,
        Some(EnginePacket::Close) => state.sessions.close(session),
        Some(_) => {}
        None => return false,
    }
    true
}

fn receive_packet(state: &Arc<ChatState>, session: &Arc<Session>, packet: Packet<'_>) {
    let namespace = packet.namespace;
    match packet.kind {
        PacketKind::Connect if namespace == LOCKED => {
            state.sessions.totals().refused += 1;
            let json = json!({ "message": "not authorized" }).to_string();
            session.push(&Packet::new(PacketKind::ConnectError, namespace, &json));
        }
        PacketKind::Connect => {
            state.sessions.totals().joined += 1;
            session.queue().namespaces.insert(namespace.to_owned());
            let json = json!({ "sid": format!("{}{namespace}", session.id) }).to_string();
            session.push(&Packet::new(PacketKind::Connect, namespace, &json));
        }
        PacketKind::Disconnect => {
            session.queue().namespaces.remove(namespace);
        }
        PacketKind::Event => event(state, session, &packet),
        _ => {}
    }
}

/// Responds to an event if the client has joined the event's namespace.
fn event(state: &Arc<ChatState>, session: &Arc<Session>, packet: &Packet<'_>) {
    let Ok(Value::Array(arguments)) = serde_json::from_str(packet.json) else {
        return;
    };
    let Some((Value::String(name), arguments)) = arguments.split_first() else {
        return;
    };
    let received = {
        let mut queue = session.queue();
        if !queue.namespaces.contains(packet.namespace) {
            return;
        }
        queue.received += 1;
        queue.received
    };
    state.sessions.totals().events_in += 1;
    let arrival_ns = clock::monotonic_ns();
    state.ledger.log(|| {
        json!({ "session": session.number, "n": received, "event": name, "arrival_ns": arrival_ns })
    });
    if let Some(id) = packet.id.filter(|_| name != "silent") {
        state.sessions.totals().acknowledged += 1;
        let json = json!([{ "ok": true, "n": received, "arguments": arguments }]).to_string();
        session.push(&Packet {
            id: Some(id),
            ..Packet::new(PacketKind::Ack, packet.namespace, &json)
        });
    }
    match (name.as_str(), arguments) {
        ("echo", _) => deliver(state, session, packet.namespace, name, arguments),
        ("join", [Value::String(room), ..]) => {
            let member = (Arc::clone(session), packet.namespace.to_owned());
            let mut rooms = state.sessions.rooms();
            let members = rooms.entry(room.clone()).or_default();
            members.insert(session.number, member);
        }
        ("say", [Value::String(room), message @ ..]) => {
            let rooms = state.sessions.rooms();
            let members: Vec<_> = rooms
                .get(room)
                .into_iter()
                .flat_map(BTreeMap::values)
                .cloned()
                .collect();
            drop(rooms);
            for (member, namespace) in members {
                deliver(state, &member, &namespace, "message", message);
            }
        }
        ("bye", _) => {
            session.push(&Packet::new(PacketKind::Disconnect, packet.namespace, ""));
        }
        _ => {}
    }
    if session.behaviour.close_after == Some(received) {
        state.sessions.close(session);
    }
}

/// Sends an event to a session, with the session's delay and faults.
fn deliver(
    state: &Arc<ChatState>,
    session: &Arc<Session>,
    namespace: &str,
    name: &str,
    arguments: &[Value],
) {
    let number = {
        let mut queue = session.queue();
        queue.sent += 1;
        queue.sent - 1
    };
    let fault = session.behaviour.fault(state.seed, session.number, number);
    let mut copies = 1;
    {
        let mut totals = state.sessions.totals();
        match fault {
            Some(DeliveryFault::Dropped) => {
                totals.dropped += 1;
                copies = 0;
            }
            Some(DeliveryFault::Duplicated) => {
                totals.duplicated += 1;
                copies = 2;
            }
            Some(DeliveryFault::Reordered) | None => {}
        }
        totals.events_out += copies;
    }
    let mut json = vec![Value::from(name)];
    json.extend_from_slice(arguments);
    let json = Value::Array(json).to_string();
    let delay_ns = session.behaviour.delay_ns;
    let (session, namespace) = (Arc::clone(session), namespace.to_owned());
    let push = move || {
        for _ in 0..copies {
            session.push(&Packet::new(PacketKind::Event, &namespace, &json));
        }
    };
    match delay_ns {
        0 => push(),
        ns => {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_nanos(ns)).await;
                push();
            });
        }
    }
}
