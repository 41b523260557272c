//! The memory that a worker may spend on what others decide the size of: users that wait, bodies that are kept, values that are
//! captured. It is counted, not measured: what is counted here is most of what a run can grow by.
//!
//! One per worker: nothing is shared. Reaching the budget is the generator's fault, never the server's.

use std::{cell::Cell, rc::Rc};

use serde_json::Value;

/// What a virtual user takes with its task, variables, deadlines and its connection, in bytes: measured, rounded up.
pub const USER: u64 = 6 << 10;
/// What to do about a budget that is used up.
pub const ADVICE: &str = "--memory raises the budget, a time-out shortens the wait";
/// What a value of a parsed document takes at most, in bytes, with its place in an object of its own.
const PER_VALUE: u64 = 160;

/// A worker's budget.
#[derive(Debug)]
pub struct Memory {
    limit: u64,
    used: Cell<u64>,
}

impl Memory {
    /// A budget of so many bytes.
    #[must_use]
    pub fn of(limit: u64) -> Memory {
        Memory {
            limit,
            used: Cell::new(0),
        }
    }

    /// Takes so many bytes, if they are left.
    pub fn take(&self, bytes: u64) -> bool {
        let used = self.used.get().saturating_add(bytes);
        let fits = used <= self.limit;
        if fits {
            self.used.set(used);
        }
        fits
    }

    /// Gives bytes back.
    pub fn give(&self, bytes: u64) {
        self.used.set(self.used.get().saturating_sub(bytes));
    }

    /// How many bytes are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used.get())
    }
}

/// Memory that is held for something, and given back with it.
#[derive(Debug)]
pub struct Held {
    memory: Rc<Memory>,
    bytes: Cell<u64>,
}

impl Held {
    /// Holds nothing yet.
    #[must_use]
    pub fn nothing(memory: &Rc<Memory>) -> Held {
        Held {
            memory: Rc::clone(memory),
            bytes: Cell::new(0),
        }
    }

    /// Holds so many bytes in all, more or fewer than before; false where there are not so many left.
    pub fn hold(&self, bytes: u64) -> bool {
        let held = self.bytes.get();
        if bytes > held && !self.memory.take(bytes - held) {
            return false;
        }
        self.memory.give(held.saturating_sub(bytes));
        self.bytes.set(bytes);
        true
    }

    /// Holds so many bytes instead of others that it held; false where there are not so many left.
    pub fn replace(&self, before: u64, now: u64) -> bool {
        let others = self.bytes.get().saturating_sub(before);
        self.hold(others.saturating_add(now))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.give(self.bytes.get());
    }
}

/// What a JSON text takes at most when it is parsed, in bytes.
#[must_use]
pub fn parsed(json: &str) -> u64 {
    let is_between = |byte: &&u8| matches!(byte, b',' | b'[' | b'{');
    let values = 1 + json.as_bytes().iter().filter(is_between).count() as u64;
    values * PER_VALUE + 2 * json.len() as u64
}

/// What [`parsed`] says at most of any text of so many bytes.
#[must_use]
pub fn parsed_at_most(bytes: u64) -> u64 {
    (1 + bytes) * PER_VALUE + 2 * bytes
}

/// What a value takes, in bytes; small ones are a part of their user.
#[must_use]
pub fn weight(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) if text.len() < 256 => 0,
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(|item| weight(item) + PER_VALUE).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, item)| weight(item) + name.len() as u64 + PER_VALUE)
            .sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_given_back() {
        let memory = Rc::new(Memory::of(100));
        let held = Held::nothing(&memory);
        assert!(held.hold(60));
        assert!(held.replace(0, 40));
        assert!(held.replace(40, 40), "in place of what was there");
        assert!(!memory.take(1));
        assert!(!held.hold(101), "more than there is");
        assert!(held.hold(10));
        assert_eq!(memory.left(), 90);
        drop(held);
        assert_eq!(memory.left(), 100);
    }

    #[test]
    fn a_text_is_never_thought_smaller_than_it_becomes() {
        // Arrays of single digits are the densest there is: a value every two bytes.
        let dense = format!("[{}1]", "1,".repeat(1000));
        assert!(parsed(&dense) >= 1001 * std::mem::size_of::<Value>() as u64 * 2);
        for text in ["", "1", "[[[[", &dense] {
            assert!(parsed(text) <= parsed_at_most(text.len() as u64), "{text}");
        }
        let long = format!("\"{}\"", "a".repeat(1 << 20));
        assert!(parsed(&long) < 3 << 20);
        assert_eq!(weight(&serde_json::json!({"a": 1})), PER_VALUE + 1);
    }
}
