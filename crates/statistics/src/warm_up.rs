//! Detection of the warm-up with MSER-5, which cuts where the standard error of the mean of the
//! remaining values is smallest.

use base::mutant::{self, Mutant};

const BATCH: usize = 5;
const ENOUGH_BATCHES: usize = 5;
pub const ENOUGH_VALUES: usize = BATCH * ENOUGH_BATCHES;

/// Returns how many values at the beginning to exclude, which is less than half of them. `None` if
/// the series is too short.
///
/// The rest may still not be steady. For a series that always rises, half of the values remain.
#[must_use]
pub fn warm_up(values: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = values
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().sum::<f64>() / BATCH as f64)
        .collect();
    let n = batches.len();
    if n < ENOUGH_BATCHES || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let cuts = (0..n.div_ceil(2)).map(|cut| (cut, uncertainty(&batches[cut..])));
    if mutant::is(Mutant::WarmUpKept) {
        return Some(0);
    }
    let (cut, _) = cuts.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some(cut * BATCH)
}

/// Returns the squared standard error of the mean, ignoring correlation. Returns 0 for values that
/// differ only by rounding, because rounding must not decide the cut.
fn uncertainty(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let rounding = n * f64::EPSILON * mean.abs();
    values
        .iter()
        .map(|value| (value - mean).abs())
        .filter(|away| *away > rounding)
        .map(|away| away.powi(2))
        .sum::<f64>()
        / (n * n)
}

#[cfg(test)]
mod tests {
    use base::rng::{Purpose, Rng};

    use super::*;

    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut random = Rng::keyed(seed, Purpose::Resampling, 0, 0);
        move || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
    }

    #[test]
    fn decaying_start_is_cut() {
        for seed in 0..50 {
            let mut noise = noise(seed);
            let series =
                |t: usize| (5.0 + 45.0 * (-(t as f64) / 10.0).exp()) * (1.0 + 0.02 * noise());
            let values: Vec<f64> = (0..120).map(series).collect();
            let cut = warm_up(&values).unwrap();
            assert!((25..60).contains(&cut), "{cut}");
            let rest = &values[cut..];
            let mean = rest.iter().sum::<f64>() / rest.len() as f64;
            assert!((mean / 5.0 - 1.0).abs() < 0.02, "{mean}");
        }
    }

    #[test]
    fn constant_series_loses_little() {
        let mut lost = 0;
        for seed in 0..50 {
            let mut noise = noise(seed);
            let level: Vec<f64> = (0..120).map(|_| 5.0 + 0.1 * noise()).collect();
            lost += warm_up(&level).unwrap();
        }
        assert!(lost < 50 * 25, "{lost}");
        assert_eq!(warm_up(&[1.0; 120]), Some(0));
        for level in (1..500).map(|n| (f64::from(n) * 1e5).ln()) {
            assert_eq!(warm_up(&[level; 120]), Some(0), "{level}");
            let warming = [&[level + 2.0; 4][..], &[level; 41]].concat();
            assert_eq!(warm_up(&warming), Some(5), "{level}");
        }
        assert_eq!(warm_up(&[1.0; 20]), None);
        assert_eq!(warm_up(&[]), None);
    }
}
