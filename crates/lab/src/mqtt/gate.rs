//! Who decides about the clients of a broker that belongs to somebody: whether they come in, where they may publish, and what becomes of
//! it. The broker alone lets everybody in.

use bytes::Bytes;

/// The owner of an embedded broker.
pub trait Gate: Send {
    /// Who a user name is, if it may come in.
    fn admits(&self, username: &str) -> Option<String>;
    /// Whether they may publish there.
    fn allows(&self, who: &str, topic: &str) -> bool;
    /// A message is taken.
    fn takes(&self, topic: &str, payload: &Bytes);
    /// The most bytes that a payload may have.
    fn largest(&self) -> usize;
}
