//! Reads Vegeta's results (`vegeta encode`) and report (`vegeta report -type=json`).

use super::{
    figure::Position,
    json::{self, JsonNode, JsonValue},
    model::{Blur, Failures, LatencyStats, PrintedReport, ReportedSpan, Tool},
    moments,
    number::Rounding,
    samples::{self, RequestSample},
};

const NS: f64 = 1e-9;
const BLUR: f64 = 0.02;

#[must_use]
pub fn is(root: &JsonNode) -> bool {
    root.get("latencies").is_some() && root.get("requests").is_some()
}

fn is_result(node: &JsonNode) -> bool {
    ["code", "timestamp", "latency"]
        .iter()
        .all(|key| node.get(key).is_some())
}

#[must_use]
pub fn are_results(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|line| json::parse(line).is_ok_and(|node| is_result(&node)))
}

#[must_use]
pub fn read(root: &JsonNode) -> Vec<PrintedReport> {
    let mut report = PrintedReport::new(Tool::Vegeta, "report", root.place);
    let figure = |key: &str, rounding, scale| root.get(key)?.figure(key, rounding, scale);
    report.all.requests = figure("requests", Rounding::Exact, 1.0);
    report.all.rate = figure("rate", Rounding::Nearest, 1.0);
    report.began_s = moment(root, "earliest");
    report.ended_s = moment(root, "end");
    report.span = figure("duration", Rounding::Exact, NS).map(|mut seconds| {
        seconds.unit = "ns";
        ReportedSpan::from_seconds(seconds)
    });
    let bytes = |key: &str| {
        let node = root.get("bytes_in")?.get(key)?;
        node.figure(&format!("bytes_in {key}"), Rounding::Nearest, 1.0)
    };
    report.bytes = bytes("total");
    report.all.mean_bytes = bytes("mean");
    let codes = root
        .get("status_codes")
        .into_iter()
        .flat_map(JsonNode::members);
    let codes: Vec<_> = codes
        .filter_map(|(code, node)| node.figure(code, Rounding::Exact, 1.0))
        .collect();
    let is_bad = |code: &str| {
        code.parse::<u16>()
            .map_or(true, |code| !(200..400).contains(&code))
    };
    let place = root
        .get("status_codes")
        .map_or(root.place, |node| node.place);
    let failures: f64 = codes
        .iter()
        .filter(|code| is_bad(&code.name))
        .map(|code| code.value)
        .sum();
    if !codes.is_empty() {
        report.all.failures = Some(samples::whole_number("failures", failures, place));
    }
    let (none, codes): (Vec<_>, Vec<_>) = codes.into_iter().partition(|code| code.name == "0");
    report.all.codes = codes;
    report.all.errors = none
        .into_iter()
        .map(|count| Failures {
            count: super::PrintedFigure {
                name: "no answer".to_owned(),
                ..count
            },
            unanswered: Some(true),
        })
        .collect();
    report.all.latency = root.get("latencies").map(|node| {
        let mut latency = latency(node);
        latency.count.clone_from(&report.all.requests);
        latency
    });
    vec![report]
}

fn latency(node: &JsonNode) -> LatencyStats {
    let figure = |key: &str| {
        let mut figure = node
            .get(key)?
            .figure(&format!("latency {key}"), Rounding::Exact, NS)?;
        figure.unit = "ns";
        Some(figure)
    };
    let percentiles = [("50th", 0.5), ("90th", 0.9), ("95th", 0.95), ("99th", 0.99)];
    let percentiles = percentiles.into_iter();
    LatencyStats {
        name: "latency".to_owned(),
        min: figure("min"),
        mean: figure("mean"),
        max: figure("max"),
        percentiles: percentiles
            .filter_map(|(key, share)| Some((share, figure(key)?)))
            .collect(),
        blur: Blur {
            share: BLUR,
            ..Blur::default()
        },
        ..LatencyStats::default()
    }
}

fn moment(root: &JsonNode, key: &str) -> Option<f64> {
    moments::rfc3339(root.get(key)?.text()?)
}

#[must_use]
pub fn read_results(text: &str) -> Vec<PrintedReport> {
    let (mut all, mut torn) = (Vec::new(), 0u64);
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match json::parse(line)
            .ok()
            .as_ref()
            .and_then(|node| sample(node, i + 1))
        {
            Some(sample) => all.push(sample),
            None => torn += 1,
        }
    }
    let mut report = samples::report(Tool::Vegeta, "results", &all);
    if let Some(report) = report.as_mut().filter(|_| torn > 0) {
        report.remarks.push(format!(
            "lines that are not results, excluded from all figures: {torn}"
        ));
    }
    report.into_iter().collect()
}

fn sample(node: &JsonNode, line: usize) -> Option<RequestSample> {
    let number = |key: &str| match &node.get(key)?.value {
        JsonValue::Number(text) => text.parse::<f64>().ok().filter(|n| *n >= 0.0),
        _ => None,
    };
    let text = |key: &str| node.get(key).and_then(JsonNode::text).unwrap_or_default();
    let code = number("code")? as u16;
    let error = text("error");
    let reason = match error {
        "" if (200..400).contains(&code) => None,
        "" => Some(format!("status {code}")),
        error if code == 0 => Some(error.rsplit(": ").next().unwrap_or(error).to_owned()),
        _ => Some(format!("status {code}")),
    };
    let url = text("url");
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.find('/').map_or("/", |at| &path[at..]);
    Some(RequestSample {
        label: format!("{} {path}", text("method")).trim().to_owned(),
        began_s: moments::rfc3339(text("timestamp")),
        took_s: number("latency")? * NS,
        code: (code > 0).then_some(code),
        failed: reason,
        bytes: number("bytes_in"),
        place: Position { line, column: 1 },
    })
}
