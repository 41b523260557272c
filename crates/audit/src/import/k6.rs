//! Reads summaries of k6: `handleSummary`, `--summary-export`, and the format of k6 2. k6 lists an
//! endpoint only if it has thresholds.

use super::{
    artillery::MS,
    json::{JsonNode, JsonValue},
    model::{Cover, Failures, LatencyStats, PrintedReport, PrintedRow, ReportedSpan, Tool},
    number::Rounding,
};

const TIME: &str = "http_req_duration";

#[must_use]
pub fn is(root: &JsonNode) -> bool {
    let known = [TIME, "http_reqs", "iteration_duration", "vus"];
    metrics(root).iter().any(|(name, _)| known.contains(name))
}

#[must_use]
pub fn read(root: &JsonNode) -> Vec<PrintedReport> {
    let metrics = metrics(root);
    let mut report = PrintedReport::new(Tool::K6, "summary", root.place);
    report.cover = Cover::Some;
    report.all = row(&metrics, "", "");
    report.span = span(root);
    let value = |name: &str, key: &str| find(&metrics, name)?.get(key);
    report.bytes = value("data_received", "count")
        .and_then(|node| node.figure("data_received", Rounding::Exact, 1.0));
    report.sessions.completed = value("iterations", "count")
        .and_then(|node| node.figure("iterations", Rounding::Exact, 1.0));
    report.sessions.length = find(&metrics, "iteration_duration").map(|values| {
        let mut length = latency("iteration_duration", values);
        length.count = length.count.or_else(|| report.sessions.completed.clone());
        length
    });
    let parts = metrics
        .iter()
        .filter(|(name, _)| name.starts_with("http_req_") && *name != TIME && !name.contains('{'));
    report.all.others = parts
        .filter(|(_, values)| values.get("avg").is_some())
        .map(|(name, values)| latency(name, values))
        .collect();
    for (name, _) in &metrics {
        let tags = name
            .strip_prefix(TIME)
            .and_then(|rest| rest.strip_prefix('{'));
        let Some(tags) = tags.and_then(|rest| rest.strip_suffix('}')) else {
            continue;
        };
        if tags == "expected_response:true" {
            // k6's submetric of successful requests is not an endpoint.
            let values = find(&metrics, name).map(|values| latency(name, values));
            report.all.others.extend(values);
            continue;
        }
        let label = tags.strip_prefix("name:").unwrap_or(tags);
        report
            .rows
            .push(row(&metrics, &format!("{{{tags}}}"), label));
    }
    report.remarks.push(
        "k6's summary does not contain the date of the test, and includes only endpoints that have thresholds"
            .to_owned(),
    );
    vec![report]
}

fn metrics(root: &JsonNode) -> Vec<(&str, &JsonNode)> {
    let of = |name, node| (name, JsonNode::get(node, "values").unwrap_or(node));
    if let Some(metrics) = root.get("metrics") {
        return metrics
            .members()
            .map(|(name, node)| of(name, node))
            .collect();
    }
    let listed = root
        .get("results")
        .and_then(|results| results.get("metrics"));
    let listed = listed.into_iter().flat_map(JsonNode::items);
    listed
        .filter_map(|node| Some(of(node.get("name")?.text()?, node)))
        .collect()
}

fn find<'a>(metrics: &[(&str, &'a JsonNode)], name: &str) -> Option<&'a JsonNode> {
    let mut metrics = metrics.iter();
    metrics
        .find(|(known, _)| *known == name)
        .map(|known| known.1)
}

fn row(metrics: &[(&str, &JsonNode)], tags: &str, label: &str) -> PrintedRow {
    let of = |name: &str| find(metrics, &format!("{name}{tags}"));
    let place = of(TIME).map_or_else(Default::default, |node| node.place);
    let mut row = PrintedRow::new(label, place);
    let requests = of("http_reqs");
    let figure = |key: &str, rounding| {
        let node = requests?.get(key)?;
        node.figure(&format!("http_reqs{tags} {key}"), rounding, 1.0)
    };
    row.requests = figure("count", Rounding::Exact);
    row.rate = figure("rate", Rounding::Nearest);
    // In k6's failure rate, "passes" counts failed requests.
    let failed = of("http_req_failed");
    let failures = failed.and_then(|failed| failed.get("passes"));
    row.failures = failures
        .and_then(|node| node.figure(&format!("http_req_failed{tags}"), Rounding::Exact, 1.0));
    let share = failed.and_then(|failed| failed.get("rate").or_else(|| failed.get("value")));
    row.failed_share = share.and_then(|node| {
        node.figure(
            &format!("http_req_failed{tags} rate"),
            Rounding::Nearest,
            1.0,
        )
    });
    row.latency = of(TIME).map(|values| {
        let mut latency = latency(&format!("{TIME}{tags}"), values);
        latency.count = latency.count.or_else(|| row.requests.clone());
        latency
    });
    if let Some(count) = row.failures.clone().filter(|count| count.value > 0.0) {
        row.errors.push(Failures {
            count,
            unanswered: None,
        });
    }
    row
}

fn latency(name: &str, values: &JsonNode) -> LatencyStats {
    let mut latency = LatencyStats {
        name: name.to_owned(),
        ..LatencyStats::default()
    };
    for (key, node) in values.members() {
        let label = format!("{name} {key}");
        if key == "count" {
            latency.count = node.figure(&label, Rounding::Exact, 1.0);
            continue;
        }
        let Some(mut figure) = node.figure(&label, Rounding::Nearest, MS) else {
            continue;
        };
        figure.unit = "ms";
        match key {
            "avg" => latency.mean = Some(figure),
            "min" => latency.min = Some(figure),
            "max" => latency.max = Some(figure),
            "med" => latency.percentiles.push((0.5, figure)),
            key => {
                let share = key.strip_prefix("p(").and_then(|key| key.strip_suffix(')'));
                let share = share.and_then(|share| share.parse::<f64>().ok());
                if let Some(share) = share.filter(|share| (0.0..100.0).contains(share)) {
                    latency.percentiles.push((share / 100.0, figure));
                }
            }
        }
    }
    latency.percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    latency.percentiles.dedup_by(|a, b| a.0 == b.0);
    latency
}

fn span(root: &JsonNode) -> Option<ReportedSpan> {
    let ms = root
        .get("state")
        .and_then(|state| state.get("testRunDurationMs"));
    let seconds = root.get("config").and_then(|config| config.get("duration"));
    let figure = match (ms, seconds) {
        (Some(node), _) => node.figure("testRunDurationMs", Rounding::Nearest, MS),
        (None, Some(node)) if matches!(node.value, JsonValue::Number(_)) => {
            node.figure("duration", Rounding::Nearest, 1.0)
        }
        _ => None,
    }?;
    Some(ReportedSpan {
        seconds: figure,
        // The graceful stop and `teardown` add this time.
        idle_s: 0.5,
        least_s: 0.0,
        rate_is: None,
    })
}
