//! Decides which clients and messages an embedded broker accepts. Without a gate, it accepts all.

use bytes::Bytes;

pub trait Gate: Send {
    fn admits(&self, username: &str) -> Option<String>;
    fn allows(&self, client: &str, topic: &str) -> bool;
    fn takes(&self, topic: &str, payload: &Bytes);
    fn largest(&self) -> usize;
}
