//! Reads oha's JSON.

use super::{
    json::JsonNode,
    model::{Failures, LatencyStats, PrintedReport, ReportedSpan, Tool},
    number::Rounding,
    samples,
};

#[must_use]
pub fn is(root: &JsonNode) -> bool {
    let rate = root
        .get("summary")
        .and_then(|summary| summary.get("requestsPerSec"));
    rate.is_some() && root.get("statusCodeDistribution").is_some()
}

#[must_use]
pub fn read(root: &JsonNode) -> Vec<PrintedReport> {
    let mut report = PrintedReport::new(Tool::Oha, "summary", root.place);
    let of = |key: &str, rounding| {
        let node = root.get("summary")?.get(key)?;
        node.figure(key, rounding, 1.0)
    };
    report.all.rate = of("requestsPerSec", Rounding::Nearest);
    report.span = of("total", Rounding::Nearest).map(ReportedSpan::from_seconds);
    report.bytes = of("totalData", Rounding::Exact);
    let counts = |key: &str| {
        let node = root.get(key);
        let members = node.into_iter().flat_map(JsonNode::members);
        members
            .filter_map(|(name, node)| node.figure(name, Rounding::Exact, 1.0))
            .collect::<Vec<_>>()
    };
    report.all.codes = counts("statusCodeDistribution");
    let errors = counts("errorDistribution");
    let sum = |all: &[super::PrintedFigure]| all.iter().map(|one| one.value).sum::<f64>();
    let place = root
        .get("statusCodeDistribution")
        .map_or(root.place, |node| node.place);
    let (answers, failures) = (sum(&report.all.codes), sum(&errors));
    report.all.requests = Some(samples::whole_number("requests", answers + failures, place));
    report.all.failures = Some(samples::whole_number("errors", failures, place));
    report.all.errors = errors
        .into_iter()
        .map(|count| Failures {
            count,
            unanswered: Some(true),
        })
        .collect();
    let bad = report.all.codes.iter().filter(|code| {
        let code = code.name.parse::<u16>();
        code.is_ok_and(|code| code >= 400)
    });
    let bad: f64 = bad.map(|code| code.value).sum();
    if bad > 0.0 {
        report.remarks.push(format!(
            "oha does not count an answer as an error because of its status: {bad:.0} with status 400 and above are not counted here"
        ));
    }
    report.all.latency = Some(latency(root)).map(|latency| LatencyStats {
        count: Some(samples::whole_number("answers", answers, place)),
        min: of("fastest", Rounding::Nearest),
        mean: of("average", Rounding::Nearest),
        max: of("slowest", Rounding::Nearest),
        ..latency
    });
    vec![report]
}

fn latency(root: &JsonNode) -> LatencyStats {
    let percentiles = root.get("latencyPercentiles");
    let percentiles = percentiles.into_iter().flat_map(JsonNode::members);
    let percentiles = percentiles.filter_map(|(key, node)| {
        let share: f64 = key.strip_prefix('p')?.parse().ok()?;
        let figure = node.figure(key, Rounding::Nearest, 1.0)?;
        (0.0..100.0)
            .contains(&share)
            .then_some((share / 100.0, figure))
    });
    let mut percentiles: Vec<_> = percentiles.collect();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    LatencyStats {
        name: "latency".to_owned(),
        percentiles,
        ..LatencyStats::default()
    }
}
