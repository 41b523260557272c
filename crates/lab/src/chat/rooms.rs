//! Rooms, which determine who receives a message and number their messages.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::outbox::{Message, MessagePayload, Outgoing};

#[derive(Default)]
pub(super) struct Rooms(Mutex<HashMap<String, Room>>);

#[derive(Default)]
struct Room {
    /// Number of published messages.
    sequence: u64,
    /// Members by connection number.
    members: BTreeMap<u64, UnboundedSender<Outgoing>>,
}

/// A message that has been passed to the members of a room.
pub(super) struct Publication {
    pub(super) sequence: u64,
    /// Number of members that receive the message.
    pub(super) members: usize,
    /// Value that acknowledges the message to its sender, if the sender asked for an
    /// acknowledgement.
    pub(super) id: Option<Value>,
}

impl Rooms {
    fn rooms(&self) -> MutexGuard<'_, HashMap<String, Room>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn join(&self, room: &str, connection: u64, outbox: UnboundedSender<Outgoing>) {
        let mut rooms = self.rooms();
        let room = rooms.entry(room.to_owned()).or_default();
        room.members.insert(connection, outbox);
    }

    pub(super) fn leave(&self, room: &str, connection: u64) {
        if let Some(room) = self.rooms().get_mut(room) {
            room.members.remove(&connection);
        }
    }

    /// Passes a message to all members. If the message is a JSON object, its field `seq` is set to
    /// its number in the room.
    pub(super) fn publish(&self, room: &str, mut message: Message) -> Publication {
        let mut rooms = self.rooms();
        let room = rooms.entry(room.to_owned()).or_default();
        room.sequence += 1;
        let mut id = None;
        if let MessagePayload::Text(text) = &*message.payload
            && let Ok(Value::Object(mut object)) = serde_json::from_str(text)
        {
            id = object.get("id").cloned();
            object.insert("seq".to_owned(), json!(room.sequence));
            message.payload = Arc::new(MessagePayload::Text(Value::Object(object).to_string()));
        }
        message.sequence = Some(room.sequence);
        for member in room.members.values() {
            // A member whose connection is ending receives no more messages.
            let _ = member.send(Outgoing::Message(message.clone()));
        }
        Publication {
            sequence: room.sequence,
            members: room.members.len(),
            id,
        }
    }
}
