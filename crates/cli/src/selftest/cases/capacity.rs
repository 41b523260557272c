//! Whether a search finds the load line where the closed form has it, and its interval holds it: searches of simulated services, nothing
//! is sent.

use std::thread;

use decisions::find::simulated::{Came, KNOWN, POOL, Service, asked};

use super::super::{Assertion, Depth};

/// The share of intervals that hold the truth, at least.
const COVERED: f64 = 0.92;
/// The error of half of the answers, at most.
const ERROR: f64 = 0.03;
/// What a search asks for unless it is told otherwise: the seconds of all of it, and of a probe.
const USUAL: (f64, f64) = (300.0, 15.0);

pub fn load_lines(depth: Depth) -> Result<Vec<Assertion>, String> {
    let mut findings = Vec::new();
    let searched = thread::scope(|scope| {
        let all = KNOWN
            .map(|(service, known)| scope.spawn(move || searches(service, known, depth.searches)));
        all.map(|one| one.join())
    });
    for ((service, (bound_s, truth)), came) in KNOWN.into_iter().zip(searched) {
        let came = came.map_err(|_| "a simulated search came to grief".to_owned())?;
        let name = format!(
            "{} × {:.0} ms, p99 < {:.0} ms: {truth}/s",
            service.servers,
            service.mean_s * 1e3,
            bound_s * 1e3
        );
        findings.push(near(&name, &came));
        let least = least(depth.searches);
        findings.push(Assertion {
            what: format!("{name}, in the interval"),
            expected: format!("≥ {least} of {}", depth.searches),
            measured: came.covered.to_string(),
            holds: came.covered as u64 >= least,
        });
    }
    // What takes always as long has no closed form of chance: where it is full is all there is to find.
    let pool = searches(POOL, (0.2, 160.0), 10);
    findings.push(near("8 × 50 ms always, p99 < 200 ms: 160/s", &pool));
    Ok(findings)
}

fn searches(service: Service, known: (f64, f64), searches: u64) -> Came {
    Came::of(service, known, searches, |seed| {
        asked(USUAL.0, USUAL.1, seed)
    })
}

fn near(name: &str, came: &Came) -> Assertion {
    let error = came.error(0.5);
    Assertion {
        what: format!("{name}, off by (median)"),
        expected: format!("≤ {:.0} %", ERROR * 100.0),
        measured: format!("{:.1} %", error * 100.0),
        holds: error <= ERROR,
    }
}

/// So many of the intervals must hold the truth. Of a thousand the share itself is asked for; of fewer, as many as intervals that hold it
/// in just that share have in 97.5 of 100 batteries: below that is no chance.
fn least(searches: u64) -> u64 {
    if searches >= 1_000 {
        return (COVERED * searches as f64).ceil() as u64;
    }
    let n = searches as f64;
    // The binomial distribution, from none up.
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
        // From tables of the binomial distribution.
        assert_eq!([25, 100, 1_000].map(least), [20, 86, 920]);
    }
}
