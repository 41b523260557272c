//! What the server did to its requests, against what is reported of it: stalls, caps on connections, independent slow requests,
//! queues.

use super::{
    super::{
        Depth, Finding,
        experiment::{Experiment, Results},
        truth::quantile,
    },
    verdicts::validity,
};

const PERCENTILES: [(f64, &str); 5] = [
    (0.5, "p50"),
    (0.9, "p90"),
    (0.95, "p95"),
    (0.99, "p99"),
    (0.999, "p99.9"),
];

/// Every percentile against the value computed from the server's own log.
fn against_the_log(name: &str, results: &Results, slack_ms: f64) -> Vec<Finding> {
    let truth = results.true_responses();
    let mut findings = vec![Finding::same(
        format!("{name}answers"),
        truth.len(),
        results.summary.requests.ok,
    )];
    for (q, percentile) in PERCENTILES {
        // A percentile with too few samples beyond it is not reported: there is nothing to compare.
        let measured = results.response_ms(q);
        if measured.is_nan() {
            continue;
        }
        let wanted = quantile(&truth, q) as f64 / 1e6;
        findings.push(Finding::near(
            format!("{name}{percentile}"),
            wanted,
            measured,
            0.02,
            slack_ms,
        ));
    }
    let mean = truth.iter().map(|ns| *ns as f64).sum::<f64>() / truth.len().max(1) as f64 / 1e6;
    findings.push(Finding::near(
        format!("{name}mean"),
        mean,
        results.mean_ms(),
        0.02,
        slack_ms,
    ));
    findings
}

pub fn stall_of_one_second(depth: Depth) -> Result<Vec<Finding>, String> {
    stall(depth, 1.0)
}

pub fn stall_of_three_seconds(depth: Depth) -> Result<Vec<Finding>, String> {
    stall(depth, 3.0)
}

/// Seconds between stalls: a short battery has shorter ones, so that there is more than one to see.
fn period(depth: Depth) -> f64 {
    if depth.seconds >= 20 {
        10.0
    } else {
        depth.seconds as f64 * 0.8
    }
}

fn stall(depth: Depth, seconds: f64) -> Result<Vec<Finding>, String> {
    let every = period(depth);
    let length = seconds * every / 10.0;
    let experiment = Experiment {
        server: format!(
            "mode=stall&stall={:.0}ms&every={:.0}ms&service=1ms",
            length * 1e3,
            every * 1e3
        ),
        seconds: depth.seconds,
        ..Experiment::default()
    };
    let results = experiment.run()?;
    let mut findings = against_the_log("", &results, 5.0);
    findings.extend(closed_form("", &results, &experiment));
    Ok(findings)
}

/// Quantile(q) = S − (1−q) × D / n × (1 − λ b / c), for n stalls of length S that ended within D seconds, arrivals at rate λ,
/// service time b and c connections: everyone who arrived in a stall waited for its end and then for the drain. Without a
/// cap the server releases all at once, and the last factor is 1.
fn closed_form(name: &str, results: &Results, experiment: &Experiment) -> Vec<Finding> {
    let zero = results.run.manifest.start.monotonic_ns;
    let end = zero + experiment.seconds * 1_000_000_000;
    let within = |(begin, stop): &&(u64, u64)| *begin >= zero && *stop <= end;
    let whole: Vec<f64> = results
        .truth
        .stalls
        .iter()
        .filter(within)
        .map(|(b, e)| (e - b) as f64 / 1e6)
        .collect();
    // A stall that the run's end cuts off belongs to no closed form.
    if whole.is_empty()
        || whole.len()
            != results
                .truth
                .stalls
                .iter()
                .filter(|(begin, _)| *begin < end)
                .count()
    {
        return Vec::new();
    }
    let length = whole.iter().sum::<f64>() / whole.len() as f64;
    let duration_ms = experiment.seconds as f64 * 1e3;
    let load = experiment.connections.map_or(0.0, |c| {
        experiment.rate as f64 * results.service_s() / f64::from(c)
    });
    let formula = |q: f64| length - (1.0 - q) * duration_ms / whole.len() as f64 * (1.0 - load);
    // Uncapped, everyone in a stall waits for half of it on the average: S² / 2 per stall and second of arrivals.
    let mean = length * length / 2.0 * whole.len() as f64 / duration_ms + results.service_s() * 1e3;
    let of_all = Finding::near(
        format!("{name}mean, closed form"),
        mean,
        results.mean_ms(),
        0.05,
        5.0,
    );
    let uncapped = experiment.connections.is_none().then_some(of_all);
    let wanted = [(0.95, "p95"), (0.99, "p99"), (0.999, "p99.9")]
        .into_iter()
        .filter(|(q, _)| formula(*q) > 10.0 && !results.response_ms(*q).is_nan());
    let percentiles = wanted.map(|(q, p)| {
        Finding::near(
            format!("{name}{p}, closed form"),
            formula(q),
            results.response_ms(q),
            0.05,
            5.0,
        )
    });
    percentiles.chain(uncapped).collect()
}

pub fn caps(depth: Depth) -> Result<Vec<Finding>, String> {
    let every = period(depth);
    let experiment = |connections| Experiment {
        server: format!(
            "mode=stall&stall={:.0}ms&every={:.0}ms&service=1ms",
            every * 1e2,
            every * 1e3
        ),
        seconds: depth.seconds,
        rate: 500,
        connections,
        ..Experiment::default()
    };
    // Side by side: the same machine at the same moment.
    let running =
        [(Some(2), "2: "), (Some(10), "10: "), (None, "any: ")].map(|(connections, name)| {
            let experiment = experiment(connections);
            (experiment.start(), experiment, name)
        });
    let mut findings = Vec::new();
    for (running, experiment, name) in running {
        let results = running?.finish()?;
        findings.extend(against_the_log(name, &results, 5.0));
        findings.extend(closed_form(name, &results, &experiment));
        findings.push(validity(name, &results));
    }
    Ok(findings)
}

pub fn independent_slow(depth: Depth) -> Result<Vec<Finding>, String> {
    let experiment = Experiment {
        server: "mode=slow&share=10%&slow=1s&service=1ms".into(),
        seconds: depth.seconds,
        ..Experiment::default()
    };
    let results = experiment.run()?;
    let mut findings = against_the_log("", &results, 5.0);
    findings.push(Finding::at_most("p50", 2.0, results.response_ms(0.5)));
    findings.push(Finding::near(
        "p95, closed form",
        1000.0,
        results.response_ms(0.95),
        0.01,
        0.0,
    ));
    Ok(findings)
}

pub fn exponential(depth: Depth) -> Result<Vec<Finding>, String> {
    let experiment = |poisson| Experiment {
        server: "mode=exponential&mean=1ms&servers=1".into(),
        rate: 500,
        seconds: depth.seconds,
        poisson,
        ..Experiment::default()
    };
    let running = [experiment(true).start()?, experiment(false).start()?];
    let mut p99 = Vec::new();
    let mut findings = Vec::new();
    for (running, name) in running.into_iter().zip(["Poisson: ", "even: "]) {
        let results = running.finish()?;
        findings.extend(against_the_log(
            name,
            &results,
            if depth.microseconds { 0.5 } else { 5.0 },
        ));
        p99.push(results.response_ms(0.99));
    }
    // In theory 9.21 against 5.78 ms. What one run shows lies around it; that the one is clearly above the other does not.
    findings.push(Finding {
        what: "p99, Poisson above even".into(),
        expected: "yes".into(),
        measured: format!("{:.2} against {:.2} ms", p99[0], p99[1]),
        holds: p99[0] > p99[1],
    });
    Ok(findings)
}
