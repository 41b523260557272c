//! The rank-sum test of Mann, Whitney and Wilcoxon, exact: how often would ranks at random lie as far to one side as these do?
//!
//! Ties share their mean rank, and the distribution is that of these very ranks dealt at random (the permutation test), so it is exact
//! with ties as well. Of more than a hundred values the normal approximation with a correction for ties takes over.

/// With more values than this in both samples together the normal approximation is used, where neither sample is small.
const MOST_EXACT: usize = 100;
/// A small sample is of so many values; beside it there may be more.
const SMALL: usize = 10;
/// With more than this in both together counting would take too long.
const MOST: usize = 300;

/// Whether samples of these sizes are few enough to count all the ways to deal their ranks.
pub(crate) fn is_exact(first: usize, second: usize) -> bool {
    let all = first + second;
    all <= MOST_EXACT || first.min(second) <= SMALL && all <= MOST
}

/// How likely ranks at random are to lie as far to a side, or further.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails {
    /// That the second sample ranks as low as it does, or lower.
    pub lower: f64,
    /// That it ranks as high as it does, or higher.
    pub upper: f64,
}

impl Tails {
    /// The two-sided p-value.
    #[must_use]
    pub fn two_sided(self) -> f64 {
        (2.0 * self.lower.min(self.upper)).min(1.0)
    }
}

/// The test of whether the second sample lies elsewhere than the first; none where a sample is empty or holds what is no number.
/// Infinite values rank beyond all others.
#[must_use]
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<Tails> {
    if first.is_empty() || second.is_empty() || first.iter().chain(second).any(|x| x.is_nan()) {
        return None;
    }
    if second.len() > first.len() {
        // Choosing the fewer is less to count.
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

/// The least two-sided p-value that samples of these sizes can give: what is asked of more tests at once cannot be met.
#[must_use]
pub fn smallest_p(first: usize, second: usize) -> f64 {
    let choices = (1..=second).fold(1.0, |product, i| product * (first + i) as f64 / i as f64);
    (2.0 / choices).min(1.0)
}

/// Twice the rank of each value in order, which is whole for ties too.
fn doubled_ranks(sorted: &[(f64, bool)]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    let mut begin = 0;
    while begin < sorted.len() {
        let ties = sorted[begin..]
            .iter()
            .take_while(|(x, _)| *x == sorted[begin].0);
        let end = begin + ties.count();
        // Ranks begin + 1 to end: twice their mean.
        ranks.resize(end, begin + 1 + end);
        begin = end;
    }
    ranks
}

/// The rank of each value in its own place, ties sharing theirs.
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

/// Of all ways to choose so many of these ranks, the shares whose sums are as small, and as large.
fn exact(ranks: &[usize], chosen: usize, sum: usize) -> Tails {
    let ways = sums(ranks, chosen);
    let all: f64 = ways.iter().sum();
    let lower: f64 = ways.iter().take(sum + 1).sum();
    let upper: f64 = ways.iter().skip(sum).sum();
    Tails {
        lower: lower / all,
        upper: upper / all,
    }
}

/// In how many ways so many of these numbers have which sum.
pub(crate) fn sums(numbers: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = numbers.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    let mut reached = 0;
    for (seen, number) in numbers.iter().enumerate() {
        reached += number;
        for taken in (1..=chosen.min(seen + 1)).rev() {
            let (before, here) = ways.split_at_mut(taken);
            let (before, here) = (&before[taken - 1], &mut here[0]);
            for total in *number..=reached {
                here[total] += before[total - number];
            }
        }
    }
    ways.pop().unwrap_or_default()
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
    // Sums of doubled ranks are two apart: half a step of continuity is one.
    let below = |sum: f64| 0.5 * erfc(-(sum - mean) / deviation / std::f64::consts::SQRT_2);
    Tails {
        lower: below(sum as f64 + 1.0),
        upper: 1.0 - below(sum as f64 - 1.0),
    }
}

/// The complementary error function, to 1.2e-7 (a rational approximation of Chebyshev's kind).
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
    fn samples_apart_have_the_least_p_value_of_their_sizes() {
        // From tables: 3 + 3: 0.10, 4 + 4: 0.0286, 5 + 5: 0.0079.
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
    fn what_is_all_the_same_shows_nothing() {
        assert_eq!(mann_whitney(&[2.0; 5], &[2.0; 5]).unwrap().two_sided(), 1.0);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[f64::NAN], &[1.0]), None);
    }

    #[test]
    fn ties_are_dealt_with_exactly() {
        // Ranks 1, 2.5, 2.5, 4: of the six ways to choose two, one sums to 6.5 and one to 3.5.
        let tails = mann_whitney(&[1.0, 2.0], &[2.0, 3.0]).unwrap();
        near(tails.upper, 2.0 / 6.0, 1e-12);
    }

    #[test]
    fn the_approximation_meets_the_exact_distribution() {
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
