//! Ages of requests in flight, computed from the number of requests that started in each time slot.
//! Stop rules and live views use the ages during a run. They are not recorded.

use std::collections::VecDeque;

use crate::{Histogram, LabelId};

const SLOT_NS: u64 = 10_000_000;

/// Start times of the requests in flight on one worker.
#[derive(Debug, Default)]
pub struct InFlightAges {
    by_label: Vec<Slots>,
}

/// Number of starts per slot. The first and the last slot are never empty.
#[derive(Debug, Default)]
struct Slots {
    first: u64,
    counts: VecDeque<u32>,
}

impl InFlightAges {
    /// Adds requests that started at `since_ns`.
    #[inline]
    pub fn begin(&mut self, label: LabelId, since_ns: u64, requests: u32) {
        let at = usize::from(label);
        if self.by_label.len() <= at {
            self.by_label.resize_with(at + 1, Slots::default);
        }
        self.by_label[at].add(since_ns / SLOT_NS, requests);
    }

    /// Removes a request that started at `since_ns`.
    #[inline]
    pub fn end(&mut self, label: LabelId, since_ns: u64) {
        if let Some(slots) = self.by_label.get_mut(usize::from(label)) {
            slots.take(since_ns / SLOT_NS);
        }
    }

    /// Returns a histogram of the ages of requests in flight, by label. Labels without requests in
    /// flight are omitted.
    #[must_use]
    pub fn ages(&self, now_ns: u64) -> Vec<(LabelId, Histogram<u64>)> {
        let labels = self.by_label.iter().enumerate();
        let in_flight = labels.filter(|(_, slots)| !slots.counts.is_empty());
        in_flight
            .map(|(label, slots)| (label as LabelId, slots.ages(now_ns)))
            .collect()
    }
}

impl Slots {
    #[inline]
    fn add(&mut self, slot: u64, requests: u32) {
        if self.counts.is_empty() {
            self.first = slot;
        }
        while slot < self.first {
            self.counts.push_front(0);
            self.first -= 1;
        }
        let at = (slot - self.first) as usize;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += requests;
    }

    #[inline]
    fn take(&mut self, slot: u64) {
        let at = slot.checked_sub(self.first).map(|at| at as usize);
        let Some(count) = at.and_then(|at| self.counts.get_mut(at)) else {
            debug_assert!(false, "what ends has begun");
            return;
        };
        *count = count.saturating_sub(1);
        while self.counts.front() == Some(&0) {
            self.counts.pop_front();
            self.first += 1;
        }
        while self.counts.back() == Some(&0) {
            self.counts.pop_back();
        }
    }

    fn ages(&self, now_ns: u64) -> Histogram<u64> {
        let mut ages = Histogram::default();
        let filled = (self.first..).zip(&self.counts).filter(|(_, n)| **n > 0);
        for (slot, count) in filled {
            ages.record_n(now_ns.saturating_sub(slot * SLOT_NS), u64::from(*count));
        }
        ages
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn ages_grow_until_requests_end() {
        let mut in_flight = InFlightAges::default();
        in_flight.begin(2, 100 * MS, 2);
        in_flight.begin(2, 5_000 * MS, 1);
        in_flight.begin(3, 5_000 * MS, 1);
        in_flight.end(3, 5_000 * MS);
        in_flight.end(2, 100 * MS);
        let ages = in_flight.ages(6_100 * MS);
        assert_eq!(ages.len(), 1);
        let (label, ages) = &ages[0];
        assert_eq!((*label, ages.count(), ages.above(2_000 * MS)), (2, 2, 1));
        in_flight.begin(2, 20 * MS, 1);
        in_flight.end(2, 100 * MS);
        in_flight.end(2, 5_000 * MS);
        assert_eq!(in_flight.ages(30 * MS)[0].1.count(), 1);
        in_flight.end(2, 20 * MS);
        assert!(in_flight.ages(30 * MS).is_empty());
    }

    proptest! {
        #[test]
        fn remaining_requests_are_counted(begun in prop::collection::vec(0..2_000u64, 1..60), ended in 0..60usize) {
            let mut in_flight = InFlightAges::default();
            for ms in &begun {
                in_flight.begin(5, ms * MS, 1);
            }
            let ended = ended.min(begun.len());
            for ms in &begun[..ended] {
                in_flight.end(5, ms * MS);
            }
            let left = in_flight.ages(2_000 * MS).pop().map_or(0, |(_, ages)| ages.count());
            prop_assert_eq!(left, (begun.len() - ended) as u64);
        }
    }
}
