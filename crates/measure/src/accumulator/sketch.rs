//! A sketch of a distribution with bounded relative error (DDSketch with accuracy 0.01), for front
//! ends that compute their percentiles with DDSketch.
//!
//! The ratio of consecutive bucket bounds is 1.01/0.99. Zeros are counted separately. Minimum,
//! maximum and mean are exact.

use std::collections::BTreeMap;

/// A mergeable sketch of a distribution, see the [module documentation](self).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sketch {
    /// Counts by bucket. Bucket `k` represents `gamma^k * 2 / (1 + gamma)`.
    pub keys: BTreeMap<i64, u64>,
    /// Number of values at or below zero.
    pub zeros: u64,
    /// Sum of all values.
    pub sum: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

const GAMMA: f64 = 1.01 / 0.99;

impl Sketch {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        if self.count() == 0 {
            (self.min, self.max) = (value, value);
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += value;
        if value > 0.0 {
            *self
                .keys
                .entry((value.ln() / GAMMA.ln()).ceil() as i64)
                .or_default() += 1;
        } else {
            self.zeros += 1;
        }
    }

    /// Merges another sketch into this one.
    pub fn merge(&mut self, other: &Sketch) {
        if other.count() == 0 {
            return;
        }
        if self.count() == 0 {
            *self = other.clone();
            return;
        }
        for (key, n) in &other.keys {
            *self.keys.entry(*key).or_default() += n;
        }
        self.zeros += other.zeros;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.zeros + self.keys.values().sum::<u64>()
    }

    /// Returns the mean, or 0 if there are no values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let n = self.count();
        if n == 0 { 0.0 } else { self.sum / n as f64 }
    }

    /// Returns the quantile `q`, or 0 if there are no values.
    ///
    /// It is the representative value of the first bucket whose cumulative count exceeds `q (n -
    /// 1)`. Zeros come first.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        let n = self.count();
        if n == 0 {
            return 0.0;
        }
        let rank = q * (n - 1) as f64;
        let mut seen = self.zeros;
        if seen as f64 > rank {
            return 0.0;
        }
        for (key, n) in &self.keys {
            seen += n;
            if seen as f64 > rank {
                return GAMMA.powi(*key as i32) * 2.0 / (1.0 + GAMMA);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rounded(v: f64) -> f64 {
        (v * 10.0).round() / 10.0
    }

    #[test]
    fn single_values_are_within_accuracy() {
        for (value, expected) in [
            (0.5, 0.5),
            (1.0, 1.0),
            (2.0, 2.0),
            (5.0, 5.0),
            (10.0, 10.1),
            (28.0, 27.9),
            (49.0, 48.9),
            (50.0, 49.9),
            (82.0, 82.3),
            (100.0, 100.5),
            (122.0, 122.7),
            (200.0, 198.4),
            (250.0, 252.2),
            (500.0, 497.8),
            (1000.0, 1002.4),
            (2000.0, 2018.7),
            (5000.0, 4965.3),
            (10_000.0, 9999.2),
            (60_000.0, 60_495.1),
        ] {
            let mut sketch = Sketch::default();
            sketch.add(value);
            assert!(
                (rounded(sketch.quantile(0.5)) - expected).abs() < 1e-9,
                "{value}: {}",
                sketch.quantile(0.5)
            );
            assert_eq!((sketch.min, sketch.max), (value, value));
        }
    }

    #[test]
    fn quantiles_of_one_to_hundred_are_within_accuracy() {
        let mut sketch = Sketch::default();
        (1..=100).for_each(|v| sketch.add(f64::from(v)));
        let rendered: Vec<f64> = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999]
            .map(|q| rounded(sketch.quantile(q)))
            .to_vec();
        assert_eq!(rendered, [49.9, 74.4, 89.1, 94.6, 98.5, 98.5]);
        let mut zeros = Sketch::default();
        [0.0, 0.0, 0.0, 5.0, 10.0]
            .iter()
            .for_each(|v| zeros.add(*v));
        assert_eq!(
            (zeros.quantile(0.5), rounded(zeros.quantile(0.75))),
            (0.0, 5.0)
        );
    }

    proptest! {
        #[test]
        fn merge_equals_adding_together(a in prop::collection::vec(0.0..1e6f64, 0..50), b in prop::collection::vec(0.0..1e6f64, 0..50)) {
            let sketch = |values: &[f64]| values.iter().fold(Sketch::default(), |mut s, v| { s.add(*v); s });
            let mut merged = sketch(&a);
            merged.merge(&sketch(&b));
            let together = sketch(&[a, b].concat());
            prop_assert_eq!(&merged.keys, &together.keys);
            prop_assert_eq!((merged.zeros, merged.min, merged.max), (together.zeros, together.min, together.max));
        }
    }
}
