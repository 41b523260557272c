//! Compares the reported latency with the server's behaviour: stalls, connection limits, slow
//! requests and queues.

use super::{
    super::{
        Assertion, Depth,
        experiment::{Experiment, Results, Served},
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

/// Compares percentiles with the server's log. The tolerance includes the lateness of the machine.
fn against_the_log(name: &str, results: &Results, depth: Depth) -> Vec<Assertion> {
    let slack_ms: f64 = if depth.microseconds { 5.0 } else { 20.0 };
    within_of_the_log(name, results, results.worst_wake_ms.max(slack_ms))
}

fn within_of_the_log(name: &str, results: &Results, slack_ms: f64) -> Vec<Assertion> {
    let truth = results.true_responses();
    let mut findings = vec![Assertion::same(
        format!("{name}answers"),
        truth.len(),
        results.summary.requests.ok,
    )];
    for (q, percentile) in PERCENTILES {
        let measured = results.response_ms(q);
        if measured.is_nan() {
            continue;
        }
        let wanted = quantile(&truth, q) as f64 / 1e6;
        findings.push(Assertion::near(
            format!("{name}{percentile}"),
            wanted,
            measured,
            0.02,
            slack_ms,
        ));
    }
    let mean = truth.iter().map(|ns| *ns as f64).sum::<f64>() / truth.len().max(1) as f64 / 1e6;
    findings.push(Assertion::near(
        format!("{name}mean"),
        mean,
        results.mean_ms(),
        0.02,
        slack_ms,
    ));
    findings
}

pub fn stall_of_one_second(depth: Depth) -> Result<Vec<Assertion>, String> {
    stall(depth, 1.0)
}

pub fn stall_of_three_seconds(depth: Depth) -> Result<Vec<Assertion>, String> {
    stall(depth, 3.0)
}

fn period(depth: Depth) -> f64 {
    if depth.seconds >= 20 {
        10.0
    } else {
        depth.seconds as f64 * 0.8
    }
}

fn stall(depth: Depth, seconds: f64) -> Result<Vec<Assertion>, String> {
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
    let mut findings = against_the_log("", &results, depth);
    findings.extend(closed_form("", &results, &experiment));
    Ok(findings)
}

/// Compares percentiles with the formula Quantile(q) = S − (1−q) × D / n × (1 − λ / μ), for n
/// stalls of length S within D seconds, arrival rate λ and drain rate μ. Without a limit on the
/// drain rate, the last factor is 1. Other delays of the server widen the bounds.
fn closed_form(name: &str, results: &Results, experiment: &Experiment) -> Vec<Assertion> {
    let zero = results.run.manifest.start.monotonic_ns;
    let end = zero + experiment.seconds * 1_000_000_000;
    let stalls = &results.truth.stalls;
    let whole = |(begin, stop): &(u64, u64)| *begin >= zero && *stop <= end;
    // For a stall that is cut off by the end, there is no closed form.
    if stalls.iter().all(|stall| !whole(stall))
        || stalls.iter().any(|stall| !whole(stall) && stall.0 < end)
    {
        return Vec::new();
    }
    let stalls: Vec<(u64, u64)> = stalls
        .iter()
        .filter(|stall| whole(stall))
        .copied()
        .collect();
    let number = stalls.len() as f64;
    let length = stalls
        .iter()
        .map(|(b, e)| (e - b) as f64 / 1e6)
        .sum::<f64>()
        / number;
    let duration_ms = experiment.seconds as f64 * 1e3;
    let backlog = experiment
        .connections
        .map(|_| Backlog::after(&stalls, &results.served));
    let load = backlog
        .as_ref()
        .map_or(0.0, |backlog| experiment.rate as f64 / backlog.per_second);
    let ends = backlog.as_ref().map_or_else(
        || stalls.iter().map(|stall| stall.1).collect(),
        |backlog| backlog.ends.clone(),
    );
    let hold_up = backlog.map_or(0.0, |backlog| backlog.longest_gap_ms);
    let disturbed = Disturbed::outside(&stalls, &ends, &results.served);
    let formula = |q: f64| length - (1.0 - q) * duration_ms / number * (1.0 - load);
    let within = |what: String, low: f64, high: f64, measured: f64| {
        let slack = |ms: f64| (ms * 0.05).max(5.0).max(results.worst_wake_ms);
        let (low, high) = (low - slack(low) - hold_up, high + slack(high) + hold_up);
        Assertion::between(what, low, high, measured).excused(results.machine_was_late)
    };
    // Without a limit, the mean wait is S² / 2 per stall and second of arrivals.
    let mean = length * length / 2.0 * number / duration_ms + results.service_s() * 1e3;
    let of_all = within(
        format!("{name}mean, closed form"),
        mean,
        mean + disturbed.mean_ms,
        results.mean_ms(),
    );
    let uncapped = experiment.connections.is_none().then_some(of_all);
    let wanted = [(0.95, "p95"), (0.99, "p99"), (0.999, "p99.9")]
        .into_iter()
        .filter(|(q, _)| formula(*q) > 10.0 && !results.response_ms(*q).is_nan());
    let percentiles = wanted.map(|(q, p)| {
        within(
            format!("{name}{p}, closed form"),
            formula(q),
            formula((q + disturbed.share).min(1.0)),
            results.response_ms(q),
        )
    });
    percentiles.chain(uncapped).collect()
}

const DISTURBED_NS: u64 = 5_000_000;

/// Rate at which the server worked off its backlog after stalls, according to its log.
struct Backlog {
    per_second: f64,
    ends: Vec<u64>,
    longest_gap_ms: f64,
}

impl Backlog {
    fn after(stalls: &[(u64, u64)], served: &[Served]) -> Backlog {
        let mut releases: Vec<&Served> = served.iter().collect();
        releases.sort_unstable_by_key(|one| one.released_ns);
        let (mut ends, mut answers, mut took_ns, mut longest_gap_ns) = (Vec::new(), 0, 0, 0);
        for (_, stop) in stalls {
            let mut last = *stop;
            for one in releases.iter().filter(|one| one.released_ns > *stop) {
                if one.released_ns - one.intended_ns < DISTURBED_NS {
                    break;
                }
                answers += 1;
                longest_gap_ns = longest_gap_ns.max(one.released_ns - last);
                last = one.released_ns;
            }
            took_ns += last - stop;
            ends.push(last);
        }
        Backlog {
            per_second: f64::from(answers) * 1e9 / (took_ns.max(1)) as f64,
            ends,
            longest_gap_ms: longest_gap_ns as f64 / 1e6,
        }
    }
}

struct Disturbed {
    share: f64,
    mean_ms: f64,
}

impl Disturbed {
    fn outside(stalls: &[(u64, u64)], ends: &[u64], served: &[Served]) -> Disturbed {
        let met = |one: &Served| {
            let mut spans = stalls.iter().zip(ends);
            spans.any(|((begin, _), end)| one.released_ns >= *begin && one.intended_ns <= *end)
        };
        let waited = |one: &Served| one.released_ns.saturating_sub(one.intended_ns);
        let disturbed: Vec<u64> = served
            .iter()
            .filter(|one| waited(one) > DISTURBED_NS && !met(one))
            .map(waited)
            .collect();
        let all = served.len().max(1) as f64;
        Disturbed {
            share: disturbed.len() as f64 / all,
            mean_ms: disturbed.iter().map(|ns| *ns as f64).sum::<f64>() / all / 1e6,
        }
    }
}

pub fn caps(depth: Depth) -> Result<Vec<Assertion>, String> {
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
    let running =
        [(Some(2), "2: "), (Some(10), "10: "), (None, "any: ")].map(|(connections, name)| {
            let experiment = experiment(connections);
            (experiment.start(), experiment, name)
        });
    let mut findings = Vec::new();
    for (running, experiment, name) in running {
        let results = running?.finish()?;
        findings.extend(against_the_log(name, &results, depth));
        findings.extend(closed_form(name, &results, &experiment));
        findings.push(validity(name, &results));
    }
    Ok(findings)
}

pub fn independent_slow(depth: Depth) -> Result<Vec<Assertion>, String> {
    let experiment = Experiment {
        server: "mode=slow&share=10%&slow=1s&service=1ms".into(),
        seconds: depth.seconds,
        ..Experiment::default()
    };
    let results = experiment.run()?;
    let mut findings = against_the_log("", &results, depth);
    // Disturbances cost milliseconds, whereas slow requests that delay others would cost hundreds.
    let undisturbed_ms = if depth.microseconds { 2.0 } else { 10.0 };
    findings.push(Assertion::at_most(
        "p50",
        undisturbed_ms + results.worst_wake_ms,
        results.response_ms(0.5),
    ));
    findings.push(Assertion::near(
        "p95, closed form",
        1000.0,
        results.response_ms(0.95),
        0.01,
        results.worst_wake_ms,
    ));
    Ok(findings)
}

pub fn exponential(depth: Depth) -> Result<Vec<Assertion>, String> {
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
        findings.extend(if depth.microseconds {
            within_of_the_log(name, &results, 0.5)
        } else {
            against_the_log(name, &results, depth)
        });
        p99.push(results.response_ms(0.99));
    }
    // In theory, the values are 9.21 and 5.78 ms. A single run varies, but their order must hold.
    findings.push(Assertion {
        what: "p99, Poisson above even".into(),
        expected: "yes".into(),
        measured: format!("{:.2} against {:.2} ms", p99[0], p99[1]),
        holds: p99[0] > p99[1],
    });
    Ok(findings)
}
