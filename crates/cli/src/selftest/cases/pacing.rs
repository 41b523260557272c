//! Checks the timing of arrivals and the contents of histograms.

use super::super::{
    Assertion, Depth,
    experiment::{Experiment, Results},
    machine::OnCore,
    truth::quantile,
};

pub fn pacing(depth: Depth) -> Result<Vec<Assertion>, String> {
    let mut findings = Vec::new();
    for rate in [1_000, 10_000] {
        // Both the bare loop and a worker without slack spin before each deadline.
        let pairs = Pairs::measure(rate, "0", depth)?;
        let seconds = pairs.seconds * pairs.runs.len() as u64;
        let count = pairs.runs.iter().map(|run| run.count).sum::<u64>();
        findings.push(Assertion::same(
            format!("{rate}/s: requests at the server"),
            rate * seconds,
            count,
        ));
        // On short runs and busy machines, timing may be less precise, but all arrivals must occur.
        let tolerance = if depth.microseconds { 0.001 } else { 0.01 };
        if depth.microseconds || rate == 1_000 {
            findings.push(actual_rate(&pairs, rate, tolerance));
            let what = format!("{rate}/s: drift from the plan");
            findings.push(Assertion::at_most(
                what,
                1.0,
                pairs.median(|run| run.drift_ms),
            ));
        }
        let p50 = pairs.median_bare(0.5);
        if !depth.microseconds && rate == 1_000 {
            // A median of half a millisecond or more shows that the wrong timer is used.
            let what = format!("{rate}/s: lateness p50, coarsely");
            findings.push(Assertion::at_most(
                what,
                p50 + 0.5,
                pairs.median(|run| run.p50_ms),
            ));
        }
        if depth.microseconds {
            let p99 = pairs.median_bare(0.99);
            findings.push(Assertion::at_most(
                format!("{rate}/s: lateness p50"),
                p50 + 0.010,
                pairs.median(|run| run.p50_ms),
            ));
            findings.push(Assertion::at_most(
                format!("{rate}/s: lateness p99"),
                2.0 * p99 + 0.050,
                pairs.median(|run| run.p99_ms),
            ));
        }
    }
    if depth.microseconds {
        findings.push(with_slack(depth)?);
    }
    Ok(findings)
}

/// Checks that the default slack increases the lateness by no more than the slack.
fn with_slack(depth: Depth) -> Result<Assertion, String> {
    let pairs = Pairs::measure(10_000, "100us", depth)?;
    Ok(Assertion::at_most(
        "10000/s with a slack of 100 us: lateness p99",
        2.0 * pairs.median_bare(0.99) + 0.050 + 0.100,
        pairs.median(|run| run.p99_ms),
    ))
}

struct Pairs {
    seconds: u64,
    runs: Vec<Paced>,
    bare: Vec<Vec<u64>>,
}

struct Paced {
    count: u64,
    rate: f64,
    drift_ms: f64,
    p50_ms: f64,
    p99_ms: f64,
}

impl Pairs {
    fn measure(rate: u64, pacing_slack: &'static str, depth: Depth) -> Result<Pairs, String> {
        // At the lower rate, the start of a run carries more weight.
        let (number, seconds) = match (depth.microseconds, rate) {
            (false, _) => (1, 2),
            (true, 10_000..) => (5, 2),
            (true, _) => (5, 3),
        };
        let (mut runs, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..number {
            bare.push(bare_loop(rate, seconds));
            let results = Experiment {
                rate,
                seconds,
                // The default for a URL. With one connection per arrival, the test would measure
                // connecting.
                connections: Some(100),
                witness: false,
                pacing_slack,
                ..Experiment::default()
            }
            .run()?;
            runs.push(Paced {
                count: results.truth.requests.len() as u64,
                rate: rate_at_server(&results),
                drift_ms: drift_ms(&results),
                p50_ms: results.lateness_ms(0.5),
                p99_ms: results.lateness_ms(0.99),
            });
        }
        Ok(Pairs {
            seconds,
            runs,
            bare,
        })
    }

    fn median(&self, of: impl Fn(&Paced) -> f64) -> f64 {
        median(self.runs.iter().map(of).collect())
    }

    fn median_bare(&self, q: f64) -> f64 {
        let loops = self.bare.iter();
        median(loops.map(|loops| quantile(loops, q) as f64 / 1e6).collect())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn rate_at_server(results: &Results) -> f64 {
    let arrivals = || results.truth.requests.values().map(|(arrival, _)| *arrival);
    let (first, last) = (arrivals().min().unwrap_or(0), arrivals().max().unwrap_or(0));
    (results.truth.requests.len().saturating_sub(1)) as f64 * 1e9 / (last - first).max(1) as f64
}

fn actual_rate(pairs: &Pairs, rate: u64, tolerance: f64) -> Assertion {
    let measured = pairs.median(|run| run.rate);
    Assertion {
        what: format!("{rate}/s: rate at the server"),
        expected: format!("{rate}/s ± {} %", tolerance * 100.0),
        measured: format!("{measured:.1}/s"),
        holds: (measured / rate as f64 - 1.0).abs() <= tolerance,
    }
}

/// Returns how many milliseconds later the last tenth is than the first. Only the smallest delays
/// are compared, so that interruptions are ignored.
fn drift_ms(results: &Results) -> f64 {
    let delays = results.delays();
    let tenth = (delays.len() / 10).max(1);
    let least = |part: Option<&[i64]>| part.and_then(|part| part.iter().min()).copied();
    let first = least(delays.get(..tenth.min(delays.len())));
    let last = least(delays.get(delays.len().saturating_sub(tenth)..));
    match (first, last) {
        (Some(first), Some(last)) => (last - first) as f64 / 1e6,
        _ => f64::NAN,
    }
}

/// Returns the sorted lateness of a loop that only waits. It is the best that this machine can
/// achieve.
pub fn bare_loop(rate: u64, seconds: u64) -> Vec<u64> {
    let _core = OnCore::number(1);
    let mut lateness = worker::clock::bare_timer_loop(1_000_000_000 / rate, rate * seconds);
    lateness.sort_unstable();
    lateness
}

pub fn histograms(_: Depth) -> Result<Vec<Assertion>, String> {
    let (mut worst, mut at) = (0.0f64, 0);
    let mut value = 1_000u64;
    while value <= 60_000_000_000 {
        let mut histogram = measure::Histogram::<u64>::default();
        histogram.record(value);
        histogram.record(value * 2);
        let estimate = histogram.quantile(0.5).unwrap_or(0);
        let error = (estimate as f64 - value as f64).abs() / value as f64;
        if error > worst {
            (worst, at) = (error, value);
        }
        value += value / 97 + 1;
    }
    Ok(vec![Assertion {
        what: "largest error".into(),
        expected: "≤ 0.1 %".into(),
        measured: format!("{:.3} %, at {at} ns", worst * 100.0),
        holds: worst <= 0.001,
    }])
}
