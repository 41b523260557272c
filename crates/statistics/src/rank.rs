//! Exact rank-sum test (Mann, Whitney, Wilcoxon).
//!
//! Ties share their mean rank. The null distribution permutes these ranks, so the test is exact
//! even with ties. Large samples use the normal approximation with a correction for ties.

/// Maximum total number of values for the exact test, unless one of the samples is small.
const MOST_EXACT: usize = 100;
/// Maximum size of a small sample. The size of the other sample does not matter.
const SMALL: usize = 10;
const MOST: usize = 300;

pub(crate) fn is_exact(first: usize, second: usize) -> bool {
    let all = first + second;
    all <= MOST_EXACT || first.min(second) <= SMALL && all <= MOST
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails {
    pub lower: f64,
    pub upper: f64,
}

impl Tails {
    #[must_use]
    pub fn two_sided(self) -> f64 {
        (2.0 * self.lower.min(self.upper)).min(1.0)
    }
}

/// Tests whether the second sample is shifted relative to the first. Returns `None` if a sample is
/// empty or contains NaN. Infinite values rank beyond all others.
#[must_use]
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<Tails> {
    if first.is_empty() || second.is_empty() || first.iter().chain(second).any(|x| x.is_nan()) {
        return None;
    }
    if second.len() > first.len() {
        return mann_whitney(second, first).map(|Tails { lower, upper }| Tails {
            lower: upper,
            upper: lower,
        });
    }
    let mut pooled: Vec<(f64, bool)> = Vec::new();
    pooled.extend(first.iter().map(|x| (*x, false)));
    pooled.extend(second.iter().map(|x| (*x, true)));
    pooled.sort_by(|a, b| a.0.total_cmp(&b.0));
    let doubled = doubled_ranks(&pooled);
    let ranked = pooled.iter().zip(&doubled);
    let sum: usize = ranked
        .filter(|((_, is_second), _)| *is_second)
        .map(|(_, rank)| rank)
        .sum();
    Some(if is_exact(first.len(), second.len()) {
        exact(&doubled, second.len(), sum)
    } else {
        normal(&doubled, second.len(), sum)
    })
}

/// Returns the smallest two-sided p-value that samples of these sizes can have. If a correction for
/// multiple tests requires a smaller value, the test can never be significant.
#[must_use]
pub fn smallest_p(first: usize, second: usize) -> f64 {
    let choices = (1..=second).fold(1.0, |product, i| product * (first + i) as f64 / i as f64);
    (2.0 / choices).min(1.0)
}

/// Returns twice the rank of each value, in order. Doubling makes the ranks of ties whole numbers.
fn doubled_ranks(sorted: &[(f64, bool)]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    let mut begin = 0;
    while begin < sorted.len() {
        let ties = sorted[begin..]
            .iter()
            .take_while(|(x, _)| *x == sorted[begin].0);
        let end = begin + ties.count();
        ranks.resize(end, begin + 1 + end);
        begin = end;
    }
    ranks
}

pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let sorted: Vec<(f64, bool)> = order.iter().map(|(value, _)| (*value, false)).collect();
    let mut ranks = vec![0.0; values.len()];
    for ((_, place), doubled) in order.iter().zip(doubled_ranks(&sorted)) {
        ranks[*place] = doubled as f64 / 2.0;
    }
    ranks
}

/// Considers all choices of `chosen` ranks. Returns the share whose sum is at most `sum`, and the
/// share whose sum is at least `sum`.
fn exact(ranks: &[usize], chosen: usize, sum: usize) -> Tails {
    let counts = sums(ranks, chosen);
    let all: f64 = counts.iter().sum();
    let lower: f64 = counts.iter().take(sum + 1).sum();
    let upper: f64 = counts.iter().skip(sum).sum();
    Tails {
        lower: lower / all,
        upper: upper / all,
    }
}

/// Returns, for each sum, the number of ways to choose `chosen` of these numbers with that sum.
pub(crate) fn sums(numbers: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = numbers.iter().sum();
    let mut counts = vec![vec![0.0; most + 1]; chosen + 1];
    counts[0][0] = 1.0;
    let mut reached = 0;
    for (seen, number) in numbers.iter().enumerate() {
        reached += number;
        for taken in (1..=chosen.min(seen + 1)).rev() {
            let (before, here) = counts.split_at_mut(taken);
            let (before, here) = (&before[taken - 1], &mut here[0]);
            for total in *number..=reached {
                here[total] += before[total - number];
            }
        }
    }
    counts.pop().unwrap_or_default()
}

fn normal(ranks: &[usize], chosen: usize, sum: usize) -> Tails {
    let all = ranks.len() as f64;
    let chosen = chosen as f64;
    let mean = chosen * (all + 1.0);
    let spread: f64 = ranks
        .iter()
        .map(|rank| (*rank as f64 - all - 1.0).powi(2))
        .sum();
    let deviation = (spread * chosen * (all - chosen) / (all * (all - 1.0))).sqrt();
    if deviation == 0.0 {
        return Tails {
            lower: 1.0,
            upper: 1.0,
        };
    }
    // Sums of doubled ranks are two apart, so half a step is one.
    let below = |sum: f64| 0.5 * erfc(-(sum - mean) / deviation / std::f64::consts::SQRT_2);
    Tails {
        lower: below(sum as f64 + 1.0),
        upper: 1.0 - below(sum as f64 - 1.0),
    }
}

/// Returns the complementary error function, exact to 1.2e-7 (Chebyshev approximation).
pub(crate) fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    const C: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let series = C.iter().rev().fold(0.0, |sum, c| sum * t + c);
    let value = t * (-x * x + series).exp();
    if x >= 0.0 { value } else { 2.0 - value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, within: f64) {
        assert!((a - b).abs() < within, "{a} is not {b}");
    }

    #[test]
    fn separated_samples_have_the_smallest_p_value() {
        for (n, p) in [(3, 0.1), (4, 0.028_571), (5, 0.007_937)] {
            let low: Vec<f64> = (0..n).map(f64::from).collect();
            let high: Vec<f64> = (0..n).map(|x| f64::from(x) + 100.0).collect();
            let tails = mann_whitney(&low, &high).unwrap();
            near(tails.two_sided(), p, 1e-5);
            near(smallest_p(low.len(), high.len()), p, 1e-5);
            near(tails.upper, p / 2.0, 1e-5);
            near(tails.lower, 1.0, 1e-9);
        }
    }

    #[test]
    fn equal_values_are_not_significant() {
        assert_eq!(mann_whitney(&[2.0; 5], &[2.0; 5]).unwrap().two_sided(), 1.0);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[f64::NAN], &[1.0]), None);
    }

    #[test]
    fn ties_are_exact() {
        // The ranks are 1, 2.5, 2.5, 4. Of the six ways to choose two, one has the sum 6.5 and one
        // has the sum 3.5.
        let tails = mann_whitney(&[1.0, 2.0], &[2.0, 3.0]).unwrap();
        near(tails.upper, 2.0 / 6.0, 1e-12);
    }

    #[test]
    fn approximation_matches_exact_distribution() {
        let first: Vec<f64> = (0..50).map(|i| f64::from(i * 7 % 50)).collect();
        let second: Vec<f64> = (0..50).map(|i| f64::from(i * 11 % 50) + 6.3).collect();
        let mut pooled: Vec<(f64, bool)> = first.iter().map(|x| (*x, false)).collect();
        pooled.extend(second.iter().map(|x| (*x, true)));
        pooled.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ranks = doubled_ranks(&pooled);
        let sum = pooled
            .iter()
            .zip(&ranks)
            .filter(|((_, of), _)| *of)
            .map(|(_, rank)| rank)
            .sum();
        let (exact, normal) = (exact(&ranks, 50, sum), normal(&ranks, 50, sum));
        near(exact.upper, normal.upper, 1e-3);
        near(exact.lower, normal.lower, 1e-3);
    }
}
