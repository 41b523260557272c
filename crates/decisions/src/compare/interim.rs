//! Interim analyses of paired runs. They are few and planned in advance, and they share the
//! false-positive rate.

use super::{CONFIDENCE, Comparison, FigureOutcome};

pub const FEWEST: u32 = 4;
/// Numbers of pairs after which an interim analysis takes place. With four pairs, the required
/// confidence is out of reach.
const PLANNED: [u32; 5] = [5, 7, 10, 14, 20];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterimPlan {
    pub after: Vec<u32>,
}

impl InterimPlan {
    #[must_use]
    pub fn new(most: u32) -> InterimPlan {
        let planned = PLANNED.into_iter().filter(|pairs| *pairs < most);
        InterimPlan {
            after: planned.chain([most]).collect(),
        }
    }

    /// Returns the confidence required after `pairs` pairs. `None` if no analysis is planned at
    /// that point.
    #[must_use]
    pub fn confidence_after(&self, pairs: u32) -> Option<f64> {
        let is_planned = self.after.contains(&pairs);
        is_planned.then(|| 1.0 - self.each())
    }

    /// Returns the confidence required for a final analysis that comes early because the time is
    /// up.
    #[must_use]
    pub fn confidence_at_end(&self, pairs: u32) -> f64 {
        let before = self.after.iter().filter(|after| **after < pairs).count();
        1.0 - (1.0 - CONFIDENCE - self.each() * before as f64)
    }

    fn each(&self) -> f64 {
        (1.0 - CONFIDENCE) / self.after.len().max(1) as f64
    }
}

/// Returns whether the result is final: there is a regression, or all figures are decided.
#[must_use]
pub fn is_decided(comparison: &Comparison) -> bool {
    !comparison.method.is_hint() && comparison.verdict != FigureOutcome::Inconclusive
}

/// Returns whether A runs first in a pair. The order is A B, B A, A B, …, or the reverse.
#[must_use]
pub fn is_a_first(pair: u32, seed: u64) -> bool {
    (u64::from(pair) ^ seed) & 1 == 0
}

#[cfg(test)]
mod tests {
    use plan::rng::{Purpose, Rng};

    use super::{
        super::{Change, CompareConfig, FigureUnit, groups, judge},
        *,
    };

    const PAIRS: u32 = 10;

    struct InterimResult {
        pairs: u32,
        is_different: bool,
        outcome: FigureOutcome,
    }

    fn config(confidence: f64) -> CompareConfig {
        CompareConfig {
            subjects: Vec::new(),
            margin: 0.05,
            error_margin: 0.001,
            confidence,
            anyway: Vec::new(),
            hint_decides: false,
        }
    }

    fn simulated(random: &mut Rng, by: f64) -> InterimResult {
        let looks = InterimPlan::new(PAIRS);
        let [mut a, mut b] = [Vec::new(), Vec::new()];
        let mut value = |mean: f64| {
            let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            Some(mean * (1.0 + 0.02 * normal))
        };
        for pairs in 1..=PAIRS {
            a.push(value(1e6));
            b.push(value(1e6 * (1.0 + by)));
            let Some(confidence) = looks.confidence_after(pairs) else {
                continue;
            };
            let config = config(confidence);
            let change: Change = groups::change(FigureUnit::Nanoseconds, &a, &b, &config).unwrap();
            let outcome = judge::outcome(FigureUnit::Nanoseconds, &change, &config);
            if outcome != FigureOutcome::Inconclusive || pairs == PAIRS {
                let (low, high) = change.interval.unwrap();
                return InterimResult {
                    pairs,
                    is_different: low > 0.0 || high < 0.0,
                    outcome,
                };
            }
        }
        panic!("the last look is at the end");
    }

    #[test]
    fn the_same_against_the_same_is_called_different_in_one_of_twenty_at_most() {
        let mut random = Rng::keyed(1, Purpose::Resampling, 0, 0);
        let seen: Vec<InterimResult> = (0..1000).map(|_| simulated(&mut random, 0.0)).collect();
        let alarms = seen.iter().filter(|seen| seen.is_different).count();
        assert!((1..=50).contains(&alarms), "{alarms} of 1000");
        let regressed = seen
            .iter()
            .filter(|seen| seen.outcome == FigureOutcome::Regressed);
        assert_eq!(regressed.count(), 0);
        let early = seen.iter().filter(|seen| seen.pairs < PAIRS).count();
        assert!(early >= 800, "{early} of 1000");
    }

    #[test]
    fn five_percent_over_a_variation_of_two_is_shown() {
        let mut random = Rng::keyed(2, Purpose::Resampling, 0, 0);
        let seen = (0..1000).map(|_| simulated(&mut random, 0.05));
        let different = seen.filter(|seen| seen.is_different).count();
        assert!(different >= 800, "{different} of 1000");
    }

    #[test]
    fn all_looks_together_may_find_no_more_by_chance_than_one() {
        for most in FEWEST..=20 {
            let looks = InterimPlan::new(most);
            let spent = looks.after.iter();
            let spent: f64 = spent
                .map(|pairs| 1.0 - looks.confidence_after(*pairs).unwrap())
                .sum();
            assert!((spent - 0.05).abs() < 1e-12, "{most}: {spent}");
            for pairs in FEWEST..=most {
                let last = 1.0 - looks.confidence_at_end(pairs);
                let before = looks.after.iter().filter(|after| **after < pairs);
                let before = before.count() as f64 * looks.each();
                assert!((before + last - 0.05).abs() < 1e-12, "{most} {pairs}");
            }
            for pairs in &looks.after {
                let least = statistics::smallest_p(*pairs as usize, *pairs as usize);
                assert!(least <= looks.each(), "{most}: after {pairs}");
            }
            assert_eq!(looks.after.last(), Some(&most));
        }
        assert_eq!(InterimPlan::new(10).after, [5, 7, 10]);
        assert_eq!(InterimPlan::new(10).confidence_after(6), None);
    }

    #[test]
    fn sides_take_turns_in_going_first() {
        let order = |seed| -> String {
            let pairs = (0..4).map(|pair| if is_a_first(pair, seed) { "AB" } else { "BA" });
            pairs.collect()
        };
        assert_eq!(order(8), "ABBAABBA");
        assert_eq!(order(7), "BAABBAAB");
    }
}
