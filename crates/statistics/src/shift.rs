//! Hodges-Lehmann estimate of the shift between two samples (the median of all differences), with
//! the interval of the rank-sum test. It is exact for few values and robust against outliers.

use crate::{median, rank};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Median of all differences, second minus first.
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
    /// Confidence of the interval: at least the requested confidence, or the highest possible for
    /// small samples.
    pub confidence: f64,
}

/// Estimates the shift from `first` to `second`. Returns `None` if a sample is empty or a value is
/// not finite.
#[must_use]
pub fn hodges_lehmann(first: &[f64], second: &[f64], confidence: f64) -> Option<Shift> {
    if first.is_empty() || second.is_empty() || first.iter().chain(second).any(|x| !x.is_finite()) {
        return None;
    }
    let differences = second.iter().flat_map(|b| first.iter().map(move |a| b - a));
    let mut differences: Vec<f64> = differences.collect();
    differences.sort_by(f64::total_cmp);
    let (cut, confidence) = cut(first.len(), second.len(), confidence);
    Some(Shift {
        estimate: median(&differences)?,
        low: differences[cut],
        high: differences[differences.len() - 1 - cut],
        confidence,
    })
}

fn cut(first: usize, second: usize, confidence: f64) -> (usize, f64) {
    let each_tail = (1.0 - confidence) / 2.0;
    if !rank::is_exact(first, second) {
        let (n, m) = (first as f64, second as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        let cut = (n * m / 2.0 - normal_quantile(each_tail) * deviation).floor();
        return ((cut.max(1.0) as usize) - 1, confidence);
    }
    // The statistic U is the rank sum minus its minimum, with ranks from 0. It has the same
    // distribution for both samples.
    let ranks: Vec<usize> = (0..first + second).collect();
    let chosen = first.min(second);
    let least: usize = (0..chosen).sum();
    let counts = rank::sums(&ranks, chosen);
    let all: f64 = counts.iter().sum();
    let mut missed = counts[least] / all;
    let mut cut = 0;
    while let Some(more) = counts
        .get(least + cut + 1)
        .map(|counts| missed + counts / all)
        && more <= each_tail
        && 2 * (cut + 1) + 1 < first * second
    {
        missed = more;
        cut += 1;
    }
    (cut, 1.0 - 2.0 * missed)
}

/// Returns the distance from the mean, in standard deviations, at which this tail of a normal
/// distribution starts. Uses bisection.
fn normal_quantile(tail: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if 0.5 * rank::erfc(middle / std::f64::consts::SQRT_2) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use base::rng::{Purpose, Rng};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn confidence_matches_tables() {
        let of = |n: usize| {
            let sample: Vec<f64> = (0..n).map(|x| x as f64).collect();
            hodges_lehmann(&sample, &sample, 0.95).unwrap().confidence
        };
        // For 5 + 5 values, U = 2 is the largest value with a tail of 2.5 %: 1 - 2 · 4/252. For 4 +
        // 4 it is U = 0. 3 + 3 values reach at most 90 %.
        assert!((of(5) - (1.0 - 8.0 / 252.0)).abs() < 1e-12);
        assert!((of(4) - (1.0 - 2.0 / 70.0)).abs() < 1e-12);
        assert!((of(3) - 0.9).abs() < 1e-12);
    }

    #[test]
    fn outlier_has_little_influence() {
        let first = [100.0, 101.0, 99.0, 100.5, 99.5];
        let second = [100.1, 101.1, 99.1, 100.6, 9999.0];
        let shift = hodges_lehmann(&first, &second, 0.95).unwrap();
        assert!(shift.estimate.abs() < 1.0, "{shift:?}");
        assert!(shift.low < 0.0, "{shift:?}");
    }

    #[test]
    fn interval_has_its_coverage() {
        let mut random = Rng::keyed(1, Purpose::Sampling, 0, 0);
        let mut draw = |mean: f64| -> Vec<f64> {
            (0..6)
                .map(|_| mean + (0..12).map(|_| random.unit()).sum::<f64>())
                .collect()
        };
        let held = (0..2000).filter(|_| {
            let shift = hodges_lehmann(&draw(0.0), &draw(1.5), 0.95).unwrap();
            shift.low <= 1.5 && 1.5 <= shift.high
        });
        let held = held.count();
        assert!((1900..1980).contains(&held), "{held} of 2000");
    }

    #[test]
    fn large_samples_match_small_ones() {
        let sample = |n: u64, by: f64| -> Vec<f64> {
            let mut random = Rng::keyed(n, Purpose::Sampling, 0, 0);
            (0..n).map(|_| by + random.unit()).collect()
        };
        let few = hodges_lehmann(&sample(50, 0.0), &sample(49, 0.3), 0.95).unwrap();
        let many = hodges_lehmann(&sample(50, 0.0), &sample(52, 0.3), 0.95).unwrap();
        let width = |shift: Shift| shift.high - shift.low;
        assert!(
            (width(few) / width(many) - 1.0).abs() < 0.25,
            "{few:?} {many:?}"
        );
    }

    proptest! {
        #[test]
        fn estimate_is_inside_interval_and_antisymmetric(
            first in prop::collection::vec(-1e6..1e6f64, 1..12),
            second in prop::collection::vec(-1e6..1e6f64, 1..12),
        ) {
            let shift = hodges_lehmann(&first, &second, 0.95).unwrap();
            prop_assert!(shift.low <= shift.estimate && shift.estimate <= shift.high);
            let turned = hodges_lehmann(&second, &first, 0.95).unwrap();
            prop_assert!((turned.low + shift.high).abs() < 1e-6);
            prop_assert!((turned.confidence - shift.confidence).abs() < 1e-9);
        }
    }
}
