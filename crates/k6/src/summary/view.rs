//! Metrics as the summary shows them, created from aggregated values or from the data of
//! `handleSummary`.

use std::cmp::Ordering;

use serde_json::Value;

use crate::{
    aggregate::{
        series::{Series, per_second},
        trend_stat::TrendStat,
    },
    metric::{Contains, MetricType},
};

/// A named number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub key: String,
    pub value: f64,
}

/// A metric or sub-metric with its figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MetricView {
    pub name: String,
    pub metric_type: MetricType,
    pub contains: Contains,
    pub figures: Vec<Figure>,
}

impl MetricView {
    pub fn figure(&self, key: &str) -> f64 {
        let found = self.figures.iter().find(|figure| figure.key == key);
        found.map_or(0.0, |figure| figure.value)
    }

    /// Reads a metric from the data of `handleSummary`. Missing parts count as 0.
    pub fn from_json(name: &str, metric: &Value) -> MetricView {
        let text = |key: &str| metric.get(key).and_then(Value::as_str);
        let values = metric.get("values").and_then(Value::as_object);
        let figures = values.into_iter().flatten().map(|(key, value)| Figure {
            key: key.clone(),
            value: value.as_f64().unwrap_or(0.0),
        });
        MetricView {
            name: name.to_owned(),
            metric_type: match text("type") {
                Some("counter") => MetricType::Counter,
                Some("gauge") => MetricType::Gauge,
                Some("rate") => MetricType::Rate,
                _ => MetricType::Trend,
            },
            contains: match text("contains") {
                Some("time") => Contains::Time,
                Some("data") => Contains::Data,
                _ => Contains::Default,
            },
            figures: figures.collect(),
        }
    }
}

/// Returns the figures of a series, by the keys in the data of `handleSummary`.
pub(super) fn figures(series: &Series, stats: &[TrendStat], duration_ns: u64) -> Vec<Figure> {
    let figure = |key: &str, value: f64| Figure {
        key: key.to_owned(),
        value,
    };
    match series {
        Series::Counter { .. } => vec![
            figure("count", series.value()),
            figure("rate", per_second(series.value(), duration_ns)),
        ],
        Series::Gauge {
            value, min, max, ..
        } => vec![
            figure("value", *value),
            figure("min", *min),
            figure("max", *max),
        ],
        Series::Rate { passes, total } => vec![
            figure("rate", series.value()),
            figure("passes", *passes as f64),
            figure("fails", (total - passes) as f64),
        ],
        Series::Trend(_) => {
            let stats = stats.iter();
            stats
                .map(|stat| figure(stat.name(), series.stat(stat)))
                .collect()
        }
    }
}

/// Splits a name into the metric and the text between the braces.
pub(super) fn split_name(name: &str) -> (&str, Option<&str>) {
    match name.split_once('{') {
        Some((metric, rest)) => (metric, Some(rest.strip_suffix('}').unwrap_or(rest))),
        None => (name, None),
    }
}

/// Compares the names of metrics: first by the parent, then by the tags.
pub(super) fn compare_names(a: &str, b: &str) -> Ordering {
    let (parent_a, rest_a) = split_name(a);
    let (parent_b, rest_b) = split_name(b);
    compare_text(parent_a, parent_b)
        .then_with(|| compare_text(rest_a.unwrap_or_default(), rest_b.unwrap_or_default()))
}

/// Compares like JavaScript's `localeCompare`: punctuation before digits before letters, and case
/// only if there is no other difference.
fn compare_text(a: &str, b: &str) -> Ordering {
    let class = |c: char| match c {
        _ if c.is_alphabetic() => 2,
        _ if c.is_numeric() => 1,
        _ => 0,
    };
    let folded = |text: &str| {
        let keys = text.chars().flat_map(char::to_lowercase);
        keys.map(|c| (class(c), c)).collect::<Vec<_>>()
    };
    // Lower case comes before upper case.
    folded(a).cmp(&folded(b)).then_with(|| b.cmp(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_like_locale_compare() {
        let mut names = [
            "vus_max",
            "http_reqs",
            "B",
            "a",
            "http_req_duration{b:1}",
            "vus",
            "b",
            "http_req_duration",
            "http_req_duration{a:1}",
            "a1",
            "iterations",
            "iteration_duration",
        ];
        names.sort_by(|a, b| compare_names(a, b));
        assert_eq!(
            names,
            [
                "a",
                "a1",
                "b",
                "B",
                "http_req_duration",
                "http_req_duration{a:1}",
                "http_req_duration{b:1}",
                "http_reqs",
                "iteration_duration",
                "iterations",
                "vus",
                "vus_max"
            ]
        );
    }
}
