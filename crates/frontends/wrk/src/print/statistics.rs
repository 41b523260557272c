//! wrk's statistics, including its correction of latencies.

use measure::accumulator::ValueCounts;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statistics {
    counts: ValueCounts,
    count: u64,
}

impl Statistics {
    #[must_use]
    pub fn new(counts: ValueCounts) -> Statistics {
        let count = counts.count();
        Statistics { counts, count }
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    #[must_use]
    pub fn distinct(&self) -> usize {
        self.counts.pairs().len()
    }

    #[must_use]
    pub fn nth(&self, n: usize) -> Option<(u64, u64)> {
        self.counts.pairs().get(n.checked_sub(1)?).copied()
    }

    /// Returns the minimum, or the maximum integer if there are no values.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.counts.pairs().first().map_or(u64::MAX, |pair| pair.0)
    }

    #[must_use]
    pub fn max(&self) -> u64 {
        self.counts.pairs().last().map_or(0, |pair| pair.0)
    }

    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let pairs = self.counts.pairs().iter();
        let sum: u128 = pairs
            .map(|(value, n)| u128::from(*value) * u128::from(*n))
            .sum();
        sum as f64 / self.count as f64
    }

    #[must_use]
    pub fn stdev(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares = |(value, n): &(u64, u64)| (*value as f64 - mean).powi(2) * *n as f64;
        let sum: f64 = self.counts.pairs().iter().map(squares).sum();
        (sum / (self.count - 1) as f64).sqrt()
    }

    #[must_use]
    pub fn within_stdev(&self) -> f64 {
        let (mean, stdev) = (self.mean(), self.stdev());
        let inside = self.counts.pairs().iter().filter(|(value, _)| {
            let value = *value as f64;
            value >= mean - stdev && value <= mean + stdev
        });
        let n: u64 = inside.map(|(_, n)| n).sum();
        n as f64 / self.count as f64 * 100.0
    }

    /// Returns the percentile by wrk's definition of rank, or 0 if there are no values.
    #[must_use]
    pub fn percentile(&self, p: f64) -> u64 {
        let rank = (p / 100.0 * self.count as f64 + 0.5).round() as u64;
        let mut seen = 0;
        for (value, n) in self.counts.pairs() {
            seen += n;
            if seen >= rank {
                return *value;
            }
        }
        0
    }

    /// Applies wrk's correction: each value of at least twice the interval also adds smaller
    /// values, one per interval.
    #[must_use]
    pub fn corrected(&self, expected: u64) -> Statistics {
        let max = self.max();
        if expected == 0 || self.count == 0 || max < expected.saturating_mul(2) {
            return self.clone();
        }
        // `made_up[at]` counts the values that larger values add at `at`, so go from high to low
        // values.
        let mut came = vec![0u64; max as usize + 1];
        for (value, n) in self.counts.pairs() {
            came[*value as usize] = *n;
        }
        let mut made_up = vec![0u64; came.len()];
        let expected = expected as usize;
        for at in (expected + 1..came.len() - expected).rev() {
            made_up[at] = came[at + expected] + made_up[at + expected];
        }
        let both = came.iter().zip(&made_up).enumerate();
        let pairs = both
            .map(|(value, (came, made_up))| (value as u64, came + made_up))
            .filter(|(_, n)| *n > 0);
        Statistics::new(ValueCounts::from_pairs(pairs.collect()))
    }
}

#[must_use]
pub fn expected_us(runtime_us: u64, requests: u64, connections: u64) -> Option<u64> {
    let per_connection = requests.checked_div(connections)?;
    runtime_us.checked_div(per_connection)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn from_pairs(pairs: &[(u64, u64)]) -> Statistics {
        Statistics::new(ValueCounts::from_pairs(pairs.to_vec()))
    }

    #[test]
    fn the_published_example_of_a_server_with_two_speeds() {
        let measured = from_pairs(&[(100, 900), (1000, 100)]);
        assert_eq!(measured.mean(), 190.0);
        let expected = expected_us(190_000, 1000, 1).expect("an interval");
        assert_eq!(expected, 190);
        let corrected_latency = measured.corrected(expected);
        assert_eq!(corrected_latency.mean().round(), 286.0);
        assert_eq!(corrected_latency.count(), 1400);
    }

    #[test]
    fn pipelining_halves_its_latency() {
        // A batch takes 1600 us. The more responses it has, the lower the mean, and the more values
        // are added.
        for (depth, mean, times) in [
            (4, 1200.0, 3),
            (8, 1000.0, 7),
            (16, 900.0, 15),
            (32, 850.0, 31),
        ] {
            let measured = from_pairs(&[(1600, 1000)]);
            let corrected_latency = measured.corrected(1600 / depth);
            assert_eq!(corrected_latency.mean(), mean, "depth {depth}");
            assert_eq!(corrected_latency.count(), 1000 * times);
        }
    }

    #[test]
    fn nothing_has_figures_too() {
        let nothing = Statistics::default();
        assert_eq!(
            (nothing.mean(), nothing.stdev(), nothing.max()),
            (0.0, 0.0, 0)
        );
        assert_eq!((nothing.min(), nothing.percentile(50.0)), (u64::MAX, 0));
        assert!(nothing.within_stdev().is_nan());
        assert_eq!(nothing.corrected(10), nothing);
        assert_eq!(from_pairs(&[(5, 1)]).corrected(0), from_pairs(&[(5, 1)]));
        assert_eq!(expected_us(10, 5, 10), None);
        assert_eq!(expected_us(10, 0, 0), None);
    }

    #[test]
    fn ranks_are_rounded_half_up() {
        let h = from_pairs(&[(1, 1), (2, 1), (3, 1), (4, 1)]);
        assert_eq!(
            [0.0, 25.0, 50.0, 75.0, 99.0].map(|p| h.percentile(p)),
            [1, 2, 3, 4, 4]
        );
        assert_eq!(h.percentile(100.0), 0, "the rank behind the last");
        assert_eq!(h.nth(2), Some((2, 1)));
        assert_eq!((h.nth(0), h.nth(5)), (None, None));
    }

    proptest! {
        #[test]
        fn the_correction_is_the_plain_double_loop(pairs in prop::collection::vec((1..400u64, 1..9u64), 1..30), expected in 1..80u64) {
            let measured = from_pairs(&pairs);
            let mut plain: Vec<(u64, u64)> = measured.counts.pairs().to_vec();
            for (value, n) in measured.counts.pairs().iter().filter(|(value, _)| *value >= 2 * expected) {
                let mut at = value - expected;
                while at > expected {
                    plain.push((at, *n));
                    at -= expected;
                }
            }
            prop_assert_eq!(measured.corrected(expected), Statistics::new(ValueCounts::from_pairs(plain)));
        }
    }
}
