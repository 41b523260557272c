//! Behaviour of a series after its warm-up: steady, drifting, or shifting to another level. Works
//! on logarithms, so changes are relative.

use crate::{median, shift, trend, trend::apart, warm_up};

const SURE: f64 = 4.0;
/// Minimum trend of a warm-up, in standard deviations, that shows that its level was not constant.
const RISES: f64 = 3.0;
/// Minimum step, in standard deviations. It is large because every position is tried.
const FOUND: f64 = 5.0;
const LEAST: usize = 10;

/// Behaviour of a series after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Direction {
    Steadily,
    Drifting(f64),
    Shifting { at: usize, by: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadySeries {
    pub cut: usize,
    pub goes: Direction,
}

/// Finds the steady state, ignoring differences below `matters`. Returns `None` if the series is
/// too short.
#[must_use]
pub fn settled(values: &[f64], matters: f64) -> Option<SteadySeries> {
    let cut = warm_up(values)?;
    let (before, rest) = values.split_at(cut);
    // Without a real warm-up, the position of the cut is random.
    let cut = if apart(before, rest).is_some_and(|by| by.z.abs() > SURE && by.by.abs() > matters) {
        cut
    } else {
        0
    };
    let (before, rest) = values.split_at(cut);
    // A warm-up decays. A beginning that is level and then changes is a shift instead.
    let was_level =
        before.len() >= LEAST && trend(before).is_some_and(|trend| trend.z.abs() < RISES);
    let moved = median(rest)? - median(before).unwrap_or(f64::NAN);
    if was_level && moved.abs() > matters {
        let level = shift(values, LEAST)?;
        return Some(SteadySeries {
            cut: 0,
            goes: Direction::Shifting {
                at: level.at,
                by: level.after - level.before,
            },
        });
    }
    let goes = goes(rest, cut, matters)?;
    let whole = whole_drift(values, goes);
    Some(SteadySeries {
        cut: if whole.is_some() { 0 } else { cut },
        goes: whole.unwrap_or(goes),
    })
}

/// Detects a series that drifts throughout: MSER cuts as much as possible, and both parts drift in
/// the same direction.
fn whole_drift(values: &[f64], goes: Direction) -> Option<Direction> {
    let Direction::Drifting(by) = goes else {
        return None;
    };
    let trend = trend(values)?;
    let drift = trend.slope * (values.len() - 1) as f64;
    let is_same = trend.z.abs() > SURE && drift.signum() == by.signum();
    is_same.then_some(Direction::Drifting(drift))
}

fn goes(rest: &[f64], cut: usize, matters: f64) -> Option<Direction> {
    let trend = trend(rest)?;
    let drift = trend.slope * (rest.len() - 1) as f64;
    let level =
        shift(rest, LEAST).filter(|level| level.against_line < 1.0 && level.z.abs() > FOUND);
    if let Some(level) = level.filter(|level| (level.after - level.before).abs() > matters) {
        return Some(Direction::Shifting {
            at: cut + level.at,
            by: level.after - level.before,
        });
    }
    Some(if trend.z.abs() > SURE && drift.abs() > matters {
        Direction::Drifting(drift)
    } else {
        Direction::Steadily
    })
}

#[cfg(test)]
mod tests {
    use base::rng::{Purpose, Rng};

    use super::*;

    const MATTERS: f64 = 0.05;

    fn run(seed: u64, of: impl Fn(f64) -> f64) -> SteadySeries {
        let mut random = Rng::keyed(seed, Purpose::Resampling, 2, 0);
        let mut noise = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let values: Vec<f64> = (0..120)
            .map(|t| (of(f64::from(t)) * (1.0 + 0.02 * noise())).ln())
            .collect();
        settled(&values, MATTERS).unwrap()
    }

    #[test]
    fn service_is_steady_after_warm_up() {
        for seed in 0..100 {
            let found = run(seed, |t| 5.0 + 45.0 * (-t / 10.0).exp());
            assert!((25..60).contains(&found.cut), "{found:?}");
            assert_eq!(found.goes, Direction::Steadily, "{found:?}");
        }
    }

    #[test]
    fn drift_and_shift_are_distinguished() {
        for seed in 0..100 {
            let found = run(seed, |t| 5.0 + 5.0 * t / 120.0);
            assert!(
                matches!(found.goes, Direction::Drifting(by) if by > 0.2),
                "{found:?}"
            );
            for place in [40, 60, 80] {
                let found = run(seed, |t| if t < f64::from(place) { 5.0 } else { 6.0 });
                let near = place as usize - 3..=place as usize + 3;
                assert!(
                    matches!(found.goes, Direction::Shifting { at, .. } if near.contains(&at)),
                    "{place}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn constant_series_is_steady() {
        let steady = (0..200)
            .filter(|seed| run(*seed, |_| 5.0).goes == Direction::Steadily)
            .count();
        assert!(steady >= 190, "{steady} of 200");
        assert_eq!(settled(&[1.0; 20], MATTERS), None);
        assert_eq!(
            settled(&[1.0; 25], MATTERS).unwrap().goes,
            Direction::Steadily
        );
    }

    fn queue(seed: u64, rate: f64, share: f64, seconds: usize) -> [Vec<f64>; 2] {
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
    fn busy_queue_is_steady() {
        let (mut all, mut wrong, mut cut) = (0, 0, 0);
        for (rate, share) in [(200.0, 0.5), (200.0, 0.8), (200.0, 0.9)] {
            for seconds in [30, 60, 120] {
                for seed in 0..30 {
                    for values in queue(seed, rate, share, seconds) {
                        let found = settled(&values, 0.1).unwrap();
                        all += 1;
                        wrong += u32::from(found.goes != Direction::Steadily);
                        cut += u32::from(found.cut > 0);
                    }
                }
            }
        }
        assert!(wrong * 20 <= all, "{wrong} of {all}");
        assert!(cut * 20 <= all, "{cut} of {all}");
    }
}
