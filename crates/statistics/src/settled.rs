//! Whether a series has settled, and how it goes on: after a beginning that is left out it stays as it is, drifts, or changes from one
//! level to another. Of logarithms, so that changes are shares; what is no larger than what matters is none.

use crate::{median, shift, trend, trend::apart, warm_up};

/// Beyond so many deviations a trend is no chance.
const SURE: f64 = 4.0;
/// Beyond so many a beginning was no level.
const RISES: f64 = 3.0;
/// The same of a step that was looked for at every place.
const FOUND: f64 = 5.0;
/// A level holds for so many values at least.
const LEAST: usize = 10;

/// How a series goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goes {
    /// As it is.
    Steadily,
    /// By so much from its first value that counts to its last, rising or falling.
    Drifting(f64),
    /// From one level to another, so far away.
    Shifting {
        /// The first value of the new level.
        at: usize,
        /// The new level less the old one.
        by: f64,
    },
}

/// What a series comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settled {
    /// Values that are left out.
    pub cut: usize,
    /// What the others do.
    pub goes: Goes,
}

/// How a series settles, where differences below `matters` do not count; none where it is too short to say.
#[must_use]
pub fn settled(values: &[f64], matters: f64) -> Option<Settled> {
    let cut = warm_up(values)?;
    let (before, rest) = values.split_at(cut);
    // Where little changes the rule cuts somewhere, as chance has it.
    let cut = if apart(before, rest).is_some_and(|by| by.z.abs() > SURE && by.by.abs() > matters) {
        cut
    } else {
        0
    };
    let (before, rest) = values.split_at(cut);
    // A beginning dies away. What held its level and then changed was none.
    let was_level =
        before.len() >= LEAST && trend(before).is_some_and(|trend| trend.z.abs() < RISES);
    let moved = median(rest)? - median(before).unwrap_or(f64::NAN);
    if was_level && moved.abs() > matters {
        let level = shift(values, LEAST)?;
        return Some(Settled {
            cut: 0,
            goes: Goes::Shifting {
                at: level.at,
                by: level.after - level.before,
            },
        });
    }
    let goes = goes(rest, cut, matters)?;
    let whole = whole_drift(values, goes);
    Some(Settled {
        cut: if whole.is_some() { 0 } else { cut },
        goes: whole.unwrap_or(goes),
    })
}

/// Of what drifts all the time the rule leaves out as much as it may: what is left drifts, and so did what came before.
fn whole_drift(values: &[f64], goes: Goes) -> Option<Goes> {
    let Goes::Drifting(by) = goes else {
        return None;
    };
    let trend = trend(values)?;
    let drift = trend.slope * (values.len() - 1) as f64;
    let is_same = trend.z.abs() > SURE && drift.signum() == by.signum();
    is_same.then_some(Goes::Drifting(drift))
}

fn goes(rest: &[f64], cut: usize, matters: f64) -> Option<Goes> {
    let trend = trend(rest)?;
    let drift = trend.slope * (rest.len() - 1) as f64;
    let level =
        shift(rest, LEAST).filter(|level| level.against_line < 1.0 && level.z.abs() > FOUND);
    if let Some(level) = level.filter(|level| (level.after - level.before).abs() > matters) {
        return Some(Goes::Shifting {
            at: cut + level.at,
            by: level.after - level.before,
        });
    }
    Some(if trend.z.abs() > SURE && drift.abs() > matters {
        Goes::Drifting(drift)
    } else {
        Goes::Steadily
    })
}

#[cfg(test)]
mod tests {
    use base::rng::{Purpose, Rng};

    use super::*;

    const MATTERS: f64 = 0.05;

    /// Medians of two minutes, a second each, that vary by two per cent.
    fn run(seed: u64, of: impl Fn(f64) -> f64) -> Settled {
        let mut random = Rng::keyed(seed, Purpose::Resampling, 2, 0);
        let mut noise = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let values: Vec<f64> = (0..120)
            .map(|t| (of(f64::from(t)) * (1.0 + 0.02 * noise())).ln())
            .collect();
        settled(&values, MATTERS).unwrap()
    }

    #[test]
    fn a_service_that_warms_up_has_settled_behind_it() {
        for seed in 0..100 {
            let found = run(seed, |t| 5.0 + 45.0 * (-t / 10.0).exp());
            assert!((25..60).contains(&found.cut), "{found:?}");
            assert_eq!(found.goes, Goes::Steadily, "{found:?}");
        }
    }

    #[test]
    fn what_drifts_and_what_shifts_are_told_apart() {
        for seed in 0..100 {
            let found = run(seed, |t| 5.0 + 5.0 * t / 120.0);
            assert!(
                matches!(found.goes, Goes::Drifting(by) if by > 0.2),
                "{found:?}"
            );
            for place in [40, 60, 80] {
                let found = run(seed, |t| if t < f64::from(place) { 5.0 } else { 6.0 });
                let near = place as usize - 3..=place as usize + 3;
                assert!(
                    matches!(found.goes, Goes::Shifting { at, .. } if near.contains(&at)),
                    "{place}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_level_is_steady() {
        let steady = (0..200)
            .filter(|seed| run(*seed, |_| 5.0).goes == Goes::Steadily)
            .count();
        assert!(steady >= 190, "{steady} of 200");
        assert_eq!(settled(&[1.0; 20], MATTERS), None);
        assert_eq!(settled(&[1.0; 25], MATTERS).unwrap().goes, Goes::Steadily);
    }

    /// Logarithms of the median and of the 99th percentile, second by second, of a queue that was there before.
    fn queue(seed: u64, (rate, share): (f64, f64), seconds: usize) -> [Vec<f64>; 2] {
        const BEFORE: f64 = 100.0;
        let mut random = Rng::keyed(seed, Purpose::Resampling, 4, 0);
        let mut gap = |rate: f64| -(1.0 - random.unit()).ln() / rate;
        let mut times = vec![Vec::new(); seconds];
        let (mut at, mut free) = (0.0, 0.0f64);
        loop {
            at += gap(rate * share);
            free = free.max(at) + gap(rate);
            match times.get_mut((free - BEFORE).max(0.0) as usize) {
                Some(_) if free < BEFORE => {}
                Some(second) => second.push(free - at),
                None => break,
            }
        }
        let quantile = |q: f64| {
            let of = |second: &Vec<f64>| {
                let mut sorted = second.clone();
                sorted.sort_by(f64::total_cmp);
                sorted[(sorted.len() as f64 * q) as usize].ln()
            };
            times.iter().map(of).collect()
        };
        [quantile(0.5), quantile(0.99)]
    }

    #[test]
    fn a_busy_queue_is_steady_whatever_its_length_does() {
        let (mut all, mut wrong, mut cut) = (0, 0, 0);
        for (rate, share) in [(200.0, 0.5), (200.0, 0.8), (200.0, 0.9)] {
            for seconds in [30, 60, 120] {
                for seed in 0..30 {
                    for values in queue(seed, (rate, share), seconds) {
                        let found = settled(&values, 0.1).unwrap();
                        all += 1;
                        wrong += u32::from(found.goes != Goes::Steadily);
                        cut += u32::from(found.cut > 0);
                    }
                }
            }
        }
        assert!(wrong * 20 <= all, "{wrong} of {all}");
        assert!(cut * 20 <= all, "{cut} of {all}");
    }
}
