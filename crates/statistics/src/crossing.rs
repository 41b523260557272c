//! Estimates the load level at which the share of violations reaches its limit, with a confidence
//! interval, from observations at several levels.
//!
//! Uses logistic regression on the logarithm of the level. Observations far from the estimate get
//! less weight. A grid over crossing and steepness is weighted by likelihood, so levels without
//! violations, or with only violations, need no special case.

/// Maximum distance of an observation from the estimate, as a difference of logarithms.
const REACH: f64 = 0.32;
const CROSSINGS: usize = 161;
/// Lowest steepness of the grid. `STEEPER` is the factor between two values. Steepness is the
/// exponent with which the odds grow with the level.
const GENTLEST: f64 = 1.5;
const STEEPER: f64 = 1.2;
const STEEPNESSES: usize = 31;
/// Maximum odds, relative to the allowed odds. Higher odds mean overload, which does not follow the
/// curve.
const FAR: f64 = 6.0;
/// Probability beyond each end of a 95 % interval.
const TAIL: f64 = 0.025;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    pub at: f64,
    pub n: f64,
    pub over: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Observations {
    pub allowed: f64,
    pub looks: Vec<Observation>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Crossing {
    below: Vec<(f64, f64)>,
}

impl Crossing {
    #[must_use]
    pub fn at(&self, probability: f64) -> f64 {
        let mut before = self.below[0];
        for &(at, below) in &self.below {
            if below >= probability {
                let rise = below - before.1;
                let share = if rise > 0.0 {
                    (probability - before.1) / rise
                } else {
                    0.0
                };
                return before.0 + share * (at - before.0);
            }
            before = (at, below);
        }
        before.0
    }

    #[must_use]
    pub fn estimate(&self) -> f64 {
        self.at(0.5)
    }

    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        (self.at(TAIL), self.at(1.0 - TAIL))
    }

    #[must_use]
    pub fn capped(self, at: f64, deviation: f64) -> Crossing {
        /// Scale at which a logistic curve matches the normal distribution to within 0.01.
        const NORMAL: f64 = 1.702;
        let is_above = |place: f64| 1.0 / (1.0 + (NORMAL * (place - at) / deviation).exp());
        let below = self.below.into_iter();
        let below = below.map(|(place, below)| (place, 1.0 - (1.0 - below) * is_above(place)));
        Crossing {
            below: below.collect(),
        }
    }

    #[must_use]
    pub fn holds(&self, at: f64) -> f64 {
        let mut before = self.below[0];
        for &(here, below) in &self.below {
            if here >= at {
                let width = here - before.0;
                let share = if width > 0.0 {
                    (at - before.0) / width
                } else {
                    1.0
                };
                return 1.0 - (before.1 + share.max(0.0) * (below - before.1));
            }
            before = (here, below);
        }
        1.0 - before.1
    }
}

/// Returns the lowest crossing of several bounds near `around`, which is a logarithm. `None` if no
/// observation is near.
#[must_use]
pub fn crossing(bounds: &[Observations], around: f64) -> Option<Crossing> {
    let mut holds = vec![1.0; CROSSINGS];
    let mut any = false;
    for bound in bounds {
        let near: Vec<(Observation, f64)> = bound
            .looks
            .iter()
            .filter_map(|look| {
                let weight = closeness((look.at - around) / REACH);
                (weight > 0.0 && look.n > 0.0).then_some((*look, weight))
            })
            .collect();
        if near.is_empty() {
            continue;
        }
        any = true;
        for (holds, below) in holds.iter_mut().zip(below(&near, bound.allowed, around)) {
            *holds *= 1.0 - below;
        }
    }
    let below = holds
        .into_iter()
        .enumerate()
        .map(|(i, holds)| (place(i, around), 1.0 - holds));
    any.then(|| Crossing {
        below: below.collect(),
    })
}

/// Returns the weight of an observation: 1 at the estimate, 0 at the maximum distance.
fn closeness(away: f64) -> f64 {
    (1.0 - away.abs().powi(3)).max(0.0).powi(3)
}

fn place(i: usize, around: f64) -> f64 {
    around - REACH + 2.0 * REACH * i as f64 / (CROSSINGS - 1) as f64
}

struct LogisticCurve {
    odds: f64,
    ends: (f64, f64),
    far: f64,
}

impl LogisticCurve {
    fn new(allowed: f64, far: f64) -> LogisticCurve {
        let odds = (allowed / (1.0 - allowed)).ln();
        let share = |times: f64| 1.0 / (1.0 + (-(odds + times.ln())).exp());
        LogisticCurve {
            odds,
            ends: (share(1.0 / far), share(far)),
            far,
        }
    }

    fn explains(&self, look: &Observation, crossing: f64, steepness: f64) -> f64 {
        let over = (look.over / look.n).clamp(self.ends.0, self.ends.1) * look.n;
        let away = steepness * (look.at - crossing);
        let z = self.odds + away.clamp(-self.far.ln(), self.far.ln());
        let rest = -z.max(0.0) - (-z.abs()).exp().ln_1p();
        over * (z + rest) + (look.n - over) * rest
    }
}

/// Returns, for each point of the grid, the probability that the crossing of a bound is at or below
/// it.
fn below(near: &[(Observation, f64)], allowed: f64, around: f64) -> Vec<f64> {
    let curve = LogisticCurve::new(allowed, FAR);
    let steepnesses: Vec<f64> = (0..STEEPNESSES)
        .map(|i| GENTLEST * STEEPER.powi(i as i32))
        .collect();
    let mut explained = vec![0.0; CROSSINGS * STEEPNESSES];
    for (look, weight) in near {
        for (cell, explained) in explained.iter_mut().enumerate() {
            let at = place(cell / STEEPNESSES, around);
            *explained += weight * curve.explains(look, at, steepnesses[cell % STEEPNESSES]);
        }
    }
    let most = explained.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut so_far = 0.0;
    let mut sums: Vec<f64> = explained
        .chunks(STEEPNESSES)
        .map(|row| {
            so_far += row.iter().map(|one| (one - most).exp()).sum::<f64>();
            so_far
        })
        .collect();
    sums.iter_mut().for_each(|sum| *sum /= so_far);
    sums
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Movement {
    /// Distance by which the crossing moves from the first to the last observation, as a difference
    /// of logarithms. Negative if it falls.
    pub by: f64,
    pub evidence: f64,
}

/// Compares a crossing that moves linearly with a constant crossing. Times of observations range
/// from 0 (first) to 1 (last). Returns `None` if no observation is near `around`.
#[must_use]
pub fn movement(looks: &[(f64, Observation)], allowed: f64, around: f64) -> Option<Movement> {
    const FARTHEST: f64 = 0.8;
    /// The grid has `CROSSINGS` crossings on each side of `around`, at a distance of `APART`.
    /// `STEEPNESSES` and `MOVEMENTS` (in each direction) are the sizes of its other dimensions.
    const CROSSINGS: i32 = 40;
    const APART: f64 = 0.0125;
    const STEEPNESSES: i32 = 4;
    const MOVEMENTS: i32 = 10;
    const STEP: f64 = 0.08;
    const FAR_MOVING: f64 = 30.0;
    let near = looks.iter();
    let near = near.filter(|(_, look)| look.n > 0.0 && (look.at - around).abs() < FARTHEST);
    let near: Vec<&(f64, Observation)> = near.collect();
    let curve = LogisticCurve::new(allowed, FAR_MOVING);
    let explained = |crossing: f64, steepness: f64, by: f64| {
        let of = |(time, look): &&(f64, Observation)| {
            curve.explains(look, crossing + by * time, steepness)
        };
        near.iter().map(of).sum::<f64>()
    };
    let best = |by: f64| {
        let crossings = -CROSSINGS..=CROSSINGS;
        let places = crossings.map(|i| around + APART * f64::from(i));
        let each = places.flat_map(|place| (0..STEEPNESSES).map(move |i| (place, i)));
        let steepness = |i: i32| 12.0 * 2f64.powi(i);
        each.map(|(place, i)| explained(place - by / 2.0, steepness(i), by))
            .fold(f64::NEG_INFINITY, f64::max)
    };
    let stays = best(0.0);
    let all = (-MOVEMENTS..=MOVEMENTS).map(|i| f64::from(i) * STEP);
    let (by, moves) = all
        .map(|by| (by, best(by)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    (near.len() > 1).then_some(Movement {
        by,
        evidence: moves - stays,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(level: f64, n: f64, over: f64) -> Observation {
        Observation {
            at: level.ln(),
            n,
            over,
        }
    }

    fn known(allowed: f64, looks: Vec<Observation>, around: f64) -> [f64; 3] {
        let found = crossing(&[Observations { allowed, looks }], around.ln()).unwrap();
        let (low, high) = found.interval();
        [low, found.estimate(), high].map(f64::exp)
    }

    #[test]
    fn crossing_of_a_well_observed_curve_is_found() {
        let share = |level: f64| {
            let odds = 0.01 / 0.99 * (level / 770.0).powi(15);
            odds / (1.0 + odds)
        };
        let levels = [650.0, 700.0, 740.0, 780.0, 820.0, 880.0];
        let looks = levels.map(|level| look(level, 20_000.0, 20_000.0 * share(level)));
        let [low, estimate, high] = known(0.01, looks.to_vec(), 750.0);
        assert!((estimate / 770.0 - 1.0).abs() < 0.01, "{estimate}");
        assert!(
            low < 770.0 && 770.0 < high && high / low < 1.04,
            "{low} {high}"
        );
    }

    #[test]
    fn crossing_lies_between_no_and_only_violations() {
        let looks = vec![look(150.0, 1_000.0, 0.0), look(170.0, 1_000.0, 900.0)];
        let [low, estimate, high] = known(0.01, looks, 160.0);
        assert!(149.0 < low && low < 155.0, "{low}");
        assert!(
            low < estimate && estimate < high && high < 171.0,
            "{estimate} {high}"
        );
    }

    #[test]
    fn lowest_of_several_bounds_decides() {
        let at = |level: f64| Observations {
            allowed: 0.01,
            looks: vec![
                look(level * 0.95, 50_000.0, 100.0),
                look(level * 1.05, 50_000.0, 2_500.0),
            ],
        };
        let alone = crossing(&[at(100.0)], 105f64.ln()).unwrap();
        let both = crossing(&[at(100.0), at(115.0)], 105f64.ln()).unwrap();
        assert!((alone.estimate() - both.estimate()).abs() < 0.003);
        assert!(crossing(&[], 0.0).is_none());
        assert!(crossing(&[at(100.0)], 300f64.ln()).is_none());
    }

    #[test]
    fn crossing_stays_below_its_cap() {
        let looks = vec![look(95.0, 3_000.0, 10.0), look(105.0, 3_000.0, 80.0)];
        let found = crossing(
            &[Observations {
                allowed: 0.01,
                looks,
            }],
            100f64.ln(),
        );
        let found = found.unwrap();
        let (low, high) = found.clone().capped(92f64.ln(), 0.01).interval();
        assert!(low.exp() > 89.0 && high.exp() < 94.5, "{low} {high}");
        let far = found.clone().capped(130f64.ln(), 0.01);
        assert!((far.estimate() - found.estimate()).abs() < 0.001);
    }

    #[test]
    fn moving_crossing_is_distinguished_from_constant_one() {
        let one = |time: f64, level: f64, fails: bool| {
            let look = look(level, 1.0, f64::from(u8::from(fails)));
            (time, look)
        };
        let falls: Vec<(f64, Observation)> = [120.0, 110.0, 115.0, 125.0]
            .iter()
            .enumerate()
            .flat_map(|(i, level)| {
                let i = i as f64 / 10.0;
                [one(i, *level, false), one(0.6 + i, *level, true)]
            })
            .collect();
        let found = movement(&falls, 0.5, 118f64.ln()).unwrap();
        assert!(found.by < -0.1 && found.evidence > 4.0, "{found:?}");
        let stays: Vec<(f64, Observation)> = (0..10)
            .map(|i| {
                one(
                    f64::from(i) / 10.0,
                    [110.0, 125.0][i as usize % 2],
                    i % 2 == 1,
                )
            })
            .collect();
        let found = movement(&stays, 0.5, 118f64.ln()).unwrap();
        assert!(found.evidence < 1.0, "{found:?}");
        assert_eq!(movement(&[], 0.5, 0.0), None);
    }

    #[test]
    fn probability_to_hold_falls_with_level() {
        let looks = vec![look(95.0, 3_000.0, 10.0), look(105.0, 3_000.0, 80.0)];
        let found = crossing(
            &[Observations {
                allowed: 0.01,
                looks,
            }],
            100f64.ln(),
        )
        .unwrap();
        let sure = [80.0f64, 95.0, 100.0, 105.0, 130.0].map(|level| found.holds(level.ln()));
        assert!(sure.windows(2).all(|two| two[0] >= two[1]), "{sure:?}");
        assert!(sure[0] > 0.99 && sure[4] < 0.01, "{sure:?}");
        let middle = found.holds(found.estimate());
        assert!((middle - 0.5).abs() < 0.02, "{middle}");
    }
}
