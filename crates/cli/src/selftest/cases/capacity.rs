//! Searches on simulated services. The results and intervals are compared with known load lines.

use std::thread;

use decisions::find::simulated::{
    FULL_POOL, KNOWN, KnownLoadLine, SLOWING, SearchStatistics, config,
};

use super::super::{Assertion, Depth};

const COVERED: f64 = 0.95;
const ERROR: f64 = 0.03;
/// Minimum share of searches on a drifting service that must end without a load line.
const DRIFTS: f64 = 0.8;
/// Default duration of a search and of a probe, in seconds.
const USUAL: (f64, f64) = (300.0, 15.0);

pub fn load_lines(depth: Depth) -> Result<Vec<Assertion>, String> {
    let searched = thread::scope(|scope| {
        let all = KNOWN
            .each_ref()
            .map(|known| scope.spawn(move || searches(known, depth.searches)));
        all.map(|one| one.join())
    });
    let mut findings = Vec::new();
    let least = least(depth.searches);
    for (known, found) in KNOWN.iter().zip(searched) {
        let found = found.map_err(|_| "a simulated search panicked".to_owned())?;
        let name = format!("{}: {}/s", known.name, known.load_line);
        findings.push(near(&name, &found));
        findings.push(Assertion {
            what: format!("{name}, in the interval"),
            expected: format!("≥ {least} of {}", depth.searches),
            measured: found.covered.to_string(),
            holds: found.covered as u64 >= least,
        });
    }
    // The deterministic pool has no closed form. Its load line is the rate at which it is full.
    let name = format!("{}: {}/s", FULL_POOL.name, FULL_POOL.load_line);
    findings.push(near(&name, &searches(&FULL_POOL, 10)));
    let slowing = searches(&SLOWING, depth.searches);
    let least = (DRIFTS * depth.searches as f64).ceil() as usize;
    findings.push(Assertion {
        what: format!("{}: no answer, it drifts", SLOWING.name),
        expected: format!("≥ {least} of {}", depth.searches),
        measured: slowing.drifted.to_string(),
        holds: slowing.drifted >= least,
    });
    Ok(findings)
}

fn searches(known: &KnownLoadLine, searches: u64) -> SearchStatistics {
    SearchStatistics::of_searches(known, searches, |seed| config(USUAL.0, USUAL.1, seed))
}

fn near(name: &str, found: &SearchStatistics) -> Assertion {
    let error = found.error(0.5);
    Assertion {
        what: format!("{name}, off by (median)"),
        expected: format!("≤ {:.0} %", ERROR * 100.0),
        measured: format!("{:.1} %", error * 100.0),
        holds: error <= ERROR,
    }
}

/// Returns the minimum number of searches whose interval must contain the load line.
fn least(searches: u64) -> u64 {
    if searches >= 1_000 {
        return (COVERED * searches as f64).ceil() as u64;
    }
    let n = searches as f64;
    // Add up the binomial distribution from 0.
    let mut share = (1.0 - COVERED).powf(n);
    let (mut below, mut count) = (share, 0);
    while below <= 0.025 && count < searches {
        let k = count as f64;
        share *= (n - k) / (k + 1.0) * COVERED / (1.0 - COVERED);
        below += share;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_few_searches_fewer_intervals_must_hold_the_truth() {
        assert_eq!([25, 100, 1_000].map(least), [21, 90, 950]);
    }
}
