//! Change points in a series of runs. Uses E-divisive means (Matteson and James) over overlapping
//! windows, with Student's t-test instead of permutations, as in Hunter (Fleming and others, 2023).
//! The result is deterministic.

use crate::student::{mean, t_test};

/// Number of values in a window. The limit prevents old values from hiding new shifts.
pub const WINDOW: usize = 30;
pub const LEAST_P: f64 = 0.001;
/// Factor on the maximum p-value in the first pass, in which the neighbouring change points are
/// unknown.
const FIRST_PASS: f64 = 10.0;
/// Minimum number of values on each side of a change point, because fewer values may come from a
/// single disturbed run.
pub const LEAST_LEVEL: usize = 4;

pub const TOO_CORRELATED: f64 = 0.85;
/// Minimum step that counts as a new level, in standard deviations, even if it is below the
/// requested magnitude.
const LEAST_STEP: f64 = 1.5;
/// Maximum correlation to assume. A higher correlation would leave the means of levels without
/// variance.
const MOST_CORRELATED: f64 = 0.95;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    pub at: usize,
    pub before: f64,
    pub after: f64,
    pub p: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    pub points: Vec<ChangePoint>,
    /// Correlation of neighbouring values around their levels. 0 means independent values.
    pub correlation: f64,
}

#[must_use]
pub fn change_points(series: &[f64], magnitude: f64) -> Vec<ChangePoint> {
    levels(series, magnitude).points
}

/// Splits a series into levels that differ by at least `magnitude`.
///
/// Returns no points if a value is not finite, or if the correlation exceeds [`TOO_CORRELATED`],
/// because then a shift cannot be distinguished from drift.
#[must_use]
pub fn levels(series: &[f64], magnitude: f64) -> Levels {
    if series.iter().any(|value| !value.is_finite()) {
        return Levels {
            points: Vec::new(),
            correlation: 0.0,
        };
    }
    let mut at = candidates(series);
    keep_real(series, &mut at, magnitude, None);
    // Second pass: search for each point again between its neighbours, independently of window
    // borders.
    for i in 0..at.len() {
        let (low, high) = between(&at, i, series.len());
        let low = low.max(at[i].saturating_sub(WINDOW));
        let high = high.min(at[i] + WINDOW);
        if let Some(best) = best_split(&series[low..high]) {
            at[i] = low + best;
        }
    }
    keep_real(series, &mut at, magnitude, None);
    // A point that is too small to report still separates two levels.
    let correlation = correlation(series, &at);
    if correlation > TOO_CORRELATED {
        at.clear();
    }
    keep_real(series, &mut at, magnitude, Some(correlation));
    let points = 0..at.len();
    let points = points.filter_map(|i| point(series, &at, i, correlation));
    Levels {
        points: points.collect(),
        correlation,
    }
}

fn candidates(series: &[f64]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut start = 0;
    loop {
        let end = (start + WINDOW).min(series.len());
        split(&series[start..end], start, &mut found);
        if end == series.len() {
            break;
        }
        start += WINDOW / 2;
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn split(stretch: &[f64], offset: usize, found: &mut Vec<usize>) {
    let Some(at) = best_split(stretch) else {
        return;
    };
    let (left, right) = stretch.split_at(at);
    if t_test(left, right, 0.0).is_some_and(|p| p < LEAST_P * FIRST_PASS) {
        found.push(offset + at);
        split(left, offset, found);
        split(right, offset + at, found);
    }
}

fn best_split(stretch: &[f64]) -> Option<usize> {
    let n = stretch.len();
    if n < 2 * LEAST_LEVEL {
        return None;
    }
    // Sums of distances within the left side, between the sides, and within the right side.
    let (mut within_left, mut between, mut within_right) = (0.0, 0.0, 0.0);
    let to = |value: f64, others: &[f64]| -> f64 {
        others.iter().map(|other| (value - other).abs()).sum()
    };
    for (i, value) in stretch.iter().enumerate() {
        within_right += to(*value, &stretch[i + 1..]);
    }
    let mut best: Option<(f64, usize)> = None;
    let mut farthest: Option<(f64, usize)> = None;
    for at in 1..n {
        let (left, right) = (&stretch[..at - 1], &stretch[at..]);
        let value = stretch[at - 1];
        let (to_left, to_right) = (to(value, left), to(value, right));
        within_left += to_left;
        within_right -= to_right;
        between += to_right - to_left;
        let (l, r) = (at as f64, (n - at) as f64);
        let pairs = |n: f64| (n * (n - 1.0) / 2.0).max(1.0);
        let energy = 2.0 * between / (l * r) - within_left / pairs(l) - within_right / pairs(r);
        let weighed = Some((energy * l * r / (l + r), at));
        let is_more = |than: Option<(f64, usize)>| than.map(|one| one.0) < weighed.map(|one| one.0);
        if is_more(farthest) {
            farthest = weighed;
        }
        if (LEAST_LEVEL..=n - LEAST_LEVEL).contains(&at) && is_more(best) {
            best = weighed;
        }
    }
    let (at, farthest) = (best?.1, farthest?.1);
    // The best split is at the border of the allowed range, so the true maximum is outside.
    let is_cut_off = at == LEAST_LEVEL && farthest < at || at == n - LEAST_LEVEL && farthest > at;
    (!is_cut_off).then_some(at)
}

/// Removes points whose change is below `magnitude` or whose p-value is too large, starting with
/// the least certain point.
///
/// `known` is the correlation of neighbouring values. `None` estimates it from the remaining
/// points. It then also keeps smaller steps that noise cannot explain, because they would otherwise
/// count as correlation.
fn keep_real(series: &[f64], at: &mut Vec<usize>, magnitude: f64, known: Option<f64>) {
    at.sort_unstable();
    at.dedup();
    loop {
        let correlation = known.unwrap_or_else(|| correlation(series, at));
        let p = |i: usize| point(series, at, i, correlation).map_or(1.0, |point| point.p);
        let least_sure = (0..at.len())
            .map(|i| (p(i), i))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, i)) = least_sure.filter(|(p, _)| *p >= LEAST_P) {
            at.remove(i);
            continue;
        }
        let size = |i: usize| {
            point(series, at, i, correlation)
                .map_or(0.0, |point| (point.after - point.before).abs())
        };
        let least = (0..at.len())
            .map(|i| (size(i), i))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let magnitude = match known {
            Some(_) => magnitude,
            None => magnitude.min(LEAST_STEP * spread(series, at)),
        };
        match least.filter(|(size, _)| *size < magnitude) {
            Some((_, i)) => at.remove(i),
            None => return,
        };
    }
}

/// Tests a point against its neighbours. Returns `None` if one of its levels is too short.
fn point(series: &[f64], at: &[usize], i: usize, correlation: f64) -> Option<ChangePoint> {
    let (low, high) = between(at, i, series.len());
    let (before, after) = (&series[low..at[i]], &series[at[i]..high]);
    if before.len() < LEAST_LEVEL || after.len() < LEAST_LEVEL {
        return None;
    }
    Some(ChangePoint {
        at: at[i],
        before: mean(before),
        after: mean(after),
        p: t_test(before, after, correlation)?,
    })
}

fn spread(series: &[f64], at: &[usize]) -> f64 {
    let bounds = [0].into_iter().chain(at.iter().copied());
    let ends = at.iter().copied().chain([series.len()]);
    let squares = bounds.zip(ends).map(|(low, high)| {
        let mean = mean(&series[low..high]);
        let far = series[low..high].iter().map(|value| (value - mean).powi(2));
        far.sum::<f64>()
    });
    (squares.sum::<f64>() / series.len().max(1) as f64).sqrt()
}

/// Returns the correlation of neighbouring values around the levels between these points, from 0 to
/// `MOST_CORRELATED`.
///
/// Corrects the bias of estimates around fitted means, which grows with the number of levels
/// (Kendall 1954).
fn correlation(series: &[f64], at: &[usize]) -> f64 {
    let bounds = || [0].into_iter().chain(at.iter().copied());
    let ends = at.iter().copied().chain([series.len()]);
    let (mut products, mut squares) = (0.0, 0.0);
    for (low, high) in bounds().zip(ends) {
        let level = &series[low..high];
        let mean = mean(level);
        squares += level
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>();
        let pairs = level
            .windows(2)
            .map(|pair| (pair[0] - mean) * (pair[1] - mean));
        products += pairs.sum::<f64>();
    }
    if squares <= f64::MIN_POSITIVE {
        return 0.0;
    }
    let share = (at.len() + 1) as f64 / series.len() as f64;
    let found = (products / squares + share) / (1.0 - 3.0 * share).max(0.25);
    // Spurious points absorb correlation, so add the standard error if there is any correlation.
    let error = (1.0 / series.len() as f64).sqrt();
    let visible = (found / error - 1.0).clamp(0.0, 1.0);
    (found + visible * error).clamp(0.0, MOST_CORRELATED)
}

fn between(at: &[usize], i: usize, end: usize) -> (usize, usize) {
    let low = if i == 0 { 0 } else { at[i - 1] };
    (low, at.get(i + 1).copied().unwrap_or(end))
}

#[cfg(test)]
mod tests {
    use base::rng::{Purpose, Rng};
    use proptest::prelude::*;

    use super::*;

    fn history(seed: u64, runs: usize, step: Option<(usize, f64)>) -> Vec<f64> {
        let mut random = Rng::keyed(seed, Purpose::Sampling, 0, 0);
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let values = (0..runs).map(|run| {
            let by = step.map_or(0.0, |(at, by)| if run >= at { by } else { 0.0 });
            (100.0 * (1.0 + by) * (1.0 + 0.02 * normal())).ln()
        });
        values.collect()
    }

    const USUAL: f64 = 0.03;

    fn correlated(seed: u64, runs: usize, phi: f64, step: Option<(usize, f64)>) -> Vec<f64> {
        let mut value = 0.0;
        let values = history(seed, runs + 50, None).into_iter().map(|new| {
            value = phi * value + (new - 100f64.ln());
            value
        });
        let values = values.skip(50).enumerate();
        let by = |run: usize| step.map_or(0.0, |(at, by)| if run >= at { by } else { 0.0 });
        values.map(|(run, value)| value + by(run)).collect()
    }

    /// Simulates 1,000 histories. Returns the share in which any shift is found, and the share in
    /// which the only shift is at `step` ± 1.
    fn shifted(runs: usize, phi: f64, step: Option<(usize, f64)>) -> (f64, f64) {
        let (mut any, mut near) = (0, 0);
        for seed in 0..1000 {
            let points = change_points(&correlated(seed, runs, phi, step), USUAL);
            any += usize::from(!points.is_empty());
            let is_near = |point: &ChangePoint| step.is_some_and(|s| point.at.abs_diff(s.0) <= 1);
            near += usize::from(points.iter().any(is_near));
        }
        (any as f64 / 1000.0, near as f64 / 1000.0)
    }

    #[test]
    fn correlated_flat_histories_have_no_points() {
        for (phi, most) in [(0.3, 0.03), (0.6, 0.05), (0.8, 0.08)] {
            for runs in [30, 60, 100] {
                let (any, _) = shifted(runs, phi, None);
                assert!(any <= most, "{any} of {runs} runs, correlation {phi}");
            }
        }
    }

    #[test]
    fn step_is_found_in_correlated_runs() {
        let (_, independent) = shifted(60, 0.0, Some((40, 0.07)));
        let (_, alike) = shifted(60, 0.3, Some((40, 0.07)));
        let (_, very_alike) = shifted(60, 0.6, Some((40, 0.15)));
        assert!(independent >= 0.97, "{independent}");
        assert!(alike >= 0.9 && very_alike >= 0.85, "{alike} {very_alike}");
    }

    #[test]
    fn correlation_excludes_steps() {
        let mean = |phi: f64, step| {
            let found = (0..200).map(|seed| {
                let series = correlated(seed, 100, phi, step);
                levels(&series, USUAL).correlation
            });
            found.sum::<f64>() / 200.0
        };
        for (phi, low, high) in [(0.0, 0.0, 0.1), (0.5, 0.45, 0.65), (0.9, 0.8, 0.95)] {
            let found = mean(phi, None);
            assert!((low..=high).contains(&found), "{phi}: {found}");
        }
        let beside_a_step = mean(0.0, Some((40, 0.3)));
        assert!(beside_a_step < 0.1, "{beside_a_step}");
    }

    #[test]
    fn random_walk_has_no_levels() {
        let walks = (0..200).map(|seed| correlated(seed, 60, 1.0, None));
        let shifts = walks.filter(|walk| !change_points(walk, USUAL).is_empty());
        let shifts = shifts.count();
        assert!(shifts <= 10, "{shifts} of 200");
    }

    #[test]
    fn step_is_found_at_its_position() {
        let (mut near, mut alone) = (0, 0);
        for seed in 0..500 {
            let points = change_points(&history(seed, 60, Some((40, 0.07))), USUAL);
            near += usize::from(points.iter().any(|point| point.at.abs_diff(40) <= 1));
            alone += usize::from(points.len() == 1);
        }
        assert!(near >= 485 && alone >= 490, "{near} and {alone} of 500");
    }

    #[test]
    fn flat_histories_have_no_points() {
        let more_than_one = (0..50u64).filter(|set| {
            let histories = (0..20).map(|i| history(10_000 + 20 * set + i, 100, None));
            let points = histories.map(|series| change_points(&series, USUAL).len());
            points.sum::<usize>() > 1
        });
        let more_than_one = more_than_one.count();
        assert!(more_than_one <= 2, "{more_than_one} of 50 sets of 20");
    }

    #[test]
    fn single_outlier_is_not_a_change() {
        let mut series = history(1, 40, None);
        series[20] += 1.0;
        series[39] += 1.0;
        assert_eq!(change_points(&series, USUAL), []);
    }

    #[test]
    fn each_step_has_a_point_with_adjacent_levels() {
        let mut series = history(3, 90, Some((30, 0.2)));
        series[60..].iter_mut().for_each(|value| *value -= 0.3);
        let points = change_points(&series, USUAL);
        let at: Vec<usize> = points.iter().map(|point| point.at).collect();
        assert_eq!(at, [30, 60]);
        assert!((points[0].after - points[0].before - 0.2f64.ln_1p()).abs() < 0.02);
        assert_eq!(points[0].after, points[1].before);
        assert_eq!(change_points(&series, 0.19).len(), 1);
    }

    #[test]
    fn new_level_needs_several_runs() {
        let series = |new: usize| history(5, 30 + new, Some((30, 0.3)));
        assert_eq!(change_points(&series(LEAST_LEVEL - 1), USUAL), []);
        assert_eq!(change_points(&series(LEAST_LEVEL), USUAL).len(), 1);
    }

    proptest! {
        #[test]
        fn points_are_ordered_for_any_series(series in prop::collection::vec(-1e3..1e3f64, 0..150), magnitude in 0.0..10.0f64) {
            let points = change_points(&series, magnitude);
            for pair in points.windows(2) {
                prop_assert!(pair[0].at + LEAST_LEVEL <= pair[1].at);
            }
            for point in &points {
                prop_assert!(point.at < series.len() && point.p < LEAST_P);
                prop_assert!((point.after - point.before).abs() >= magnitude);
            }
            prop_assert_eq!(points, change_points(&series, magnitude));
        }
    }
}
