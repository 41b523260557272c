//! A trailing window of a running test: its newest intervals, merged on request. Stop rules use it,
//! while final results come from the record.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use measure::{
    Histogram, Interval, LabelId, OutcomeClass, Slot, TimeKind, TimeSpan, histogram::rank_of,
    recent::SPAN_NS,
};
use plan::units::SECOND;

/// The newest intervals of a run, shared by all clones.
#[derive(Debug, Clone, Default)]
pub struct RecentIntervals(Arc<Mutex<RecentState>>);

#[derive(Debug, Default)]
struct RecentState {
    keep_ns: u64,
    intervals: VecDeque<Arc<Interval>>,
}

impl RecentIntervals {
    /// Creates a window that keeps `keep_ns` nanoseconds.
    #[must_use]
    pub fn keeping(keep_ns: u64) -> RecentIntervals {
        RecentIntervals(Arc::new(Mutex::new(RecentState {
            keep_ns,
            intervals: VecDeque::new(),
        })))
    }

    pub(crate) fn add(&self, interval: &Arc<Interval>) {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.keep_ns == 0 {
            return;
        }
        let from = interval.span.to_ns.saturating_sub(newest.keep_ns);
        newest.intervals.push_back(Arc::clone(interval));
        while newest
            .intervals
            .get(1)
            .is_some_and(|i| i.span.from_ns <= from)
        {
            newest.intervals.pop_front();
        }
    }

    /// Merges the intervals of a label ([`measure::label::ALL`] for all requests) within the last
    /// `ns`. Covers at least a second. Returns `None` before the first interval.
    #[must_use]
    pub fn last(&self, ns: u64, label: LabelId) -> Option<Trailing> {
        let newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let to_ns = newest.intervals.back()?.span.to_ns;
        let from = to_ns.saturating_sub(ns);
        let mut trailing = Trailing {
            span: TimeSpan::new(to_ns, to_ns),
            slot: Slot::default(),
            in_flight_ages: newest
                .intervals
                .back()
                .and_then(|interval| interval.in_flight_ages.get(&label).cloned())
                .unwrap_or_default(),
        };
        for (number, interval) in newest.intervals.iter().rev().enumerate() {
            let has_enough = to_ns - trailing.span.from_ns >= ns.min(SPAN_NS);
            if number > 0 && interval.span.from_ns < from && has_enough {
                break;
            }
            trailing.span.from_ns = interval.span.from_ns;
            trailing.slot.add(&interval.label(label));
        }
        Some(trailing)
    }
}

/// The figures of the requests in a window.
#[derive(Debug, Clone)]
pub struct Trailing {
    /// Period of the window, in nanoseconds from the start of the run.
    pub span: TimeSpan,
    slot: Slot,
    in_flight_ages: Histogram<u64>,
}

/// A percentile over answered and unanswered requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Percentile {
    /// The percentile in nanoseconds.
    Ns(u64),
    /// The rank falls on an unanswered request, whose time counts as infinite.
    Unanswered,
}

impl Trailing {
    /// Returns the number of finished requests, with any result.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.slot.counters.ended()
    }

    /// Returns the number of requests that are in flight at the end of the window and older than
    /// `ns`.
    #[must_use]
    pub fn in_flight_longer_than(&self, ns: u64) -> u64 {
        self.in_flight_ages.above(ns)
    }

    /// Returns a percentile of a time kind, with `q` between 0 and 1. `None` if no request
    /// finished. It is unreliable for few samples, see [`Trailing::ended`].
    #[must_use]
    pub fn percentile(&self, kind: TimeKind, q: f64) -> Option<Percentile> {
        let mut answered = Histogram::<u64>::default();
        for outcome in [OutcomeClass::Ok, OutcomeClass::Failed] {
            if let Some(histogram) = self.slot.histogram(kind, outcome) {
                answered.add(histogram);
            }
        }
        let all = answered.count() + self.slot.counters.without_answer();
        let rank = rank_of(q, all)?;
        Some(match answered.at_rank(rank) {
            Some(ns) if rank <= answered.count() => Percentile::Ns(ns),
            _ => Percentile::Unanswered,
        })
    }

    /// Returns the share of finished requests that failed or were unanswered. `None` if no request
    /// finished.
    #[must_use]
    pub fn errors(&self) -> Option<f64> {
        let counters = &self.slot.counters;
        let wrong = counters.errors();
        (counters.ended() > 0).then(|| wrong as f64 / counters.ended() as f64)
    }

    /// Returns the number of finished requests per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let ns = self.span.to_ns.saturating_sub(self.span.from_ns).max(1);
        self.ended() as f64 * SECOND as f64 / ns as f64
    }
}

#[cfg(test)]
mod tests {
    use measure::{NoAnswer, label};

    use super::*;

    fn second(number: u64, ok: u64, none: u64) -> Arc<Interval> {
        let mut slot = Slot::default();
        slot.counters.ok = ok;
        slot.counters.unanswered[NoAnswer::Timeout as usize] = none;
        let times = slot.histogram_mut(TimeKind::Service, OutcomeClass::Ok);
        times.record_n(number * 1_000_000, ok);
        Arc::new(Interval {
            index: number,
            span: TimeSpan::new(number * SECOND, (number + 1) * SECOND),
            slots: [((label::ALL, 0), slot)].into(),
            in_flight_ages: [(label::ALL, ages(number))].into(),
            ..Interval::default()
        })
    }

    fn ages(number: u64) -> Histogram<u64> {
        let mut ages = Histogram::default();
        ages.record(number * SECOND);
        ages
    }

    fn window() -> RecentIntervals {
        let window = RecentIntervals::keeping(5 * SECOND);
        for number in 1..=20 {
            window.add(&second(number, 100, 0));
        }
        window.add(&second(21, 80, 20));
        window
    }

    #[test]
    fn the_last_seconds_are_merged_when_asked_for() {
        let window = window();
        let two = window.last(2 * SECOND, label::ALL).unwrap();
        assert_eq!(two.span, TimeSpan::new(20 * SECOND, 22 * SECOND));
        assert_eq!((two.ended(), two.errors()), (200, Some(0.1)));
        assert!((two.rate() - 100.0).abs() < 1e-9);
        let within = |q, ms: u64| match two.percentile(TimeKind::Service, q) {
            Some(Percentile::Ns(ns)) => ns.abs_diff(ms * 1_000_000) < ms * 2_000,
            _ => false,
        };
        assert!(within(0.5, 20) && within(0.9, 21));
        let older = |seconds: u64| two.in_flight_longer_than(seconds * SECOND);
        assert_eq!((older(20), older(22)), (1, 0));
        assert_eq!(
            two.percentile(TimeKind::Service, 0.901),
            Some(Percentile::Unanswered)
        );
    }

    #[test]
    fn no_more_is_kept_than_was_asked_for() {
        let window = window();
        let all = window.last(3600 * SECOND, label::ALL).unwrap();
        assert_eq!(all.span, TimeSpan::new(17 * SECOND, 22 * SECOND));
        let one = window.last(1, label::ALL).unwrap();
        assert_eq!((one.span.from_ns, one.ended()), (21 * SECOND, 100));
        assert_eq!(window.last(SECOND, 7).unwrap().errors(), None);
        let nothing = RecentIntervals::default();
        nothing.add(&second(1, 1, 0));
        assert!(nothing.last(SECOND, label::ALL).is_none());
    }
}
