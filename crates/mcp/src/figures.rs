//! Figures of a run for agents. Each number has a unit, a subject, an interval, a sample count, and
//! a level of trust.

use analysis::{
    figures::{Figure, Stats},
    summary::{Row, Summary},
};
use serde_json::{Value, json};

/// Minimum number of samples for a reliable p99. With fewer samples, it is only a hint.
const FEWEST_FOR_P99: u64 = 1_000;

/// How much a figure can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The figure is a result.
    Full,
    /// The true value is at least this large.
    LowerBound,
    /// There are too few samples, or the measurement is degraded.
    Hint,
    /// The figure must not be used.
    Untrusted,
}

impl Trust {
    fn name(self) -> &'static str {
        match self {
            Trust::Full => "full",
            Trust::LowerBound => "lower-bound",
            Trust::Hint => "hint",
            Trust::Untrusted => "none",
        }
    }
}

/// Returns the row of all requests, or the row with this label.
///
/// Fails with a one-line error that lists the existing labels.
pub(crate) fn row<'a>(summary: &'a Summary, label: Option<&str>) -> Result<&'a Row, String> {
    let Some(label) = label else {
        return Ok(&summary.all);
    };
    let rows = || summary.labels.iter().chain(&summary.iterations);
    let rows = || rows().chain(&summary.transactions);
    rows().find(|row| row.text == label).ok_or_else(|| {
        let names: Vec<&str> = rows().take(8).map(|row| row.text.as_str()).collect();
        format!(
            "no label `{label}` in this run: there are {}",
            names.join(", ")
        )
    })
}

/// Returns the figures of a row for a measurement that is not INVALID. If the measurement has no
/// verdict yet, as early in a run, all figures are hints.
pub(crate) fn figures(summary: &Summary, row: &Row) -> Vec<Value> {
    let stamp = summary.measurement.as_ref().map(|m| m.verdict.as_str());
    let trust = match stamp {
        Some("VALID") => Trust::Full,
        _ => Trust::Hint,
    };
    let mut all = times(summary, row, trust);
    all.push(match stamp {
        Some("DEGRADED") => lower_bound_rate(row),
        _ => rate(row, trust),
    });
    all.extend(error_share(row, trust));
    all
}

/// Returns the figures of an INVALID measurement, each marked as untrusted.
pub(crate) fn untrusted_figures(summary: &Summary, row: &Row, why: &str) -> Vec<Value> {
    let mut all = times(summary, row, Trust::Untrusted);
    all.push(rate(row, Trust::Untrusted));
    all.extend(error_share(row, Trust::Untrusted));
    for figure in &mut all {
        figure["why"] = why.into();
        // Intervals would suggest more certainty than there is.
        for interval in ["low", "high"] {
            figure[interval] = Value::Null;
        }
    }
    all
}

/// Returns whether the p99 of a row is only a hint because there are too few samples.
pub(crate) fn is_p99_a_hint(stats: &Stats) -> bool {
    stats.count < FEWEST_FOR_P99 || stats.p99.too_few
}

/// Returns the main time of a row and its name.
pub(crate) fn headline<'a>(summary: &Summary, row: &'a Row) -> Option<(&'a Stats, &'static str)> {
    let iteration = row.iteration.as_ref().map(|stats| (stats, "iteration"));
    let response = row.response.as_ref().map(|stats| (stats, "response"));
    let service = row.service.as_ref().map(|stats| (stats, "service"));
    match summary.headline().name() {
        "service" => service.or(response).or(iteration),
        _ => response.or(service).or(iteration),
    }
}

fn times(summary: &Summary, row: &Row, trust: Trust) -> Vec<Value> {
    let Some((stats, time)) = headline(summary, row) else {
        return Vec::new();
    };
    let subject = match time {
        "response" => "response time {} from the intended start",
        "service" => "service time {} from the first byte written",
        _ => "iteration time {} from the intended start",
    };
    let is_all = row.id == summary.all.id;
    let mut all = Vec::new();
    for (name, figure) in [
        ("p50", &stats.p50),
        ("p95", &stats.p95),
        ("p99", &stats.p99),
    ] {
        let own = if name == "p99" && is_p99_a_hint(stats) && trust == Trust::Full {
            Trust::Hint
        } else {
            trust
        };
        let mut value = time_figure(figure, own);
        value["of"] = subject.replace("{}", name).into();
        value["samples"] = stats.count.into();
        let label = if is_all { "all requests" } else { &row.text };
        let known = summary
            .confidence
            .iter()
            .find(|one| one.label == label && one.time == time && one.percentile == name);
        let thin = figure.thin.as_ref();
        let low = known
            .map(|one| one.low_ns)
            .or(thin.and_then(|thin| thin.low_ns));
        let high = known.map_or(thin.and_then(|thin| thin.high_ns), |one| one.high_ns);
        value["low"] = low.map_or(Value::Null, |ns| milliseconds(ns).into());
        value["high"] = high.map_or(Value::Null, |ns| milliseconds(ns).into());
        all.push(value);
    }
    all
}

fn time_figure(figure: &Figure, trust: Trust) -> Value {
    let thin = figure.thin.as_ref();
    let (ns, at_least_ns) = match thin {
        Some(thin) => (thin.ns, thin.at_least_ns),
        None => (figure.ns, figure.at_least_ns),
    };
    let own = match trust {
        Trust::Untrusted => trust,
        _ if thin.is_some() || figure.too_few => Trust::Hint,
        _ if ns.is_none() => Trust::LowerBound,
        _ => trust,
    };
    let mut value = json!({
        "value": ns.map(milliseconds),
        "unit": "ms",
        "of": "",
        "low": null,
        "high": null,
        "samples": 0,
        "trust": own.name(),
    });
    match (ns, at_least_ns) {
        (None, Some(ns)) => value["at_least"] = milliseconds(ns).into(),
        (None, None) if figure.no_answer => value["no_answer"] = true.into(),
        _ => {}
    }
    value
}

fn rate(row: &Row, trust: Trust) -> Value {
    json!({
        "value": rounded(row.per_second),
        "unit": "requests/s",
        "of": "rate of ended requests over the run",
        "low": null,
        "high": null,
        "samples": row.count,
        "trust": trust.name(),
    })
}

fn lower_bound_rate(row: &Row) -> Value {
    let mut value = rate(row, Trust::LowerBound);
    value["at_least"] = std::mem::take(&mut value["value"]);
    value
}

fn error_share(row: &Row, trust: Trust) -> Option<Value> {
    let share = row.error_share?;
    Some(json!({
        "value": rounded(share * 100.0),
        "unit": "%",
        "of": "requests that failed or had no response",
        "low": null,
        "high": null,
        "samples": row.count,
        "trust": trust.name(),
    }))
}

/// Converts nanoseconds to milliseconds, rounded to whole microseconds.
pub(crate) fn milliseconds(ns: u64) -> f64 {
    (ns as f64 / 1e3).round() / 1e3
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
