//! Reads `latency`: a duration, percentiles, `lognormal`, `queue`, a mean with episodes, or a
//! recorded run.

use plan::mocks::{MockLatency, PercentileCurve, is_reference, parse_reference};

use crate::{
    document::{Entry, Node},
    findings::Findings,
    native::{
        mocks::Recorded,
        model,
        read::{self, entries},
    },
};

const FORMS: &str = "use `120ms`, `from RUN of \"LABEL\"`, `{ p50: 120ms, p99: 900ms }`, `{ lognormal: { p50: 120ms, p99: 900ms } }`, `{ queue: { capacity: 1000/s, workers: 8 } }` or `{ mean: 120ms, episodes: { every: 60s, for: 5s, latency: 3s } }`";

pub(super) fn read(
    node: &Node,
    recorded: Recorded<'_>,
    findings: &mut Findings,
) -> Option<MockLatency> {
    if !node.is_map() {
        let text = node.text();
        if is_reference(&text) {
            let reference = read::grammar(node, parse_reference(&text), findings)?;
            return recorded(&reference)
                .map_err(|reason| findings.problem(node.mark, reason))
                .ok();
        }
        return time(node, "latency", findings).map(MockLatency::Constant);
    }
    let keys: Vec<&str> = node.entries().iter().map(|entry| &*entry.key).collect();
    match keys.as_slice() {
        ["lognormal"] => {
            let inner = node.get("lognormal")?;
            let percentiles = percentiles(inner, findings)?;
            if percentiles.len() != 2 {
                let text =
                    "`lognormal` needs exactly two percentiles: `{ p50: 120ms, p99: 900ms }`";
                findings.problem(inner.mark, text);
                return None;
            }
            curve(inner, &percentiles, false, findings)
        }
        ["queue"] => queue(node.get("queue")?, findings),
        keys if keys.contains(&"mean") || keys.contains(&"episodes") => episodes(node, findings),
        keys if keys.iter().any(|key| share(key).is_some()) => {
            let percentiles = percentiles(node, findings)?;
            curve(node, &percentiles, true, findings)
        }
        _ => {
            findings.problem(node.mark, format!("this is not a latency: {FORMS}"));
            None
        }
    }
}

fn share(key: &str) -> Option<f64> {
    let number = key.strip_prefix('p')?;
    let is_plain = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let percent: f64 = number.parse().ok().filter(|_| is_plain)?;
    (percent > 0.0 && percent <= 99.999).then_some(percent / 100.0)
}

fn percentiles(node: &Node, findings: &mut Findings) -> Option<Vec<(f64, u64)>> {
    let mut found = Vec::new();
    let mut is_whole = true;
    for entry in read::map(node, "percentiles", findings) {
        match percentile(entry, findings) {
            Some(point) => found.push(point),
            None => is_whole = false,
        }
    }
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    is_whole.then_some(found)
}

fn percentile(entry: &Entry, findings: &mut Findings) -> Option<(f64, u64)> {
    let Some(share) = share(&entry.key) else {
        let text = format!(
            "`{}` is not a percentile: use p50, p95, p99.9, up to p99.999",
            entry.key
        );
        findings.problem(entry.key_mark, text);
        return None;
    };
    let ns = time(&entry.value, &entry.key, findings)?;
    if ns == 0 {
        findings.problem(
            entry.value.mark,
            "the time of a percentile must be greater than 0",
        );
        return None;
    }
    Some((share, ns))
}

fn curve(
    node: &Node,
    percentiles: &[(f64, u64)],
    is_cut: bool,
    findings: &mut Findings,
) -> Option<MockLatency> {
    let curve = PercentileCurve::through(percentiles, is_cut);
    if curve.is_none() {
        let text = match percentiles {
            [] | [_] => {
                "one percentile does not define a distribution: add another one, or use a single duration for a constant latency"
            }
            _ => "a higher percentile must not be shorter than a lower one",
        };
        findings.problem(node.mark, text);
    }
    curve.map(MockLatency::Curve)
}

fn queue(node: &Node, findings: &mut Findings) -> Option<MockLatency> {
    entries(node, "queue", model::QUEUE, findings);
    let workers = match node.get("workers") {
        Some(workers) => read::whole_u32(workers, "workers", 1, findings)?,
        None => 1,
    };
    let Some(capacity) = node.get("capacity") else {
        let help = "set how many requests the queue serves, for example `capacity: 1000/s`";
        read::missing(node, model::QUEUE, help, findings);
        return None;
    };
    let rate = read::rate(capacity, "capacity", findings)?;
    let per = u128::from(rate.per_ns) * u128::from(workers);
    let service = per.checked_div(u128::from(rate.count));
    match service.and_then(|ns| u64::try_from(ns).ok()) {
        Some(service_ns) if workers <= 100_000 => Some(MockLatency::Queue {
            workers,
            service_ns,
        }),
        _ => {
            let text = "a queue needs a capacity above 0 and at most 100,000 workers";
            findings.problem(node.mark, text);
            None
        }
    }
}

fn episodes(node: &Node, findings: &mut Findings) -> Option<MockLatency> {
    entries(node, "latency", model::EPISODIC, findings);
    let (Some(mean), Some(inner)) = (node.get("mean"), node.get("episodes")) else {
        let help = "`mean` and `episodes` must be used together: `{ mean: 120ms, episodes: { every: 60s, for: 5s, latency: 3s } }`";
        read::missing(node, model::EPISODIC, help, findings);
        return None;
    };
    entries(inner, "episodes", model::EPISODES, findings);
    let mean_ns = time(mean, "mean", findings);
    let [every, length, slow] =
        ["every", "for", "latency"].map(|key| of_episodes(inner, key, findings));
    let (mean_ns, every_ns, for_ns, slow_ns) = (mean_ns?, every?, length?, slow?);
    let latency = MockLatency::episodes(mean_ns, every_ns, for_ns, slow_ns);
    if latency.is_none() {
        let text = if for_ns >= every_ns {
            "an episode must be shorter than the distance between two episodes"
        } else {
            "the episodes alone exceed this mean: make them shorter, rarer or faster"
        };
        findings.problem(mean.mark, text);
    }
    latency
}

fn of_episodes(node: &Node, key: &str, findings: &mut Findings) -> Option<u64> {
    match node.get(key) {
        Some(value) => time(value, key, findings),
        None => {
            let help =
                format!("`episodes` has no `{key}`: use {{ every: 60s, for: 5s, latency: 3s }}");
            read::missing(node, model::EPISODES, help, findings);
            None
        }
    }
}

fn time(node: &Node, what: &str, findings: &mut Findings) -> Option<u64> {
    const DAY_NS: u64 = 86_400_000_000_000;
    if matches!(node.text().as_str(), "0" | "0s" | "0ms") {
        return Some(0);
    }
    let ns = read::duration(node, what, findings)?;
    if ns > DAY_NS {
        findings.problem(node.mark, format!("`{what}` must be at most a day"));
        return None;
    }
    Some(ns)
}
