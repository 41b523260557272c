//! Block bootstrap of a run's time windows. Blocks keep correlated neighbours together, so that a
//! long pause is drawn completely or not at all.

use base::rng::Rng;

/// Exponent of the minimum block length, which is a power of the number of windows.
const POWER: f64 = 1.0 / 3.0;
const LAGS: usize = 30;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resampled(pub Vec<u32>);

/// Returns the block length for a series: twice the correlation length, but at least the cube root
/// and at most a quarter of the number of windows.
#[must_use]
pub fn block_length(values: &[f64]) -> usize {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n.max(1) as f64;
    let covariance = |lag: usize| -> f64 {
        let pairs = values.iter().zip(&values[lag.min(n)..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let own = covariance(0);
    let mut length = 1.0;
    if own > 0.0 {
        let autocorrelation = (1..LAGS.min(n)).map(|lag| covariance(lag) / own);
        length += 2.0
            * autocorrelation
                .take_while(|autocorrelation| *autocorrelation > 0.05)
                .sum::<f64>();
    }
    let least = (n as f64).powf(POWER).ceil() as usize;
    ((2.0 * length).ceil() as usize)
        .max(least)
        .min((n / 4).max(1))
}

/// Draws `windows` windows in blocks of neighbours. The first window counts as the neighbour of the
/// last.
pub fn resample(windows: usize, block: usize, random: &mut Rng) -> Resampled {
    let mut times = vec![0u32; windows];
    let mut left = windows;
    while left > 0 {
        let begin = random.below(windows as u64) as usize;
        for at in 0..block.max(1).min(left) {
            times[(begin + at) % windows] += 1;
        }
        left -= block.max(1).min(left);
    }
    Resampled(times)
}

#[cfg(test)]
mod tests {
    use base::rng::Purpose;

    use super::*;

    #[test]
    fn resample_has_as_many_windows_as_its_source() {
        let mut random = Rng::keyed(7, Purpose::Sampling, 0, 0);
        for (windows, block) in [(1, 1), (10, 3), (60, 15), (7, 9)] {
            let Resampled(times) = resample(windows, block, &mut random);
            assert_eq!(times.iter().sum::<u32>() as usize, windows);
        }
        assert_eq!(resample(0, 3, &mut random), Resampled(Vec::new()));
    }

    #[test]
    fn correlated_windows_make_long_blocks() {
        let mut random = Rng::keyed(7, Purpose::Sampling, 0, 0);
        let alone: Vec<f64> = (0..120).map(|_| random.unit()).collect();
        let mut level = 0.0;
        let together: Vec<f64> = (0..120)
            .map(|_| {
                level = 0.9 * level + random.unit();
                level
            })
            .collect();
        assert!(block_length(&alone) <= 8, "{}", block_length(&alone));
        assert!(block_length(&together) >= 12, "{}", block_length(&together));
        assert_eq!(block_length(&[1.0; 120]), 5);
        assert_eq!(block_length(&[]), 1);
    }
}
