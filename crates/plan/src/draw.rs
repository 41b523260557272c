//! Random choice of each arrival's scenario by weight. The choice depends only on (seed, arrival
//! number).

use crate::rng::{Purpose, Rng};

/// Chooses scenarios at random, by weight.
#[derive(Debug, Clone)]
pub struct Draw {
    seed: u64,
    weights: Vec<u64>,
    total: u64,
}

impl Draw {
    /// Creates the random choice from the weights of the scenarios, in plan order.
    #[must_use]
    pub fn new(seed: u64, weights: impl IntoIterator<Item = u32>) -> Draw {
        let weights: Vec<u64> = weights.into_iter().map(u64::from).collect();
        Draw {
            seed,
            total: weights.iter().sum(),
            weights,
        }
    }

    /// Returns the index of the scenario that the arrival runs.
    #[must_use]
    pub fn index(&self, number: u64) -> usize {
        if self.weights.len() < 2 {
            return 0;
        }
        let mut drawn = Rng::keyed(self.seed, Purpose::Scenario, number, 0).below(self.total);
        for (index, weight) in self.weights.iter().enumerate() {
            if drawn < *weight {
                return index;
            }
            drawn -= weight;
        }
        0
    }

    /// Returns, for each scenario, how many of the first `arrivals` arrivals run it.
    #[must_use]
    pub fn counts(&self, arrivals: u64) -> Vec<u64> {
        if self.weights.len() < 2 {
            return vec![arrivals; self.weights.len()];
        }
        let mut counts = vec![0; self.weights.len()];
        for number in 0..arrivals {
            counts[self.index(number)] += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_follow_weights_and_add_up() {
        let counts = Draw::new(7, [3, 0, 1]).counts(40_000);
        assert_eq!(counts.iter().sum::<u64>(), 40_000);
        assert_eq!(counts[1], 0);
        assert!(counts[0].abs_diff(30_000) < 433, "{counts:?}");
    }

    #[test]
    fn single_scenario_gets_all_arrivals() {
        assert_eq!(Draw::new(7, [5]).counts(9), [9]);
        assert!(Draw::new(7, []).counts(9).is_empty());
    }
}
