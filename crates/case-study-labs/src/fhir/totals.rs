//! How many patients match a broad search, kept up to date instead of counted anew: counting 50,000 matches takes 17 ms, and a
//! test that gives all its patients one name and searches for it would measure little else.
//! Holds only what it was told; narrow searches are cheap to count and never get here.

use std::collections::HashMap;

/// From how many matches on a total is worth keeping.
const BROAD: u64 = 500;
/// Each kept total costs every change of a patient a look at its names.
const KEPT: usize = 32;

/// Totals by folded start of the name.
#[derive(Default)]
pub(super) struct Totals(HashMap<String, u64>);

impl Totals {
    pub(super) fn get(&self, start: &str) -> Option<u64> {
        self.0.get(start).copied()
    }

    pub(super) fn keep(&mut self, start: String, total: u64) {
        if total >= BROAD {
            if self.0.len() >= KEPT {
                self.0.clear();
            }
            self.0.insert(start, total);
        }
    }

    /// A patient with these names has come.
    pub(super) fn add(&mut self, names: &[String]) {
        for total in self.matching(names) {
            *total += 1;
        }
    }

    /// A patient with these names has gone.
    pub(super) fn remove(&mut self, names: &[String]) {
        for total in self.matching(names) {
            *total -= 1;
        }
    }

    fn matching<'a>(&'a mut self, names: &'a [String]) -> impl Iterator<Item = &'a mut u64> {
        self.0
            .iter_mut()
            .filter(|(start, _)| names.iter().any(|name| name.starts_with(start.as_str())))
            .map(|(_, total)| total)
    }
}
