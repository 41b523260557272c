//! Detection of a linearly growing backlog from counts of arrivals and completions.

use crate::student;

/// Minimum difference for the whole series, in standard deviations of two Poisson processes.
const SURE: f64 = 4.0;
/// Minimum difference for each half of the series, in standard deviations of two Poisson processes.
const LIKELY: f64 = 2.0;
const ENOUGH: usize = 8;
/// Minimum backlog as a share of arrivals. A smaller backlog may consist of a few requests that
/// never finish.
const LEAST: f64 = 0.01;
/// Minimum number of values, if the arrival rate is known.
pub const ENOUGH_OF_PLANNED: usize = 4;
/// Maximum p-value at which completions count as slower than the planned rate.
const CHANCE: f64 = 0.001;
/// Lower bound of the variance, because counts are whole numbers.
const ROUNDING: f64 = 1.0 / 3.0;

/// Returns the growth of the backlog per period. `None` if the backlog does not grow linearly.
///
/// `arrived` and `completed` are counts in the same periods. The backlog must grow by about the
/// same amount in both halves. The first half must contain completions, because otherwise the
/// requests may simply take long.
#[must_use]
pub fn backlog(arrived: &[f64], completed: &[f64]) -> Option<f64> {
    let n = arrived.len().min(completed.len());
    if n < ENOUGH {
        return None;
    }
    let part = |from: usize, to: usize| -> (f64, f64) {
        let sum = |counts: &[f64]| counts[from..to].iter().sum::<f64>();
        (sum(arrived), sum(completed))
    };
    let deviations =
        |(arrived, completed): (f64, f64)| (arrived - completed) / (arrived + completed).sqrt();
    let (whole, halves) = (part(0, n), [part(0, n / 2), part(n / 2, n)]);
    let grown = halves.map(|(arrived, completed)| arrived - completed);
    let in_a_line = grown[1] > grown[0] / 3.0;
    let goes_on = halves.iter().all(|half| deviations(*half) > LIKELY);
    let has_begun = halves[0].1 > 0.0;
    let left = whole.0 - whole.1;
    let is_one =
        has_begun && goes_on && in_a_line && deviations(whole) > SURE && left > LEAST * whole.0;
    is_one.then(|| left / n as f64)
}

/// Returns the growth of the backlog for a known mean arrival rate `planned` per period.
///
/// Compares the completions with the plan, based on their own variation. This detects a small
/// excess much sooner than [`backlog`], which compares two random counts. The backlog must also
/// grow in the second half, because completions may catch up.
#[must_use]
pub fn outpaced(planned: f64, arrived: &[f64], completed: &[f64]) -> Option<f64> {
    let n = arrived.len().min(completed.len());
    if n < ENOUGH_OF_PLANNED {
        return None;
    }
    let sum = |counts: &[f64]| counts.iter().sum::<f64>();
    let grown = |from: usize, to: usize| sum(&arrived[from..to]) - sum(&completed[from..to]);
    let left = grown(0, n);
    let goes_on = grown(n / 2, n) > 0.0 && sum(&completed[..n / 2]) > 0.0;
    if !goes_on || left <= LEAST * sum(&arrived[..n]) {
        return None;
    }
    let (count, mean) = (n as f64, student::mean(&completed[..n]));
    let squares: f64 = completed[..n].iter().map(|one| (one - mean).powi(2)).sum();
    let variance = (squares / (count - 1.0)).max(ROUNDING);
    let t = (planned - mean) / (variance / count).sqrt();
    let is_chance = t <= 0.0 || student::two_sided(t, count - 1.0) / 2.0 > CHANCE;
    (!is_chance).then(|| left / count)
}

#[cfg(test)]
mod tests {
    use base::rng::{Purpose, Rng};

    use super::*;

    fn queue(seed: u64, comes: f64, served: f64, seconds: usize) -> (Vec<f64>, Vec<f64>) {
        let mut random = Rng::keyed(seed, Purpose::Resampling, 3, 0);
        let mut gap = |rate: f64| -(1.0 - random.unit()).ln() / rate;
        let (mut arrived, mut completed) = (vec![0.0; seconds], vec![0.0; seconds]);
        let (mut at, mut free) = (0.0, 0.0f64);
        loop {
            at += gap(comes);
            if at >= seconds as f64 {
                return (arrived, completed);
            }
            arrived[at as usize] += 1.0;
            free = free.max(at) + gap(served);
            if free < seconds as f64 {
                completed[free as usize] += 1.0;
            }
        }
    }

    #[test]
    fn ten_percent_overload_is_detected_within_15_seconds() {
        for seed in 0..100 {
            let (arrived, completed) = queue(seed, 1100.0, 1000.0, 15);
            let growth = backlog(&arrived, &completed);
            assert!(
                growth.is_some_and(|growth| (60.0..140.0).contains(&growth)),
                "{growth:?}"
            );
        }
    }

    #[test]
    fn busy_stable_server_has_no_backlog() {
        for share in [0.5, 0.8, 0.95, 0.99] {
            for seconds in [10, 15, 60, 300] {
                for seed in 0..20 {
                    let (arrived, completed) = queue(seed, 200.0 * share, 200.0, seconds);
                    assert_eq!(
                        backlog(&arrived, &completed),
                        None,
                        "{share} {seconds} {seed}"
                    );
                }
            }
        }
    }

    #[test]
    fn small_overload_is_detected_by_known_arrival_rate() {
        let arrived = [166.0, 180.0, 151.0, 171.0, 158.0, 163.0, 170.0, 160.0];
        let completed = [160.0, 160.0, 161.0, 159.0, 160.0, 160.0, 160.0, 160.0];
        assert_eq!(backlog(&arrived, &completed), None);
        assert_eq!(outpaced(164.8, &arrived, &completed), Some(39.0 / 8.0));
        assert_eq!(outpaced(160.0, &arrived, &completed), None);
        assert_eq!(outpaced(164.8, &arrived[..3], &completed[..3]), None);
        let held_up = [165.0, 164.0, 166.0, 165.0, 165.0, 165.0, 20.0];
        assert_eq!(outpaced(165.0, &[165.0; 7], &held_up), None);
        assert_eq!(
            outpaced(165.0, &[165.0, 165.0, 140.0, 140.0], &[150.0; 4]),
            None
        );
        assert_eq!(outpaced(165.0, &[165.0; 8], &[0.0; 8]), None);
    }

    #[test]
    fn slow_start_and_single_pause_are_not_backlogs() {
        for (seconds, takes) in [(15, 5), (15, 8), (15, 20), (60, 20)] {
            let arrived = vec![100.0; seconds];
            let completed: Vec<f64> = (0..seconds)
                .map(|t| if t < takes { 0.0 } else { 100.0 })
                .collect();
            assert_eq!(backlog(&arrived, &completed), None, "{seconds} {takes}");
        }
        let arrived = vec![100.0; 60];
        let mut completed = arrived.clone();
        completed[40..50].fill(0.0);
        completed[50] = 1100.0;
        assert_eq!(backlog(&arrived, &completed), None);
        assert_eq!(backlog(&[10_000.0; 600], &[9_990.0; 600]), None);
        assert_eq!(backlog(&[100.0; 7], &[50.0; 7]), None);
    }
}
