//! The memory budget of a worker for waiting users, response bodies and captured values. Sizes are
//! estimates.
//!
//! Exceeding the budget is a fault of the load generator.

use std::{cell::Cell, rc::Rc};

use serde_json::Value;

/// Memory of a virtual user in bytes, including its task, variables, deadlines and connection.
/// Measured and rounded up.
pub const USER: u64 = 6 << 10;
/// Advice for a run that exceeds the memory budget.
pub const ADVICE: &str = "increase --memory, or shorten the wait with a time-out";
/// Maximum memory of a value in a parsed document, including its entry in an object, in bytes.
const PER_VALUE: u64 = 160;

/// The memory budget of a worker.
#[derive(Debug)]
pub struct Memory {
    limit: u64,
    used: Cell<u64>,
}

impl Memory {
    /// Creates a budget of `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Memory {
        Memory {
            limit,
            used: Cell::new(0),
        }
    }

    /// Reserves memory. Returns `false` if the budget is exceeded.
    pub fn take(&self, bytes: u64) -> bool {
        let used = self.used.get().saturating_add(bytes);
        let fits = used <= self.limit;
        if fits {
            self.used.set(used);
        }
        fits
    }

    /// Releases reserved bytes.
    pub fn give(&self, bytes: u64) {
        self.used.set(self.used.get().saturating_sub(bytes));
    }

    /// Returns the size of the budget in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the number of unreserved bytes.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used.get())
    }
}

/// Reserved memory, which is released when dropped.
#[derive(Debug)]
pub struct Held {
    memory: Rc<Memory>,
    bytes: Cell<u64>,
}

impl Held {
    /// Creates an empty reservation.
    #[must_use]
    pub fn nothing(memory: &Rc<Memory>) -> Held {
        Held {
            memory: Rc::clone(memory),
            bytes: Cell::new(0),
        }
    }

    /// Returns the budget to which the reservation belongs.
    pub(crate) fn memory(&self) -> &Rc<Memory> {
        &self.memory
    }

    /// Changes the reservation to `bytes`. Returns `false` if the budget is exceeded.
    pub fn hold(&self, bytes: u64) -> bool {
        let held = self.bytes.get();
        if bytes > held && !self.memory.take(bytes - held) {
            return false;
        }
        self.memory.give(held.saturating_sub(bytes));
        self.bytes.set(bytes);
        true
    }

    /// Replaces a part of the reservation. Returns `false` if the budget is exceeded.
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

/// Returns the maximum memory of a JSON text after parsing, in bytes.
#[must_use]
pub fn parsed(json: &str) -> u64 {
    let is_between = |byte: &&u8| matches!(byte, b',' | b'[' | b'{');
    let values = 1 + json.as_bytes().iter().filter(is_between).count() as u64;
    values * PER_VALUE + 2 * json.len() as u64
}

/// Returns an upper bound of [`parsed`] for any text of this length.
#[must_use]
pub fn parsed_at_most(bytes: u64) -> u64 {
    (1 + bytes) * PER_VALUE + 2 * bytes
}

/// Returns the memory of a value in bytes. Small values count as part of their user.
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
    fn reservation_is_released() {
        let memory = Rc::new(Memory::new(100));
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
    fn parsed_size_is_never_underestimated() {
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
