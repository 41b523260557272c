//! Whether what comes in is more than what goes out: a backlog that grows in a line. Counts alone; what waits, and why, is somebody
//! else's to say.

/// Beyond so many deviations of two Poisson processes the difference is no chance.
const SURE: f64 = 4.0;
/// The same of each half.
const LIKELY: f64 = 2.0;
/// Fewer values have no halves worth the name.
const ENOUGH: usize = 8;
/// What is less than this share of what comes in is somebody who is never served, not a backlog of all.
const LEAST: f64 = 0.01;

/// By how much a backlog grows from one value to the next, where it grows in a line: in both halves, by about the same. `came` and
/// `went` are counts of the same stretches of time. None where it does not, or that cannot be said: of the first half of it something
/// has to have gone, else it may be only that everything takes its time.
#[must_use]
pub fn backlog(came: &[f64], went: &[f64]) -> Option<f64> {
    let n = came.len().min(went.len());
    if n < ENOUGH {
        return None;
    }
    let part = |from: usize, to: usize| -> (f64, f64) {
        let sum = |counts: &[f64]| counts[from..to].iter().sum::<f64>();
        (sum(came), sum(went))
    };
    let deviations = |(came, went): (f64, f64)| (came - went) / (came + went).sqrt();
    let (whole, halves) = (part(0, n), [part(0, n / 2), part(n / 2, n)]);
    let grown = halves.map(|(came, went)| came - went);
    let in_a_line = grown[1] > grown[0] / 3.0;
    let goes_on = halves.iter().all(|half| deviations(*half) > LIKELY);
    let has_begun = halves[0].1 > 0.0;
    let left = whole.0 - whole.1;
    let is_one =
        has_begun && goes_on && in_a_line && deviations(whole) > SURE && left > LEAST * whole.0;
    is_one.then(|| left / n as f64)
}

#[cfg(test)]
mod tests {
    use plan::rng::{Purpose, Rng};

    use super::*;

    /// A server of so many a second, what comes to it by chance so often, and what is answered in each second.
    fn queue(seed: u64, comes: f64, served: f64, seconds: usize) -> (Vec<f64>, Vec<f64>) {
        let mut random = Rng::keyed(seed, Purpose::Resampling, 3, 0);
        let mut gap = |rate: f64| -(1.0 - random.unit()).ln() / rate;
        let (mut came, mut went) = (vec![0.0; seconds], vec![0.0; seconds]);
        let (mut at, mut free) = (0.0, 0.0f64);
        loop {
            at += gap(comes);
            if at >= seconds as f64 {
                return (came, went);
            }
            came[at as usize] += 1.0;
            free = free.max(at) + gap(served);
            if free < seconds as f64 {
                went[free as usize] += 1.0;
            }
        }
    }

    #[test]
    fn a_tenth_too_much_is_seen_within_fifteen_seconds() {
        for seed in 0..100 {
            let (came, went) = queue(seed, 1100.0, 1000.0, 15);
            let growth = backlog(&came, &went);
            assert!(
                growth.is_some_and(|growth| (60.0..140.0).contains(&growth)),
                "{growth:?}"
            );
        }
    }

    #[test]
    fn what_keeps_up_has_none_however_busy_it_is() {
        for share in [0.5, 0.8, 0.95, 0.99] {
            for seconds in [10, 15, 60, 300] {
                for seed in 0..20 {
                    let (came, went) = queue(seed, 200.0 * share, 200.0, seconds);
                    assert_eq!(backlog(&came, &went), None, "{share} {seconds} {seed}");
                }
            }
        }
    }

    #[test]
    fn what_takes_its_time_and_what_was_held_up_once_are_no_backlogs() {
        for (seconds, takes) in [(15, 5), (15, 8), (15, 20), (60, 20)] {
            let came = vec![100.0; seconds];
            let went: Vec<f64> = (0..seconds)
                .map(|t| if t < takes { 0.0 } else { 100.0 })
                .collect();
            assert_eq!(backlog(&came, &went), None, "{seconds} {takes}");
        }
        let came = vec![100.0; 60];
        let mut went = came.clone();
        went[40..50].fill(0.0);
        went[50] = 1100.0;
        assert_eq!(backlog(&came, &went), None);
        // One of a thousand is never answered.
        assert_eq!(backlog(&[10_000.0; 600], &[9_990.0; 600]), None);
        assert_eq!(backlog(&[100.0; 7], &[50.0; 7]), None);
    }
}
