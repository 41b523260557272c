//! Gunther's universal scalability law, X(N) = g N / (1 + s (N − 1) + k N (N − 1)), fitted to
//! measured levels of a closed load, with bootstrap intervals. g is the throughput of one user, s
//! the serial share, and k the crosstalk. Throughput has a peak if k is above 0.
//!
//! N / X(N) is linear in 1/g, s/g and k/g, so the fit needs no search. It also tries s = 0 and k =
//! 0, and uses the best fit.

use base::{
    mutant::{self, Mutant},
    rng::{Purpose, Rng},
};

use crate::median;

pub const LEAST_LEVELS: usize = 6;
const DRAWS: u64 = 1_000;
/// Probability beyond each end of a 95 % interval.
const TAIL: f64 = 0.025;
/// Farthest extrapolation, as a multiple of the highest measured number of users.
const FARTHEST: f64 = 2.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// Throughput of one user, per second.
    pub one: f64,
    pub serial: f64,
    pub crosstalk: f64,
}

impl Law {
    #[must_use]
    pub fn at(&self, users: f64) -> f64 {
        self.one * users
            / (1.0 + self.serial * (users - 1.0) + self.crosstalk * users * (users - 1.0))
    }

    /// Returns the number of users with the highest throughput. `None` if throughput never falls.
    #[must_use]
    pub fn peak(&self) -> Option<f64> {
        (self.crosstalk > 0.0).then(|| {
            ((1.0 - self.serial).max(0.0) / self.crosstalk)
                .sqrt()
                .max(1.0)
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Scalability {
    pub law: Law,
    pub serial: (f64, f64),
    pub crosstalk: (f64, f64),
    /// Peak of the throughput. `None` if there is no evidence that throughput falls, or if the peak
    /// is too far beyond the measured levels.
    pub peak: Option<ThroughputPeak>,
    pub noise: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThroughputPeak {
    pub users: f64,
    pub interval: (f64, f64),
    pub throughput: f64,
}

/// Fits the law to pairs of users and throughput. Returns `None` if there are too few levels, or no
/// throughput.
#[must_use]
pub fn scalability(levels: &[(f64, f64)], seed: u64) -> Option<Scalability> {
    if levels.len() < LEAST_LEVELS || levels.iter().any(|(n, x)| *n < 1.0 || *x <= 0.0) {
        return None;
    }
    let law = fitted(levels)?;
    let freedom = (levels.len() - 3) as f64;
    let squares = levels.iter().map(|(n, x)| (x / law.at(*n) - 1.0).powi(2));
    let noise = (squares.sum::<f64>() / freedom).sqrt();
    // Widen the interval like Student's, because the noise is estimated from few levels.
    let wider = 1.0 + 2.0 / freedom;
    let mut random = Rng::keyed(seed, Purpose::Resampling, 13, 0);
    let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let mut draws: Vec<Law> = (0..DRAWS)
        .filter_map(|_| {
            let drawn: Vec<(f64, f64)> = levels
                .iter()
                .map(|(n, _)| (*n, law.at(*n) * (1.0 + noise * wider * normal()).max(0.01)))
                .collect();
            fitted(&drawn)
        })
        .collect();
    let interval = |draws: &mut Vec<Law>, of: fn(&Law) -> f64| {
        draws.sort_by(|a, b| of(a).total_cmp(&of(b)));
        let at = |share: f64| of(&draws[((draws.len() - 1) as f64 * share) as usize]);
        (at(TAIL), at(1.0 - TAIL))
    };
    let serial = interval(&mut draws, |law| law.serial);
    let crosstalk = interval(&mut draws, |law| law.crosstalk);
    let most = levels.iter().map(|(n, _)| *n).fold(0.0, f64::max);
    let peak = law
        .peak()
        .filter(|users| {
            let is_evident = crosstalk.0 > 0.0 && *users <= FARTHEST * most;
            is_evident || mutant::is(Mutant::PeakWithoutEvidence)
        })
        .map(|users| ThroughputPeak {
            users,
            interval: interval(&mut draws, |law| law.peak().unwrap_or(f64::INFINITY)),
            throughput: law.at(users),
        });
    Some(Scalability {
        law,
        serial,
        crosstalk,
        peak,
        noise,
    })
}

/// Minimizes the sum of squared relative errors, with all coefficients at or above 0.
fn fitted(levels: &[(f64, f64)]) -> Option<Law> {
    let subsets: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
    let mut best: Option<(f64, [f64; 3])> = None;
    for terms in subsets {
        let Some(found) = least_squares(levels, terms) else {
            continue;
        };
        if found[0] <= 0.0 || found.iter().any(|value| *value < 0.0) {
            continue;
        }
        let error: f64 = levels
            .iter()
            .map(|level| {
                (row(*level)
                    .iter()
                    .zip(&found)
                    .map(|(a, b)| a * b)
                    .sum::<f64>()
                    - 1.0)
                    .powi(2)
            })
            .sum();
        if best.is_none_or(|(least, _)| error < least) {
            best = Some((error, found));
        }
    }
    let (_, [one, serial, crosstalk]) = best?;
    Some(Law {
        one: 1.0 / one,
        serial: serial / one,
        crosstalk: crosstalk / one,
    })
}

fn row((users, throughput): (f64, f64)) -> [f64; 3] {
    let y = users / throughput;
    [1.0 / y, (users - 1.0) / y, users * (users - 1.0) / y]
}

fn least_squares(levels: &[(f64, f64)], terms: &[usize]) -> Option<[f64; 3]> {
    let n = terms.len();
    let mut matrix = vec![vec![0.0; n + 1]; n];
    for level in levels {
        let row = row(*level);
        for (i, a) in terms.iter().enumerate() {
            for (j, b) in terms.iter().enumerate() {
                matrix[i][j] += row[*a] * row[*b];
            }
            matrix[i][n] += row[*a];
        }
    }
    for i in 0..n {
        let pivot = (i..n).max_by(|a, b| matrix[*a][i].abs().total_cmp(&matrix[*b][i].abs()))?;
        matrix.swap(i, pivot);
        if matrix[i][i].abs() < 1e-12 {
            return None;
        }
        let upper = matrix[i].clone();
        for (number, lower) in matrix.iter_mut().enumerate() {
            if number != i {
                let times = lower[i] / upper[i];
                for (cell, above) in lower.iter_mut().zip(&upper) {
                    *cell -= times * above;
                }
            }
        }
    }
    let mut found = [0.0; 3];
    for (i, unknown) in terms.iter().enumerate() {
        found[*unknown] = matrix[i][n] / matrix[i][i];
    }
    Some(found)
}

/// Fits a pool of parallel servers, whose throughput grows linearly up to a level and is constant
/// above it. Returns the number of servers, and their service time in seconds.
#[must_use]
pub fn pool(levels: &[(f64, f64)]) -> Option<(f64, f64)> {
    const SAME: f64 = 0.05;
    let by_users = |a: &&(f64, f64), b: &&(f64, f64)| a.0.total_cmp(&b.0);
    let (first, each) = if mutant::is(Mutant::WaitingCountedAsServed) {
        *levels.iter().max_by(by_users)?
    } else {
        *levels.iter().min_by(by_users)?
    };
    let one_s = first / each;
    let most = levels.iter().map(|(_, x)| *x).fold(0.0, f64::max);
    let flat: Vec<f64> = levels
        .iter()
        .filter(|(_, x)| *x > most * (1.0 - SAME))
        .map(|(_, x)| *x)
        .collect();
    let plateau = median(&flat)?;
    let servers = plateau * one_s;
    let fits = levels.iter().all(|(n, x)| {
        let would_be = (n / one_s).min(plateau);
        (x / would_be - 1.0).abs() < SAME
    });
    let beyond = levels.iter().filter(|(n, _)| *n > servers * 1.2).count();
    (fits && beyond >= 2 && servers >= 1.0).then_some((servers, one_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0];

    fn measured(law: Law, seed: u64) -> Vec<(f64, f64)> {
        let mut random = Rng::keyed(seed, Purpose::Resampling, 14, 0);
        let mut noise = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        USERS
            .iter()
            .map(|n| (*n, law.at(*n) * (1.0 + 0.02 * noise())))
            .collect()
    }

    #[test]
    fn existing_peak_is_found() {
        let law = Law {
            one: 100.0,
            serial: 0.05,
            crosstalk: 0.002,
        };
        let (mut near, mut covered) = (0, 0);
        for seed in 0..100 {
            let found = scalability(&measured(law, seed), seed).unwrap();
            let peak = found.peak.unwrap();
            near += u32::from(
                (peak.users / 21.8 - 1.0).abs() < 0.15
                    && (peak.throughput / 739.8 - 1.0).abs() < 0.05,
            );
            covered += u32::from((peak.interval.0..=peak.interval.1).contains(&21.8));
        }
        assert!(near >= 95, "{near} of 100");
        assert!(covered >= 88, "{covered} of 100");
    }

    #[test]
    fn monotone_throughput_has_no_peak() {
        let law = Law {
            one: 100.0,
            serial: 0.05,
            crosstalk: 0.0,
        };
        let none = (0..100).filter(|seed| {
            let found = scalability(&measured(law, *seed), *seed).unwrap();
            found.peak.is_none()
        });
        let none = none.count();
        assert!(none >= 90, "{none} of 100");
    }

    #[test]
    fn pool_is_detected_by_its_corner() {
        let levels: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0]
            .iter()
            .map(|n: &f64| (*n, (n / 0.05).min(160.0)))
            .collect();
        let (servers, each_s) = pool(&levels).unwrap();
        assert!((servers - 8.0).abs() < 0.01 && (each_s - 0.05).abs() < 1e-9);
        let law = Law {
            one: 100.0,
            serial: 0.1,
            crosstalk: 0.0,
        };
        assert_eq!(pool(&measured(law, 1)), None);
        assert_eq!(pool(&levels[..5]), None);
    }

    #[test]
    fn too_few_levels_give_no_fit() {
        assert_eq!(scalability(&[(1.0, 1.0); 5], 1), None);
        let mut levels: Vec<(f64, f64)> = USERS.iter().map(|n| (*n, *n)).collect();
        assert!(scalability(&levels, 1).is_some());
        levels[3].1 = 0.0;
        assert_eq!(scalability(&levels, 1), None);
    }
}
