//! Reads Fortio's JSON (`fortio load -json FILE`).

use super::{
    json::JsonNode,
    model::{Blur, Failures, LatencyStats, PrintedReport, ReportedSpan, Tool},
    moments,
    number::Rounding,
    samples,
};

const NS: f64 = 1e-9;
const BLUR: f64 = 0.25;
const GOOD: [&str; 4] = ["200", "SERVING", "OK", "1"];

#[must_use]
pub fn is(root: &JsonNode) -> bool {
    root.get("DurationHistogram").is_some() && root.get("ActualQPS").is_some()
}

#[must_use]
pub fn read(root: &JsonNode) -> Vec<PrintedReport> {
    let title = root
        .get("RunType")
        .and_then(JsonNode::text)
        .unwrap_or("run");
    let mut report = PrintedReport::new(Tool::Fortio, title, root.place);
    let figure = |key: &str, rounding, scale| root.get(key)?.figure(key, rounding, scale);
    report.all.rate = figure("ActualQPS", Rounding::Nearest, 1.0);
    report.threads = figure("NumThreads", Rounding::Exact, 1.0);
    report.began_s = root
        .get("StartTime")
        .and_then(JsonNode::text)
        .and_then(moments::rfc3339);
    report.span = figure("ActualDuration", Rounding::Exact, NS).map(|mut seconds| {
        seconds.unit = "ns";
        ReportedSpan::from_seconds(seconds)
    });
    let histogram = root.get("DurationHistogram");
    report.all.requests = histogram
        .and_then(|node| node.get("Count"))
        .and_then(|node| node.figure("Count", Rounding::Exact, 1.0));
    report.all.latency = histogram.map(|node| latency("DurationHistogram", node));
    let sizes = root.get("Sizes").and_then(|node| node.get("Avg"));
    report.all.mean_bytes = sizes.and_then(|node| node.figure("Sizes Avg", Rounding::Nearest, 1.0));
    let codes = root.get("RetCodes").into_iter().flat_map(JsonNode::members);
    let (mut failures, mut is_told) = (0.0, false);
    for (code, node) in codes {
        let Some(count) = node.figure(code, Rounding::Exact, 1.0) else {
            continue;
        };
        is_told = true;
        if !GOOD.contains(&code) {
            failures += count.value;
        }
        if code.len() == 3 && code.bytes().all(|b| b.is_ascii_digit()) {
            report.all.codes.push(count);
        } else if !GOOD.contains(&code) {
            report.all.errors.push(Failures {
                count,
                unanswered: Some(true),
            });
        }
    }
    let place = root.get("RetCodes").map_or(root.place, |node| node.place);
    report.all.failures = is_told.then(|| samples::whole_number("failures", failures, place));
    vec![report]
}

fn latency(name: &str, node: &JsonNode) -> LatencyStats {
    let figure = |key: &str| {
        let rounding = Rounding::Nearest;
        node.get(key)?
            .figure(&format!("{name} {key}"), rounding, 1.0)
    };
    let percentiles = node
        .get("Percentiles")
        .into_iter()
        .flat_map(JsonNode::items);
    let percentiles = percentiles.filter_map(|node| {
        let share = node
            .get("Percentile")?
            .figure("Percentile", Rounding::Exact, 1.0)?;
        let name = format!("{name} p{}", share.text);
        let value = node.get("Value")?.figure(&name, Rounding::Nearest, 1.0)?;
        (0.0..100.0)
            .contains(&share.value)
            .then_some((share.value / 100.0, value))
    });
    let mut percentiles: Vec<_> = percentiles.collect();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    LatencyStats {
        name: name.to_owned(),
        count: node
            .get("Count")
            .and_then(|node| node.figure("Count", Rounding::Exact, 1.0)),
        min: figure("Min"),
        mean: figure("Avg"),
        stdev: figure("StdDev"),
        max: figure("Max"),
        percentiles,
        blur: Blur {
            share: BLUR,
            amount_s: 1e-3,
            ..Blur::default()
        },
        ..LatencyStats::default()
    }
}
