//! Reads the file written by Artillery's option `-o`.

use super::{
    artillery,
    figure::{PrintedFigure, Range},
    json::{JsonNode, JsonValue},
    model::{LatencyStats, PrintedReport, ReportedSpan, Tool},
    number::Rounding,
};

#[must_use]
pub fn is(root: &JsonNode) -> bool {
    let aggregate = root.get("aggregate");
    aggregate.is_some_and(|aggregate| aggregate.get("counters").is_some())
}

#[must_use]
pub fn read(root: &JsonNode) -> Vec<PrintedReport> {
    let Some(aggregate) = root.get("aggregate") else {
        return Vec::new();
    };
    let mut report = block(aggregate, "aggregate");
    let periods = root
        .get("intermediate")
        .into_iter()
        .flat_map(JsonNode::items);
    for node in periods {
        let mut period = block(node, "intermediate");
        period.is_period = true;
        // Artillery gives the aggregate the name of the last period.
        period.began_s = moment_s(node, "period").or(period.began_s);
        if !period.counters.is_empty() {
            report.periods.push(period);
        }
    }
    vec![report]
}

fn block(node: &JsonNode, title: &str) -> PrintedReport {
    let mut report = PrintedReport::new(Tool::Artillery, title, node.place);
    report.span = span(node);
    report.began_s = moment_s(node, "firstMetricAt");
    report.ended_s = moment_s(node, "lastMetricAt");
    for (name, value) in members(node, "counters") {
        if let Some(figure) = value.figure(name, Rounding::Exact, 1.0) {
            artillery::count(&mut report, name, figure);
        }
    }
    for (name, value) in members(node, "rates") {
        if let Some(figure) = value.figure(name, Rounding::Nearest, 1.0) {
            artillery::count(&mut report, name, figure);
        }
    }
    for (name, value) in members(node, "summaries") {
        artillery::histogram(&mut report, histogram(name, value));
    }
    report.again = copies(node);
    report
}

fn members<'a>(node: &'a JsonNode, key: &str) -> impl Iterator<Item = (&'a str, &'a JsonNode)> {
    node.get(key).into_iter().flat_map(JsonNode::members)
}

fn histogram(name: &str, node: &JsonNode) -> LatencyStats {
    let mut latency = LatencyStats {
        name: name.to_owned(),
        ..LatencyStats::default()
    };
    for (key, value) in node.members() {
        let label = format!("{name} {key}");
        if key == "count" {
            latency.count = value.figure(&label, Rounding::Exact, 1.0);
        } else if let Some(figure) = time(&label, value) {
            if let Some(share) = artillery::percentile(key) {
                latency.percentiles.push((share, figure));
            } else if let Some(place) = artillery::statistic(&mut latency, key) {
                *place = Some(figure);
            }
        }
    }
    latency
}

fn time(label: &str, node: &JsonNode) -> Option<PrintedFigure> {
    let mut figure = node.figure(label, Rounding::To(0.1), artillery::MS)?;
    if label.contains("_time") || label.contains("session_length") {
        figure.unit = "ms";
    }
    Some(figure)
}

fn moment_s(node: &JsonNode, key: &str) -> Option<f64> {
    let text = match &node.get(key)?.value {
        JsonValue::Number(text) | JsonValue::Text(text) => text,
        _ => return None,
    };
    let s = text.parse::<f64>().ok()? * artillery::MS;
    (s.is_finite() && s > 0.0).then_some(s)
}

fn span(node: &JsonNode) -> Option<ReportedSpan> {
    let moment = |key: &str| match &node.get(key)?.value {
        JsonValue::Number(text) => text.parse::<f64>().ok().map(|ms| ms * artillery::MS),
        _ => None,
    };
    let (first, last) = (moment("firstMetricAt")?, moment("lastMetricAt")?);
    let seconds = last - first;
    let is_time = first > 0.0 && seconds.is_finite() && seconds >= 0.0;
    is_time.then(|| {
        artillery::span(PrintedFigure {
            name: "lastMetricAt - firstMetricAt".into(),
            text: format!("{seconds:.3}s"),
            unit: "",
            place: node.get("lastMetricAt").map_or(node.place, |n| n.place),
            value: seconds,
            range: Range {
                low: (seconds - 0.001).max(0.0),
                high: seconds + 0.001,
            },
        })
    })
}

/// Pairs the figures in `summaries` with their copies in `histograms`, which must be equal.
fn copies(node: &JsonNode) -> Vec<(PrintedFigure, PrintedFigure)> {
    let mut pairs = Vec::new();
    for (name, copy) in members(node, "histograms") {
        let Some(first) = node.get("summaries").and_then(|all| all.get(name)) else {
            continue;
        };
        for (key, value) in copy.members() {
            let label = format!("{name} {key}");
            let figure = |node: &JsonNode| time(&label, node);
            if let (Some(a), Some(b)) = (first.get(key).and_then(figure), figure(value)) {
                pairs.push((a, b));
            }
        }
    }
    pairs
}
