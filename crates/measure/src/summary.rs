//! Percentiles over answered and unanswered requests together: nothing is dropped from a distribution, and a request
//! without a complete answer ranks above all that have one.

use crate::{Histogram, Kind, Outcome, Slot, histogram};

/// A figure of a distribution in which some values are unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantile {
    /// Nothing was measured.
    Empty,
    /// Nanoseconds.
    Ns(u64),
    /// The rank falls among requests without a complete answer; the shortest of them had waited so long.
    NoAnswer(u64),
}

/// The answered and the unanswered values of one kind.
#[derive(Debug, Clone, Default)]
pub struct Times {
    /// With a complete answer.
    pub answered: Histogram,
    /// Without: how long they had lasted when given up.
    pub unanswered: Histogram,
}

impl Times {
    /// The times of one kind in a slot.
    #[must_use]
    pub fn of(slot: &Slot, kind: Kind) -> Times {
        let mut times = Times::default();
        for outcome in [Outcome::Ok, Outcome::Failed] {
            if let Some(histogram) = slot.histogram(kind, outcome) {
                times.answered.add(histogram);
            }
        }
        if let Some(histogram) = slot.histogram(kind, Outcome::Unanswered) {
            times.unanswered.add(histogram);
        }
        times
    }

    /// How many values, known or not.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.answered.count() + self.unanswered.count()
    }

    /// The quantile over all, the unanswered ranking last.
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

    /// What a rank among the unanswered has at least: each of them took at least as long as it had lasted when it was given up.
    #[must_use]
    pub fn least_at(&self, rank: u64) -> u64 {
        let mut all = self.answered.clone();
        all.add(&self.unanswered);
        all.at_rank(rank).unwrap_or(0)
    }

    /// The largest value, unknown as soon as one answer is missing.
    #[must_use]
    pub fn max(&self) -> Quantile {
        self.quantile(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_answers_rank_above_all_others() {
        let mut slot = Slot::<u64>::default();
        (1..=98).for_each(|v| slot.record(Kind::Response, Outcome::Ok, v * 10));
        slot.record(Kind::Response, Outcome::Unanswered, 5);
        slot.record(Kind::Response, Outcome::Unanswered, 7);
        let times = Times::of(&slot, Kind::Response);
        assert_eq!(times.quantile(0.98), Quantile::Ns(980));
        assert_eq!(times.quantile(0.99), Quantile::NoAnswer(970));
        assert_eq!(times.max(), Quantile::NoAnswer(980));
        assert_eq!(Times::default().quantile(0.5), Quantile::Empty);
    }
}
