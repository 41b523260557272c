//! Custom metrics in the summary: metrics that the test script reported by name.

use std::collections::BTreeMap;

use measure::custom::{CustomKind, CustomMetric, MOST_NAMES, OTHER_NAMES, ValueHistogram};
use plan::criteria::{Metric, Stat, parse_criterion};
use record::{Run, units};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    figures::{per_second, sum_per_second},
    verdict::{Judged, percentile_name},
};

/// A metric that the test script reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CustomRow {
    pub name: String,
    /// `counter`, `histogram`, `rate`, `error`, `sum`, `gauge`, `share` or `check`.
    pub kind: String,
    /// Sum of a counter, or number of values, events, errors or evaluations.
    pub count: u64,
    /// `count`, or the sum of a `sum` metric, divided by the run's elapsed time in seconds.
    pub per_second: f64,
    /// Statistics by name. For a histogram: `min`, `mean`, `p50`, `p95`, `p99`, `max`, and every
    /// percentile that a criterion judges. For a gauge: `min`, `mean`, `max`, and percentiles that
    /// a criterion judges. For a sum: `sum`. For a share or a check: `share`, from 0 to 1. `None`
    /// for other types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<BTreeMap<String, f64>>,
    /// Figures that criteria judge, for example `values/p95`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<String>,
}

/// Name of the statistic of a share or a check.
pub const SHARE: &str = "share";
/// Name of the statistic of a sum.
pub const SUM: &str = "sum";

const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

pub(super) fn rows(run: &Run, elapsed_ns: u64) -> Vec<CustomRow> {
    let row = |((kind, name), metric): (&(CustomKind, String), &CustomMetric)| {
        let values = &metric.values;
        CustomRow {
            name: name.clone(),
            kind: kind.name().to_owned(),
            count: metric.count,
            per_second: match kind {
                CustomKind::Sum => sum_per_second(values.sum(), elapsed_ns),
                _ => per_second(metric.count, elapsed_ns),
            },
            values: statistics(*kind, values, &judged_quantiles(run, name)),
            judged: Vec::new(),
        }
    };
    run.totals.custom.metrics.iter().map(row).collect()
}

fn statistics(
    kind: CustomKind,
    values: &ValueHistogram,
    judged: &[f64],
) -> Option<BTreeMap<String, f64>> {
    let named = |q: &f64| Some((percentile_name(*q), values.quantile(*q)?));
    let judged = judged.iter().filter_map(named);
    let one = |name: &str, value| BTreeMap::from([(name.to_owned(), value)]);
    Some(match kind {
        CustomKind::Histogram => {
            let usual = QUANTILES.iter().filter_map(named);
            usual.chain(judged).chain(levels(values)).collect()
        }
        CustomKind::Gauge => judged.chain(levels(values)).collect(),
        CustomKind::Sum => one(SUM, values.sum()),
        CustomKind::Share | CustomKind::Check => one(SHARE, values.mean()?),
        CustomKind::Counter | CustomKind::Rate | CustomKind::Error => return None,
    })
}

fn levels(values: &ValueHistogram) -> BTreeMap<String, f64> {
    let means = values.mean().map(|mean| ("mean".to_owned(), mean));
    let ends = [("min", values.min()), ("max", values.max())];
    let ends = ends.map(|(name, value)| (name.to_owned(), value));
    means.into_iter().chain(ends).collect()
}

fn judged_quantiles(run: &Run, name: &str) -> Vec<f64> {
    let criteria = run.manifest.criteria.iter();
    let criteria = criteria.filter_map(|text| parse_criterion(text).ok());
    let quantile = |metric| match metric {
        Metric::Custom(of, Some(Stat::Quantile(q))) if of == name => Some(q),
        _ => None,
    };
    criteria.filter_map(|one| quantile(one.metric)).collect()
}

/// Adds to each row the names of its figures that criteria judge.
pub(crate) fn mark(rows: &mut [CustomRow], criteria: &[Judged]) {
    let paths = criteria
        .iter()
        .filter_map(|judged| judged.figure.as_deref());
    let figures = paths.filter_map(|path| path.strip_prefix("/custom/")?.split_once('/'));
    for (at, figure) in figures {
        let at: Option<usize> = at.parse().ok();
        if let Some(row) = at.and_then(|at| rows.get_mut(at)) {
            row.judged.push(figure.to_owned());
        }
    }
}

/// Returns a note if there were too many names, so that some were counted together.
pub(super) fn note(run: &Run) -> Option<String> {
    run.totals.custom.has_other_names().then(|| {
        format!(
            "the script reports more than {} custom metrics: further names are counted together as `{OTHER_NAMES}`",
            units::count(MOST_NAMES as u64)
        )
    })
}
