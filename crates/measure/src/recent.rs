//! The most recent second of a run, for live rates and percentiles.
//!
//! An interval that ends with a phase may be too short for a rate, so it is merged with earlier
//! intervals.

use std::collections::VecDeque;

use crate::Interval;

/// Minimum period to cover, in nanoseconds. A shorter run is covered completely.
pub const SPAN_NS: u64 = 1_000_000_000;

/// The most recent intervals that together cover at least [`SPAN_NS`].
#[derive(Debug, Default)]
pub struct Recent {
    intervals: VecDeque<Interval>,
}

impl Recent {
    /// Adds an interval. Returns the merged intervals of the last second, with the levels and the
    /// phase of the newest interval.
    pub fn add(&mut self, interval: &Interval) -> Interval {
        self.intervals.push_back(figures_of(interval));
        let end = interval.span.to_ns;
        while self
            .intervals
            .get(1)
            .is_some_and(|second| end - second.span.from_ns.min(end) >= SPAN_NS)
        {
            self.intervals.pop_front();
        }
        let mut merged = figures_of(interval);
        merged.in_flight_ages = interval.in_flight_ages.clone();
        let older = self.intervals.len() - 1;
        for past in self.intervals.iter().take(older) {
            merged.span.from_ns = merged.span.from_ns.min(past.span.from_ns);
            for (key, slot) in &past.slots {
                merged.slots.entry(*key).or_default().add(slot);
            }
            add_each(&mut merged.run.cpu_ns, &past.run.cpu_ns);
            add_each(&mut merged.run.spin_ns, &past.run.spin_ns);
            add_each(&mut merged.run.waiting_ns, &past.run.waiting_ns);
        }
        merged
    }
}

fn add_each(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(sums.len().max(more.len()), 0);
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

fn figures_of(interval: &Interval) -> Interval {
    Interval {
        index: interval.index,
        span: interval.span,
        phase: interval.phase,
        slots: interval.slots.clone(),
        run: interval.run.clone(),
        ..Interval::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::TimeSpan;
    use crate::{Slot, label};

    fn interval(from_ms: u64, to_ms: u64, ok: u64) -> Interval {
        let mut slot = Slot::default();
        slot.counters.ok = ok;
        let mut interval = Interval {
            span: TimeSpan::new(from_ms * 1_000_000, to_ms * 1_000_000),
            ..Interval::default()
        };
        interval.slots.insert((label::ALL, 0), slot);
        interval.run.cpu_ns = vec![ok];
        interval
    }

    #[test]
    fn short_interval_is_merged_with_previous_second() {
        let mut recent = Recent::default();
        let mut render = |from, to, ok| {
            let merged = recent.add(&interval(from, to, ok));
            let TimeSpan {
                from_ns: from,
                to_ns: to,
            } = merged.span;
            let ok = merged.label(label::ALL).counters.ok;
            assert_eq!(merged.run.cpu_ns, [ok]);
            (from / 1_000_000, to / 1_000_000, ok)
        };
        assert_eq!(render(0, 300, 45), (0, 300, 45));
        assert_eq!(render(300, 1_300, 150), (300, 1_300, 150));
        assert_eq!(render(1_300, 2_300, 150), (1_300, 2_300, 150));
        // The next phase ends 13 ms later.
        assert_eq!(render(2_300, 2_313, 1), (1_300, 2_313, 151));
        assert_eq!(render(2_313, 3_300, 200), (2_300, 3_300, 201));
        assert_eq!(render(3_300, 4_300, 200), (3_300, 4_300, 200));
    }
}
