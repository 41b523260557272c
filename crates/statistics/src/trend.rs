//! Trend of a series (Mann-Kendall, corrected for autocorrelation), its slope (Theil-Sen), and
//! steps between two levels.

use crate::{median, rank};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    pub z: f64,
    pub slope: f64,
}

#[must_use]
pub fn trend(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < 10 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sum = 0.0;
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (i, first) in values.iter().enumerate() {
        for (j, second) in values.iter().enumerate().skip(i + 1) {
            let rise = second - first;
            sum += f64::from(u8::from(rise > 0.0)) - f64::from(u8::from(rise < 0.0));
            slopes.push(rise / (j - i) as f64);
        }
    }
    let slope = median(&slopes)?;
    let rest: Vec<f64> = values
        .iter()
        .enumerate()
        .map(|(i, value)| value - slope * i as f64)
        .collect();
    let count = n as f64;
    let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0 * inflation(&rest);
    Some(Trend {
        z: sum / variance.sqrt(),
        slope,
    })
}

/// Returns the factor by which correlated ranks increase the variance (Hamed and Rao), at least 1.
fn inflation(values: &[f64]) -> f64 {
    let n = values.len();
    let ranks = rank::ranks(values);
    let mean = (n as f64 + 1.0) / 2.0;
    let covariance = |lag: usize| -> f64 {
        let pairs = ranks.iter().zip(&ranks[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let own = covariance(0);
    if own == 0.0 {
        return 1.0;
    }
    let count = n as f64;
    let noise = 1.96 / count.sqrt();
    let lags = 1..=(n / 4).max(1);
    let sum: f64 = lags
        .map(|lag| {
            let autocorrelation = covariance(lag) / own;
            let left = count - lag as f64;
            let weight = left * (left - 1.0) * (left - 2.0);
            if autocorrelation.abs() > noise {
                weight * autocorrelation
            } else {
                0.0
            }
        })
        .sum();
    (1.0 + 2.0 / (count * (count - 1.0) * (count - 2.0)) * sum).max(1.0)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelStep {
    pub at: usize,
    pub before: f64,
    pub after: f64,
    pub z: f64,
    /// Squared errors of a fit with two levels, relative to those of a straight line.
    pub against_line: f64,
}

/// Finds the best step with at least `least` values on each side. Returns `None` if there are too
/// few values.
#[must_use]
pub fn shift(values: &[f64], least: usize) -> Option<LevelStep> {
    let n = values.len();
    if n < 2 * least.max(2) || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let squares =
        |part: &[f64], level: f64| -> f64 { part.iter().map(|x| (x - level).powi(2)).sum() };
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let places = (least..=n - least).map(|at| {
        let (before, after) = values.split_at(at);
        let (first, second) = (mean(before), mean(after));
        (
            at,
            first,
            second,
            squares(before, first) + squares(after, second),
        )
    });
    let (at, before, after, left) = places.min_by(|a, b| a.3.total_cmp(&b.3))?;
    let line = straight(values);
    let rest = values.iter().enumerate();
    let rest: Vec<f64> = rest
        .map(|(i, value)| value - if i < at { before } else { after })
        .collect();
    let (first, second) = (at as f64, (n - at) as f64);
    let variance = left / (n as f64 - 2.0) * (1.0 / first + 1.0 / second) * inflation(&rest);
    Some(LevelStep {
        z: (after - before) / variance.sqrt(),
        at,
        before,
        after,
        against_line: if line > 0.0 { left / line } else { 1.0 },
    })
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ExcludedRuns {
    /// Mean of the second part minus the mean of the first part.
    pub by: f64,
    pub z: f64,
}

/// Returns the distance between the beginning of a series and the rest. `None` if either is empty.
pub(crate) fn apart(before: &[f64], rest: &[f64]) -> Option<ExcludedRuns> {
    if before.is_empty() || rest.len() < 2 {
        return None;
    }
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (first, second) = (mean(before), mean(rest));
    let (n, m) = (before.len() as f64, rest.len() as f64);
    let squares: f64 = rest.iter().map(|x| (x - second).powi(2)).sum();
    let variance = squares / (m - 1.0) * (1.0 / n + 1.0 / m) * inflation(rest);
    let by = second - first;
    Some(ExcludedRuns {
        by,
        z: by / variance.sqrt(),
    })
}

fn straight(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (mean_x, mean_y) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in values.iter().enumerate() {
        let (x, y) = (x as f64 - mean_x, y - mean_y);
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    yy - xy * xy / xx
}

#[cfg(test)]
mod tests {
    use base::rng::{Purpose, Rng};

    use super::*;

    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut random = Rng::keyed(seed, Purpose::Resampling, 1, 0);
        move || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
    }

    #[test]
    fn trend_is_detected_and_correlated_noise_is_not() {
        let mut false_alarms = 0;
        for seed in 0..200 {
            let mut noise = noise(seed);
            let rising: Vec<f64> = (0..120)
                .map(|t| 5.0 + t as f64 / 24.0 + 0.3 * noise())
                .collect();
            let found = trend(&rising).unwrap();
            assert!(found.z > 5.0, "{found:?}");
            assert!((found.slope * 24.0 - 1.0).abs() < 0.1, "{found:?}");
            let mut level = 0.0;
            let alike: Vec<f64> = (0..120)
                .map(|_| {
                    level = 0.6 * level + noise();
                    level
                })
                .collect();
            false_alarms += usize::from(trend(&alike).unwrap().z.abs() > 3.0);
        }
        assert!(false_alarms <= 6, "{false_alarms} of 200");
        assert_eq!(trend(&[1.0; 9]), None);
        assert_eq!(trend(&[1.0; 12]).unwrap().z, 0.0);
    }

    #[test]
    fn step_is_located_and_line_prefers_its_slope() {
        for seed in 0..100 {
            let mut noise = noise(seed);
            let step: Vec<f64> = (0..120)
                .map(|t| if t < 60 { 5.0 } else { 6.0 } + 0.15 * noise())
                .collect();
            let found = shift(&step, 10).unwrap();
            assert!((57..=63).contains(&found.at), "{found:?}");
            assert!(found.against_line < 1.0, "{found:?}");
            let line: Vec<f64> = (0..120)
                .map(|t| 5.0 + t as f64 / 24.0 + 0.15 * noise())
                .collect();
            assert!(shift(&line, 10).unwrap().against_line > 1.0);
        }
    }
}
