//! Custom metrics point by point. Includes only the metrics that the record keeps over time.

use std::borrow::Cow;

use measure::custom::{CustomKind, CustomMetric};
use record::{Run, history::CustomKey};
use serde::{Deserialize, Serialize};

use super::columns::FigureColumn;
use crate::moments::Moment;

/// A custom metric over time, with a value for each point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CustomSeries {
    pub name: String,
    /// `counter`, `histogram`, `rate`, `error`, `sum`, `gauge`, `share` or `check`.
    pub kind: String,
    /// Sum of a counter, or number of values, events, errors or evaluations.
    pub count: Vec<u64>,
    /// Percentiles of a histogram. Empty for other types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub p50: FigureColumn,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub p95: FigureColumn,
    /// Means of a gauge, or shares of a share or a check. Empty for other types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mean: FigureColumn,
    /// Sums of a `sum` metric, with 0 for a point without values. Empty for other types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sum: Vec<f64>,
}

/// Returns the metrics in the order of the summary: by type and name.
pub fn build(run: &Run, moments: &[Cow<Moment>]) -> Vec<CustomSeries> {
    let names = run.totals.history.custom.names();
    let mut names: Vec<(usize, &CustomKey)> = names.iter().enumerate().collect();
    names.sort_by_key(|(_, key)| *key);
    let series = names.into_iter().map(|(index, (kind, name))| {
        let metrics = || moments.iter().map(move |moment| moment.custom.get(&index));
        let quantiles = |q: f64| -> FigureColumn {
            if *kind != CustomKind::Histogram {
                return Vec::new();
            }
            let quantile = |metric: &CustomMetric| metric.values.quantile(q);
            metrics().map(|metric| metric.and_then(quantile)).collect()
        };
        CustomSeries {
            name: name.clone(),
            kind: kind.name().to_owned(),
            count: metrics()
                .map(|metric| metric.map_or(0, |metric| metric.count))
                .collect(),
            p50: quantiles(0.5),
            p95: quantiles(0.95),
            mean: match kind {
                CustomKind::Gauge | CustomKind::Share | CustomKind::Check => metrics()
                    .map(|metric| metric.and_then(|metric| metric.values.mean()))
                    .collect(),
                _ => Vec::new(),
            },
            sum: match kind {
                CustomKind::Sum => metrics()
                    .map(|metric| metric.map_or(0.0, |metric| metric.values.sum()))
                    .collect(),
                _ => Vec::new(),
            },
        }
    });
    series.collect()
}
