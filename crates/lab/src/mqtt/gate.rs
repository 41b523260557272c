//! Decisions about clients and messages of an embedded broker. Without a gate all are accepted.

use bytes::Bytes;

/// The owner of an embedded broker.
pub trait Gate: Send {
    /// Identity of a user name, if accepted.
    fn admits(&self, username: &str) -> Option<String>;
    /// Whether a client may publish to a topic.
    fn allows(&self, who: &str, topic: &str) -> bool;
    /// Receives a message.
    fn takes(&self, topic: &str, payload: &Bytes);
    /// Maximum size of a payload in bytes.
    fn largest(&self) -> usize;
}
