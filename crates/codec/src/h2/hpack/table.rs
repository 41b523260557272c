//! Dynamic table of a decoder (RFC 7541, section 2.3.2).

use std::collections::VecDeque;

use super::FIELD_OVERHEAD;

/// The fields that the peer inserted, newest first. One reusable buffer contains all bytes.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: VecDeque<Entry>,
    bytes: Vec<u8>,
    size: usize,
    max: usize,
    /// Number of insertions and size changes. Equal revisions mean equal contents.
    revision: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    at: usize,
    name: usize,
    value: usize,
}

impl Entry {
    fn len(self) -> usize {
        self.name + self.value
    }

    fn size(self) -> usize {
        self.len() + FIELD_OVERHEAD
    }
}

impl Table {
    pub(super) fn new(max: usize) -> Table {
        Table {
            max,
            ..Table::default()
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Returns the name and value of an entry. Index 0 is the newest entry.
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(index)?;
        let bytes = &self.bytes[entry.at..entry.at + entry.len()];
        Some(bytes.split_at(entry.name))
    }

    pub(super) fn resize(&mut self, max: usize) {
        self.revision += 1;
        self.max = max;
        self.evict(max);
    }

    /// Inserts a field. Its name may come from this table.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        self.revision += 1;
        let needed = name.len() + value.len() + FIELD_OVERHEAD;
        self.evict(self.max.saturating_sub(needed));
        if needed > self.max {
            return;
        }
        self.compact();
        let at = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.entries.push_front(Entry {
            at,
            name: name.len(),
            value: value.len(),
        });
        self.size += needed;
    }

    fn evict(&mut self, max: usize) {
        while self.size > max
            && let Some(entry) = self.entries.pop_back()
        {
            self.size -= entry.size();
        }
    }

    /// Moves the entries to the start of the buffer when evicted entries occupy as much as a full
    /// table.
    fn compact(&mut self) {
        let first = self
            .entries
            .back()
            .map_or(self.bytes.len(), |entry| entry.at);
        if first == self.bytes.len() || first >= self.max {
            self.bytes.drain(..first);
            for entry in &mut self.entries {
                entry.at -= first;
            }
        }
    }
}
