//! Reads Loadline's own `summary.json`.

use super::{
    figure::{PrintedFigure, Range},
    json::{JsonNode, JsonValue},
    model::{
        Cover, InFlight, LatencyStats, PrintedReport, PrintedRow, ReportedSpan, SumRelation, Tool,
        Total::{self, AtLeast, AtMost, Sum},
    },
    number::Rounding,
};

const NS: f64 = 1e-9;
const SAMPLED_EVERY_S: f64 = 0.01;
const TIMES: [&str; 3] = ["service", "response", "iteration"];

#[must_use]
pub fn is(root: &JsonNode) -> bool {
    ["schema", "run", "requests", "all", "labels"]
        .iter()
        .all(|key| root.get(key).is_some())
}

#[must_use]
pub fn read(root: &JsonNode) -> Vec<PrintedReport> {
    let mut report = PrintedReport::new(Tool::Loadline, "summary", root.place);
    let span = root.get("run").and_then(|run| run.get("elapsed_ns"));
    report.span = span
        .and_then(|node| time("elapsed", node))
        .map(ReportedSpan::from_seconds);
    // Auxiliary times do not measure requests, so totals exclude them.
    let is_request = |row: &&JsonNode| row.get("group").and_then(JsonNode::text) != Some("custom");
    let all_labels = || root.get("labels").into_iter().flat_map(JsonNode::items);
    let labels = || all_labels().filter(is_request);
    // Rows are compared with each other, so all of them must use the same type of time.
    let all = root.get("all");
    let has = |kind: &&str| all.is_some_and(|all| is_measured(all, kind));
    let first = TIMES.into_iter().find(has).unwrap_or(TIMES[0]);
    if let Some(all) = all {
        let without_status = labels().filter(|label| !has_status(label));
        let counts = without_status.filter_map(|label| {
            let name = label
                .get("text")
                .and_then(JsonNode::text)
                .unwrap_or_default();
            count(&format!("{name} count"), label.get("count"))
        });
        report.all = row(all, first, counts.collect(), &mut report.ledgers);
    }
    report.rows = labels()
        .map(|label| row(label, first, Vec::new(), &mut report.ledgers))
        .collect();
    report.cover = Cover::All;
    ledgers(root, &mut report.ledgers);
    report.in_flight = in_flight(root);
    let mut reports = Vec::new();
    for name in ["iterations", "transactions"] {
        let rows = root.get(name).into_iter().flat_map(JsonNode::items);
        let rows: Vec<PrintedRow> = rows
            .map(|node| row(node, "iteration", Vec::new(), &mut report.ledgers))
            .collect();
        if !rows.is_empty() {
            let mut other = PrintedReport::new(Tool::Loadline, name, root.place);
            other.span.clone_from(&report.span);
            other.rows = rows;
            reports.push(other);
        }
    }
    reports.insert(0, report);
    reports
}

fn count(name: &str, node: Option<&JsonNode>) -> Option<PrintedFigure> {
    node?.figure(name, Rounding::Exact, 1.0)
}

fn time(name: &str, node: &JsonNode) -> Option<PrintedFigure> {
    let mut figure = node
        .get("ns")
        .unwrap_or(node)
        .figure(name, Rounding::Exact, NS)?;
    figure.unit = "ns";
    Some(figure)
}

fn has_status(label: &JsonNode) -> bool {
    label.get("group").and_then(JsonNode::text) == Some("request")
}

fn is_measured(row: &JsonNode, kind: &str) -> bool {
    row.get(kind).and_then(|time| time.get("count")).is_some()
}

fn row(
    node: &JsonNode,
    first: &str,
    without_status: Vec<PrintedFigure>,
    ledgers: &mut Vec<SumRelation>,
) -> PrintedRow {
    let name = node
        .get("text")
        .and_then(JsonNode::text)
        .unwrap_or_default();
    let label = |what: &str| format!("{name} {what}");
    let mut row = PrintedRow::new(name, node.place);
    row.requests = count(&label("count"), node.get("count"));
    row.failures = count(&label("errors"), node.get("errors"));
    row.failed_share = share(&label("error_share"), node.get("error_share"));
    row.rate = precise(&label("per_second"), node.get("per_second"));
    row.latency = latency_of(node, name, first);
    let others = TIMES.into_iter().filter(|kind| *kind != first);
    row.others = others
        .filter_map(|kind| latency_of(node, name, kind))
        .collect();
    let counts = |key: &str| -> Vec<PrintedFigure> {
        let members = node.get(key).into_iter().flat_map(JsonNode::members);
        members
            .filter_map(|(member, value)| count(&label(member), Some(value)))
            .collect()
    };
    row.codes = counts("codes");
    if let (Some(total), false) = (&row.requests, row.codes.is_empty()) {
        let mut ends = row.codes.clone();
        // An incomplete response has a status but counts as unanswered.
        ends.extend(counts("none"));
        ends.extend(without_status);
        ledgers.push(ledger(total, ends, AtMost));
        ledgers.push(ledger(total, row.codes.clone(), AtLeast));
    }
    if let Some(total) = &row.failures {
        ledgers.push(ledger(total, counts("none"), AtLeast));
    }
    row
}

fn latency_of(row: &JsonNode, name: &str, kind: &str) -> Option<LatencyStats> {
    latency(&format!("{name} {kind}"), row.get(kind)?)
}

fn latency(name: &str, node: &JsonNode) -> Option<LatencyStats> {
    let mut latency = LatencyStats {
        name: name.to_owned(),
        count: count(&format!("{name} count"), node.get("count")),
        ..LatencyStats::default()
    };
    let figure = |key: &str| time(&format!("{name} {key}"), node.get(key)?);
    latency.min = figure("min_ns");
    latency.mean =
        precise(&format!("{name} mean_ns"), node.get("mean_ns")).map(|mean| PrintedFigure {
            value: mean.value * NS,
            range: mean.range.times(Range::exactly(NS)),
            unit: "ns",
            ..mean
        });
    latency.max = figure("max");
    let shares = [
        ("p50", 0.5),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p99", 0.99),
        ("p999", 0.999),
    ];
    for (key, share) in shares {
        latency.percentiles.extend(figure(key).map(|f| (share, f)));
    }
    // Values have three significant digits.
    latency.blur.share = 0.002;
    // Percentiles include unanswered requests, but the mean does not.
    let unanswered = count("unanswered", node.get("unanswered"))?;
    if unanswered.value > 0.0 {
        latency.mean = None;
        latency.min = None;
    }
    Some(latency)
}

fn precise(name: &str, node: Option<&JsonNode>) -> Option<PrintedFigure> {
    let figure = node?.figure(name, Rounding::Exact, 1.0)?;
    Some(PrintedFigure {
        range: figure.range.widened(1e-9, 0.0),
        text: shorter(&figure),
        ..figure
    })
}

fn share(name: &str, node: Option<&JsonNode>) -> Option<PrintedFigure> {
    precise(name, node)
}

fn shorter(figure: &PrintedFigure) -> String {
    record::units::decimal(figure.value)
}

fn ledgers(root: &JsonNode, ledgers: &mut Vec<SumRelation>) {
    let mut sum = |of: &str, total: &str, parts: &[&str]| {
        let Some(node) = root.get(of) else { return };
        let figure = |key: &str| {
            let value = node
                .get(key)
                .filter(|n| n.value != JsonValue::Word("null"))?;
            count(&format!("{of} {key}"), Some(value))
        };
        let Some(total) = figure(total) else { return };
        let parts = parts.iter().filter_map(|part| figure(part)).collect();
        ledgers.push(ledger(&total, parts, Sum));
    };
    sum(
        "arrivals",
        "planned",
        &["started", "skipped", "unsent", "unknown"],
    );
    sum(
        "arrivals",
        "started",
        &["completed", "failed", "abandoned", "in_flight"],
    );
    sum("requests", "issued", &["ok", "failed", "none", "in_flight"]);
    let classes = root.get("requests").and_then(|r| r.get("none_by_class"));
    let none = root.get("requests").and_then(|r| r.get("none"));
    if let (Some(classes), Some(total)) = (classes, count("requests none", none)) {
        let parts = classes
            .members()
            .filter_map(|(name, n)| count(name, Some(n)));
        ledgers.push(ledger(&total, parts.collect(), Sum));
    }
}

fn ledger(total: &PrintedFigure, parts: Vec<PrintedFigure>, is: Total) -> SumRelation {
    SumRelation {
        total: total.clone(),
        parts,
        is,
    }
}

/// Returns the mean number of requests in flight. A request is in flight from when a worker picks
/// it up until its response is complete.
fn in_flight(root: &JsonNode) -> Option<InFlight> {
    let all = root.get("all")?;
    let mean = |node: &JsonNode, name: &str| {
        let unanswered = count("unanswered", node.get("unanswered"))?;
        let figure = time(name, node.get("mean_ns")?)?;
        (unanswered.value == 0.0).then_some(figure)
    };
    let service = mean(all.get("service")?, "service mean")?;
    let wait = mean(root.get("wait")?, "wait mean")?;
    let sampled = precise("in flight", root.get("in_flight")?.get("mean"))?;
    let max = precise("in flight", root.get("in_flight")?.get("max"))?;
    Some(InFlight {
        mean: sampled,
        max: max.value,
        times: vec![service, wait],
        every_s: SAMPLED_EVERY_S,
        waiting: root
            .get("measurement")
            .and_then(|measurement| precise("waiting", measurement.get("waiting")))
            .map_or(0.0, |waiting| waiting.value),
    })
}
