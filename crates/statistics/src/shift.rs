//! How far one sample lies from another: the estimate of Hodges and Lehmann (the median of all differences) with the interval that
//! belongs to the rank-sum test, exact for few values. One value that is far off moves it little.

use crate::{median, rank};

/// A distance with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The median of all differences, second less first.
    pub estimate: f64,
    /// The interval's lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How often an interval made like this holds the true distance: at least what was asked for where the samples are large
    /// enough, else what is the most they can give.
    pub confidence: f64,
}

/// The distance of the second sample from the first; none where one is empty or holds a value that is no finite number.
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

/// How many differences are left out at each end, and how sure the interval of the others is.
fn cut(first: usize, second: usize, confidence: f64) -> (usize, f64) {
    let each_tail = (1.0 - confidence) / 2.0;
    if !rank::is_exact(first, second) {
        let (n, m) = (first as f64, second as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        let cut = (n * m / 2.0 - normal_quantile(each_tail) * deviation).floor();
        return ((cut.max(1.0) as usize) - 1, confidence);
    }
    // Of the statistic U: ranks from 0, less the least that they can sum to. It is the same whichever of the samples is chosen.
    let ranks: Vec<usize> = (0..first + second).collect();
    let chosen = first.min(second);
    let least: usize = (0..chosen).sum();
    let ways = rank::sums(&ranks, chosen);
    let all: f64 = ways.iter().sum();
    // With `cut` left out, the interval misses on this side when U is `cut` at most.
    let mut missed = ways[least] / all;
    let mut cut = 0;
    while let Some(more) = ways.get(least + cut + 1).map(|ways| missed + ways / all)
        && more <= each_tail
        && 2 * (cut + 1) + 1 < first * second
    {
        missed = more;
        cut += 1;
    }
    (cut, 1.0 - 2.0 * missed)
}

/// How many deviations from the mean this share of a normal distribution lies beyond, by halving.
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
    fn the_confidence_is_that_of_the_tables() {
        let of = |n: usize| {
            let sample: Vec<f64> = (0..n).map(|x| x as f64).collect();
            hodges_lehmann(&sample, &sample, 0.95).unwrap().confidence
        };
        // 5 + 5: U = 2 is the largest that each tail of 2.5 % takes: 1 - 2 · 4/252; 4 + 4: U = 0; 3 + 3 can give 90 % at most.
        assert!((of(5) - (1.0 - 8.0 / 252.0)).abs() < 1e-12);
        assert!((of(4) - (1.0 - 2.0 / 70.0)).abs() < 1e-12);
        assert!((of(3) - 0.9).abs() < 1e-12);
    }

    #[test]
    fn one_value_far_off_moves_it_little() {
        let first = [100.0, 101.0, 99.0, 100.5, 99.5];
        let second = [100.1, 101.1, 99.1, 100.6, 9999.0];
        let shift = hodges_lehmann(&first, &second, 0.95).unwrap();
        assert!(shift.estimate.abs() < 1.0, "{shift:?}");
        assert!(shift.low < 0.0, "{shift:?}");
    }

    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
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
    fn many_values_are_treated_as_few_are() {
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
        fn it_lies_between_its_ends_and_turns_with_the_samples(
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
