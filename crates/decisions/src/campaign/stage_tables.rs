//! Tables of a stage: requests by endpoint, and server metrics by instance.

use record::units;
use serde::Serialize;

use analysis::{
    figures::Figure,
    page::Page,
    summary::{P999_SAMPLES, Row, ServerRow, Stats, Summary},
};
use measure::TimeKind;

use super::load_rate;

/// The requests of an endpoint in one stage, or of all endpoints together. Times are headline
/// times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndpointRow {
    pub text: String,
    pub is_total: bool,
    pub requests: u64,
    pub failures: u64,
    /// Requests per second of the load. The time from the end of the load to the last completion
    /// does not count.
    pub per_second: f64,
    pub mean: Option<String>,
    pub p50: Option<String>,
    pub p90: Option<String>,
    pub p95: Option<String>,
    pub p99: Option<String>,
    /// 99.9th percentile. `None` if there are too few requests for it and no criterion judges it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999: Option<String>,
    pub max: Option<String>,
    /// Fields of this row that a criterion judges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<&'static str>,
}

impl EndpointRow {
    #[must_use]
    pub fn is_judged(&self, column: &str) -> bool {
        self.judged.contains(&column)
    }
}

/// The requests of an endpoint that failed for one reason in one stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureRow {
    pub reason: String,
    pub endpoint: String,
    pub count: u64,
    /// Share of the endpoint's requests. `None` if no request finished.
    pub share: Option<f64>,
}

/// A server metric of one instance in one stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerFigures {
    #[serde(flatten)]
    pub metric: ServerRow,
    /// Fields of `metric` that a criterion judges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<&'static str>,
}

impl ServerFigures {
    /// Returns whether the metric had a single value throughout the stage.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        let ServerRow { min, max, .. } = &self.metric;
        (max - min).abs() <= 1e-9 * max.abs().max(min.abs())
    }
}

/// Returns a row for each endpoint, followed by the total.
pub(super) fn endpoints(page: &Page) -> Vec<EndpointRow> {
    let labels = page.summary.labels.iter();
    let mut rows: Vec<EndpointRow> = labels.map(|row| endpoint(page, row, false)).collect();
    rows.push(endpoint(page, &page.summary.all, true));
    rows
}

fn endpoint(page: &Page, row: &Row, is_total: bool) -> EndpointRow {
    let summary = &page.summary;
    let per_second = load_rate(page, row.count);
    let mut judged_columns = judged(summary, row, time_name(summary));
    // A criterion judges the rate up to the last completion.
    let is_same = units::rate(per_second) == units::rate(row.per_second);
    judged_columns.retain(|column| *column != "per_second" || is_same);
    let stats = match summary.headline() {
        TimeKind::Response => row.response.as_ref(),
        _ => row.service.as_ref(),
    };
    let text = |of: fn(&Stats) -> &Figure| Some(of(stats?).value());
    // The mean of the answered requests alone would hide the unanswered ones.
    let mean = stats.filter(|stats| stats.unanswered == 0);
    let mean = mean.and_then(|stats| stats.mean_ns);
    let has_p999 = row.count >= P999_SAMPLES || judged_columns.contains(&"p999");
    EndpointRow {
        text: row.text.clone(),
        is_total,
        requests: row.count,
        failures: row.errors,
        per_second,
        mean: mean.map(|ns| units::time(ns.round() as u64)),
        p50: text(|stats| &stats.p50),
        p90: text(|stats| &stats.p90),
        p95: text(|stats| &stats.p95),
        p99: text(|stats| &stats.p99),
        p999: text(|stats| &stats.p999).filter(|_| has_p999),
        max: text(|stats| &stats.max),
        judged: judged_columns,
    }
}

/// Returns a row for each reason and endpoint, most frequent first.
pub(super) fn failures(summary: &Summary) -> Vec<FailureRow> {
    let mut rows: Vec<FailureRow> = Vec::new();
    for error in &summary.errors {
        for under in &error.by_label {
            let label = summary.labels.iter().find(|row| row.id == under.label);
            let Some(label) = label else { continue };
            rows.push(FailureRow {
                reason: error.reason.clone(),
                endpoint: label.text.clone(),
                count: under.count,
                share: (label.count > 0).then(|| under.count as f64 / label.count as f64),
            });
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    rows
}

fn time_name(summary: &Summary) -> &'static str {
    match summary.headline() {
        TimeKind::Response => "response",
        _ => "service",
    }
}

fn judged(summary: &Summary, row: &Row, time: &str) -> Vec<&'static str> {
    let columns = [
        (
            "failures",
            vec!["errors".to_owned(), "error_share".to_owned()],
        ),
        ("per_second", vec!["per_second".to_owned()]),
        ("mean", vec![format!("{time}/mean_ns")]),
        ("p50", vec![format!("{time}/p50")]),
        ("p90", vec![format!("{time}/p90")]),
        ("p95", vec![format!("{time}/p95")]),
        ("p99", vec![format!("{time}/p99")]),
        ("p999", vec![format!("{time}/p999")]),
        ("max", vec![format!("{time}/max")]),
    ];
    let columns = columns
        .into_iter()
        .filter(|(_, figures)| figures.iter().any(|figure| summary.is_judged(row, figure)));
    columns.map(|(column, _)| column).collect()
}

pub(super) fn server(summary: &Summary) -> Vec<ServerFigures> {
    let is_judged = |at: usize, figure: &str| {
        let path = format!("/server/{at}/{figure}");
        let mut criteria = summary.criteria.iter();
        criteria.any(|judged| judged.figure.as_ref() == Some(&path))
    };
    let rows = summary.server.iter().enumerate().map(|(at, row)| {
        let judged = ["min", "mean", "max"].into_iter();
        ServerFigures {
            metric: row.clone(),
            judged: judged.filter(|figure| is_judged(at, figure)).collect(),
        }
    });
    rows.collect()
}
