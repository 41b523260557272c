//! Strength of the evidence from probes: the effective number of independent samples, and the
//! implications of a growing backlog.

use measure::confidence::inflation_of;
use plan::mutant::{self, Mutant};
use statistics::{Observation, Observations};

use super::{ProbeResult, ViolationTally};

/// Factor for correlation that probes cannot show. Simulations determined it, so that intervals
/// contain the load lines of `simulated::KNOWN` in 95 of 100 searches.
const DOUBT: f64 = 2.5;

pub(super) fn bounds(complete: &[&ProbeResult], around: f64) -> Vec<Observations> {
    let grew = Grew::from_probes(complete);
    let count = complete.iter().map(|probe| probe.tallies.len()).max();
    let fails_by_it = complete
        .iter()
        .find_map(|probe| probe.tallies.iter().position(ViolationTally::is_of_shares));
    (0..count.unwrap_or(0))
        .map(|bound| {
            let of = |probe: &&ProbeResult| {
                let is_overload = grew.is_overload(probe);
                let counts =
                    !grew.contradicts(probe) && (!is_overload || bound == fails_by_it.unwrap_or(0));
                let tally = probe.tallies.get(bound).filter(|_| counts)?;
                Some((probe.level.ln(), tally.clone(), is_overload))
            };
            let tallies: Vec<(f64, ViolationTally, bool)> =
                complete.iter().filter_map(of).collect();
            let stationary = tallies.iter().filter(|(_, _, is_overload)| !is_overload);
            let together = Together::new(stationary.map(|(at, tally, _)| (*at, tally)), around);
            let looks = tallies.iter().map(|(at, tally, is_overload)| {
                let (n, over) = tally.sums();
                if *is_overload {
                    let n = tally.plain();
                    return Observation {
                        at: *at,
                        n,
                        over: n,
                    };
                }
                let inflation = if mutant::is(Mutant::IndependentRequests) {
                    1.0
                } else {
                    1.0 + DOUBT * (together.at(*at) - 1.0)
                };
                let effective = (n / inflation).max(tally.as_plain_as_it_is()).min(n);
                Observation {
                    at: *at,
                    n: effective,
                    over: over * effective / n.max(1.0),
                }
            });
            Observations {
                allowed: tallies.first().map_or(0.01, |(_, tally, _)| tally.allowed),
                looks: looks.collect(),
            }
        })
        .collect()
}

/// A growing backlog, which is a clear failure. Counts for only one criterion.
struct Grew {
    lowest: Option<f64>,
}

impl Grew {
    fn from_probes(complete: &[&ProbeResult]) -> Grew {
        const CONTRADICTED: usize = 2;
        let grew = complete.iter().filter(|probe| probe.grows == Some(true));
        let mut levels: Vec<f64> = grew.map(|probe| probe.level).collect();
        levels.sort_by(f64::total_cmp);
        let has_none = |level: f64| {
            let others = complete.iter().filter(|other| other.grows == Some(false));
            others.filter(|other| other.level > level).count()
        };
        let believed = levels.into_iter().enumerate();
        let mut believed =
            believed.filter(|(before, level)| has_none(*level) < CONTRADICTED + before);
        Grew {
            lowest: believed.next().map(|(_, level)| level),
        }
    }

    fn is_overload(&self, probe: &ProbeResult) -> bool {
        self.lowest.is_some_and(|lowest| probe.level >= lowest) && !probe.holds()
    }

    fn contradicts(&self, probe: &ProbeResult) -> bool {
        let is_quick = !probe.reason.is_long() && probe.grows != Some(true) && probe.holds();
        is_quick && self.lowest.is_some_and(|lowest| probe.level >= lowest)
    }
}

/// Correlation of samples as a function of the level. It increases with the load on a service.
struct Together {
    around: f64,
    log_inflation: f64,
    slope: f64,
}

impl Together {
    const ALIKE: f64 = 0.2;
    /// Prior slope. `EXPECTED` is its weight, and `STEEPEST` is the maximum slope. `ASSUMED` is the
    /// prior inflation, and `WEIGHT` is its weight.
    const SLOPE: f64 = 10.0;
    const EXPECTED: f64 = 0.3;
    const STEEPEST: f64 = 15.0;
    const ASSUMED: f64 = 10.0;
    const WEIGHT: f64 = 3.0;

    fn new<'a>(tallies: impl Iterator<Item = (f64, &'a ViolationTally)>, around: f64) -> Together {
        let measured = tallies
            .filter(|(at, _)| (at - around).abs() < Self::ALIKE)
            .filter_map(|(at, tally)| {
                let share = tally.share().filter(|share| *share > 0.0 && *share < 1.0)?;
                let over = share * tally.sums().0;
                let inflation = inflation_of(&tally.seconds);
                Some((at - around, inflation.ln(), over.min(1_000.0).sqrt()))
            });
        let assumed = (0.0, Self::ASSUMED.ln(), Self::WEIGHT);
        let seen: Vec<(f64, f64, f64)> = measured.chain([assumed]).collect();
        let weights: f64 = seen.iter().map(|(_, _, weight)| weight).sum();
        let mean = |of: fn(&(f64, f64, f64)) -> f64| {
            seen.iter().map(|one| of(one) * one.2).sum::<f64>() / weights
        };
        let (x, y) = (mean(|one| one.0), mean(|one| one.1));
        let (mut xx, mut xy) = (Self::EXPECTED, Self::EXPECTED * Self::SLOPE);
        for (at, log, weight) in &seen {
            xx += weight * (at - x) * (at - x);
            xy += weight * (at - x) * (log - y);
        }
        let slope = (xy / xx).clamp(0.0, Self::STEEPEST);
        // Use the mean instead of the mean of logarithms, because most probes underestimate the
        // correlation.
        let inflations = seen
            .iter()
            .map(|(at, log, weight)| weight * (log - slope * at).exp());
        Together {
            around,
            log_inflation: (inflations.sum::<f64>() / weights).ln(),
            slope,
        }
    }

    fn at(&self, level: f64) -> f64 {
        let away = (level - self.around).clamp(-Self::ALIKE, Self::ALIKE);
        (self.log_inflation + self.slope * away).exp().max(1.0)
    }
}
