//! Percentiles over answered and unanswered requests together. Unanswered requests rank above all
//! answered ones.

use crate::{Histogram, OutcomeClass, Slot, TimeKind, histogram};

/// A quantile of a distribution in which unanswered requests have no value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantile {
    /// There are no values.
    Empty,
    /// The quantile in nanoseconds.
    Ns(u64),
    /// The quantile falls on an unanswered request. Contains a lower bound in nanoseconds.
    NoAnswer(u64),
}

/// Histograms of one time kind, for answered and unanswered requests.
#[derive(Debug, Clone, Default)]
pub struct KindTimes {
    /// Durations of requests with a complete response.
    pub answered: Histogram,
    /// Durations after which unanswered requests ended.
    pub unanswered: Histogram,
}

impl KindTimes {
    /// Returns the times of one kind in a slot.
    #[must_use]
    pub fn from_slot(slot: &Slot, kind: TimeKind) -> KindTimes {
        let mut times = KindTimes::default();
        for outcome in [OutcomeClass::Ok, OutcomeClass::Failed] {
            if let Some(histogram) = slot.histogram(kind, outcome) {
                times.answered.add(histogram);
            }
        }
        if let Some(histogram) = slot.histogram(kind, OutcomeClass::Unanswered) {
            times.unanswered.add(histogram);
        }
        times
    }

    /// Returns the number of answered and unanswered requests.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.answered.count() + self.unanswered.count()
    }

    /// Returns the quantile over all values, with unanswered requests ranked last.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Quantile {
        let Some(rank) = histogram::rank_of(q, self.count()) else {
            return Quantile::Empty;
        };
        match self.answered.at_rank(rank) {
            Some(ns) => Quantile::Ns(ns),
            None => Quantile::NoAnswer(self.least_at(rank)),
        }
    }

    /// Returns a lower bound of the value with this rank, which belongs to an unanswered request.
    #[must_use]
    pub fn least_at(&self, rank: u64) -> u64 {
        let mut all = self.answered.clone();
        all.add(&self.unanswered);
        all.at_rank(rank).unwrap_or(0)
    }

    /// Returns the largest value, or only a lower bound if any request is unanswered.
    #[must_use]
    pub fn max(&self) -> Quantile {
        self.quantile(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unanswered_requests_rank_above_answered_ones() {
        let mut slot = Slot::<u64>::default();
        (1..=98).for_each(|v| slot.record(TimeKind::Response, OutcomeClass::Ok, v * 10));
        slot.record(TimeKind::Response, OutcomeClass::Unanswered, 5);
        slot.record(TimeKind::Response, OutcomeClass::Unanswered, 7);
        let times = KindTimes::from_slot(&slot, TimeKind::Response);
        assert_eq!(times.quantile(0.98), Quantile::Ns(980));
        assert_eq!(times.quantile(0.99), Quantile::NoAnswer(970));
        assert_eq!(times.max(), Quantile::NoAnswer(980));
        assert_eq!(KindTimes::default().quantile(0.5), Quantile::Empty);
    }
}
