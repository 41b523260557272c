//! Decides about clients and messages of an embedded broker. Without a gate, all are accepted.

use bytes::Bytes;

pub trait Gate: Send {
    /// Identity of a user name. `None` if it is not accepted.
    fn admits(&self, username: &str) -> Option<String>;
    fn allows(&self, client: &str, topic: &str) -> bool;
    fn takes(&self, topic: &str, payload: &Bytes);
    fn largest(&self) -> usize;
}
