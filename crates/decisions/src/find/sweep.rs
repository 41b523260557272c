//! Sweep over numbers of users: chooses the next level and describes how the service scales.
//! `statistics` fits the scalability law.

use record::units;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::{LEAST_LEVELS, Law, pool, scalability};

use super::Over;

const GROWS: f64 = 0.03;
const FLAT: usize = 3;
const POINTS: usize = 80;
const FARTHEST: f64 = 2.0;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaling {
    pub single_user: f64,
    /// Serial share of the work, with its 95 % interval.
    pub serial: (f64, f64, f64),
    /// Delay that each user causes for every other user, with its 95 % interval.
    pub crosstalk: (f64, f64, f64),
    /// Number of users at the peak of the throughput, with its 95 % interval. `None` if there is no
    /// evidence that throughput falls beyond the peak.
    pub peak_users: Option<(f64, f64, f64)>,
    pub peak: Option<f64>,
    /// Number of parallel servers that the service resembles, and seconds per request. `None` if
    /// the service does not resemble a pool.
    pub pool: Option<(f64, f64)>,
    /// Pairs of a number of users and the throughput that the law predicts.
    pub curve: Vec<(f64, f64)>,
}

/// Returns the n-th level: 1, 2, 3, 4, 6, 8, 12, 16, 24, …
#[must_use]
pub fn level(number: usize) -> f64 {
    match number {
        0..=3 => number as f64 + 1.0,
        _ => {
            let doublings = (number - 2) / 2;
            let base = 2f64.powi(doublings as i32 + 1);
            if number.is_multiple_of(2) {
                base * 1.5
            } else {
                base * 2.0
            }
        }
    }
}

#[must_use]
pub fn is_enough(levels: &[(f64, f64)]) -> bool {
    let before = levels.len().saturating_sub(FLAT);
    let best = levels[..before].iter().map(|(_, x)| *x).fold(0.0, f64::max);
    levels.len() > LEAST_LEVELS
        && levels[before..]
            .iter()
            .all(|(_, x)| *x < best * (1.0 + GROWS))
}

#[must_use]
pub fn scaling(levels: &[(f64, f64)], seed: u64) -> Option<Scaling> {
    let found = scalability(levels, seed)?;
    let pool = pool(levels);
    // If throughput has a sharp bend, the law would predict a peak that was not measured.
    let peak = found.peak.filter(|_| pool.is_none());
    let most = levels.iter().map(|(n, _)| *n).fold(1.0, f64::max);
    let Law {
        one,
        serial,
        crosstalk,
    } = found.law;
    let place = |i: usize| 1.0 + (FARTHEST * most - 1.0) * i as f64 / POINTS as f64;
    Some(Scaling {
        single_user: one,
        serial: (serial, found.serial.0, found.serial.1),
        crosstalk: (crosstalk, found.crosstalk.0, found.crosstalk.1),
        peak_users: peak.map(|peak| (peak.users, peak.interval.0, peak.interval.1)),
        peak: peak.map(|peak| peak.throughput),
        pool,
        curve: (0..=POINTS)
            .map(|i| (place(i), found.law.at(place(i))))
            .collect(),
    })
}

impl Scaling {
    #[must_use]
    pub fn describe(&self, levels: &[(f64, f64)]) -> String {
        let (most, best) = levels
            .iter()
            .fold((0.0f64, 0.0f64), |(most, best), (n, x)| {
                (most.max(*n), best.max(*x))
            });
        let rate = |per_second: f64| format!("{}/s", units::rate(per_second));
        let hint = self.pool.map_or_else(String::new, |(servers, each_s)| {
            format!(
                "; it behaves like about {} parallel servers of {} each",
                servers.round(),
                units::time((each_s * 1e9) as u64)
            )
        });
        match self.peak_users.zip(self.peak) {
            Some(((users, low, high), peak)) => {
                let high = if high.is_finite() {
                    format!("{high:.0}")
                } else {
                    "any number".to_owned()
                };
                format!(
                    "throughput peaks at {} (95 %: {low:.0} to {high}) with {}, and falls beyond that",
                    Over::Users.level(users),
                    rate(peak)
                )
            }
            None => format!(
                "no evidence of retrograde scaling: throughput does not fall up to {}, and is at most {}{hint}",
                Over::Users.level(most),
                rate(best)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_grow_by_halves_and_thirds() {
        let levels: Vec<f64> = (0..11).map(level).collect();
        assert_eq!(
            levels,
            [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0]
        );
    }

    #[test]
    fn it_ends_where_throughput_has_not_grown_for_a_while() {
        let flat = |most: f64| -> Vec<(f64, f64)> {
            (0..9)
                .map(level)
                .map(|n| (n, (n * 20.0).min(most)))
                .collect()
        };
        assert!(!is_enough(&flat(1e9)));
        assert!(is_enough(&flat(80.0)));
        assert!(!is_enough(&flat(80.0)[..6]));
    }

    #[test]
    fn pool_is_recognized() {
        let levels: Vec<(f64, f64)> = (0..9)
            .map(level)
            .map(|n| (n, (n * 20.0).min(160.0)))
            .collect();
        let found = scaling(&levels, 1).unwrap();
        let reported = found.describe(&levels);
        assert!(
            reported.contains("about 8 parallel servers of 50.0 ms each"),
            "{reported}"
        );
        assert!(
            reported.starts_with(
                "no evidence of retrograde scaling: throughput does not fall up to 24 users"
            ),
            "{reported}"
        );
        assert_eq!(scaling(&levels[..5], 1), None);
    }
}
