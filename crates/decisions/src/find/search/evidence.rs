//! What probes are worth as evidence: how many independent samples tell as much as what a probe saw of each bound, and what a backlog that
//! grew says of the probes around it. Where the answer lies, and what is probed next, is not its business.

use measure::confidence::inflation_of;
use plan::mutant::{self, Mutant};
use statistics::{Look, Looks};

use super::{PLAINLY, Probed, Tally, Why};

/// Short stretches show only a part of how samples hang together, the less the busier the service is: it counts so many times.
const DOUBT: f64 = 6.0;

/// The looks of each bound, with as many samples as independent ones would tell as much.
pub(super) fn bounds(whole: &[&Probed], around: f64) -> Vec<Looks> {
    let grew = Grew::of(whole);
    let count = whole.iter().map(|probe| probe.tallies.len()).max();
    let fails_by_it = whole
        .iter()
        .find_map(|probe| probe.tallies.iter().position(Tally::is_of_shares));
    (0..count.unwrap_or(0))
        .map(|bound| {
            let of = |probe: &&Probed| {
                let is_overload = grew.is_overload(probe);
                let counts =
                    !grew.contradicts(probe) && (!is_overload || bound == fails_by_it.unwrap_or(0));
                let tally = probe.tallies.get(bound).filter(|_| counts)?;
                Some((probe.level.ln(), tally.clone(), is_overload))
            };
            let tallies: Vec<(f64, Tally, bool)> = whole.iter().filter_map(of).collect();
            let is_stationary = |(_, tally, is_overload): &&(f64, Tally, bool)| {
                !is_overload && !grew.is_at_its_end(tally)
            };
            let stationary = tallies.iter().filter(is_stationary);
            let together = Together::of(stationary.map(|(at, tally, _)| (*at, tally)), around);
            let looks = tallies.iter().map(|(at, tally, is_overload)| {
                let (n, over) = tally.sums();
                if *is_overload {
                    let n = tally.plain();
                    return Look {
                        at: *at,
                        n,
                        over: n,
                    };
                }
                let inflation = if mutant::is(Mutant::IndependentRequests) {
                    1.0
                } else if grew.is_at_its_end(tally) {
                    1.0 + DOUBT * (inflation_of(&tally.seconds) - 1.0)
                } else {
                    1.0 + DOUBT * (together.at(*at) - 1.0)
                };
                let effective = (n / inflation).max(tally.as_plain_as_it_is()).min(n);
                Look {
                    at: *at,
                    n: effective,
                    over: over * effective / n.max(1.0),
                }
            });
            Looks {
                allowed: tallies.first().map_or(0.01, |(_, tally, _)| tally.allowed),
                looks: looks.collect(),
            }
        })
        .collect()
}

/// Where a backlog grew. That fails whatever bound plainly: it is only a question of time. For the answer it fails one of them, else it
/// would count several times.
struct Grew {
    lowest: Option<f64>,
}

impl Grew {
    fn of(whole: &[&Probed]) -> Grew {
        /// Of a service that keeps up it is said so seldom that it takes as many others, higher and without one, not to believe it.
        const CONTRADICTED: usize = 2;
        let grew = whole.iter().filter(|probe| probe.grows == Some(true));
        let mut levels: Vec<f64> = grew.map(|probe| probe.level).collect();
        levels.sort_by(f64::total_cmp);
        let has_none = |level: f64| {
            let others = whole.iter().filter(|other| other.grows == Some(false));
            others.filter(|other| other.level > level).count()
        };
        let believed = levels.into_iter().enumerate();
        let mut believed =
            believed.filter(|(before, level)| has_none(*level) < CONTRADICTED + before);
        Grew {
            lowest: believed.next().map(|(_, level)| level),
        }
    }

    /// Whether it grew in this probe; what fails above where it grew fails for the same reason.
    fn is_overload(&self, probe: &Probed) -> bool {
        self.lowest.is_some_and(|lowest| probe.level >= lowest) && !probe.holds()
    }

    /// Of a service that is known to have an end: whether its line was so long that it says nothing of how samples hang together below.
    fn is_at_its_end(&self, tally: &Tally) -> bool {
        let most = (PLAINLY * tally.allowed).min(0.9);
        self.lowest.is_some() && tally.share().is_some_and(|share| share > most)
    }

    /// A look that was too short to see it, where it had to be seen.
    fn contradicts(&self, probe: &Probed) -> bool {
        let is_quick = probe.why != Why::Near && probe.grows != Some(true) && probe.holds();
        is_quick && self.lowest.is_some_and(|lowest| probe.level >= lowest)
    }
}

/// How samples hang together: the more the busier the service is, so that what was seen of it at each level is put together as a line of
/// the level. Of one probe alone it would be a guess.
struct Together {
    around: f64,
    log_inflation: f64,
    slope: f64,
}

impl Together {
    /// Levels that tell of each other, in logarithms.
    const ALIKE: f64 = 0.2;

    fn of<'a>(tallies: impl Iterator<Item = (f64, &'a Tally)>, around: f64) -> Together {
        let seen: Vec<(f64, f64, f64)> = tallies
            // An overload hangs together as nothing below it does.
            .filter(|(at, tally)| (at - around).abs() < Self::ALIKE && !tally.fails_plainly())
            .filter_map(|(at, tally)| {
                let share = tally.share().filter(|share| *share > 0.0 && *share < 1.0)?;
                let over = share * tally.sums().0;
                let inflation = inflation_of(&tally.seconds);
                Some((at - around, inflation.ln(), over.min(1_000.0).sqrt()))
            })
            .collect();
        let weights: f64 = seen.iter().map(|(_, _, weight)| weight).sum();
        if weights == 0.0 {
            return Together {
                around,
                log_inflation: 0.0,
                slope: 0.0,
            };
        }
        let mean = |of: fn(&(f64, f64, f64)) -> f64| {
            seen.iter().map(|one| of(one) * one.2).sum::<f64>() / weights
        };
        let (x, y) = (mean(|one| one.0), mean(|one| one.1));
        let (mut xx, mut xy) = (0.0, 0.0);
        for (at, log, weight) in &seen {
            xx += weight * (at - x) * (at - x);
            xy += weight * (at - x) * (log - y);
        }
        // It never hangs together less where the service is busier.
        let slope = if xx > 0.0 {
            (xy / xx).clamp(0.0, 30.0)
        } else {
            0.0
        };
        Together {
            around,
            log_inflation: y - slope * x,
            slope,
        }
    }

    fn at(&self, level: f64) -> f64 {
        let away = (level - self.around).clamp(-Self::ALIKE, Self::ALIKE);
        (self.log_inflation + self.slope * away).exp().max(1.0)
    }
}
