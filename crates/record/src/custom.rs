//! Custom metrics of an interval, as stored in `counters.jsonl`.

use measure::custom::{CustomKind, CustomMetric, CustomMetrics, ValueHistogram};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CustomLine {
    kind: String,
    name: String,
    /// Sum of a counter, or number of values, events or errors.
    n: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<ValuesLine>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ValuesLine {
    sum: f64,
    min: f64,
    max: f64,
    cells: Vec<(i32, u64)>,
}

pub(super) fn lines(custom: &CustomMetrics) -> Vec<CustomLine> {
    let line = |((kind, name), metric): (&(CustomKind, String), &CustomMetric)| {
        let values = &metric.values;
        CustomLine {
            kind: kind.name().to_owned(),
            name: name.clone(),
            n: metric.count,
            values: (values.count() > 0).then(|| ValuesLine {
                sum: values.sum(),
                min: values.min(),
                max: values.max(),
                cells: values.cells().collect(),
            }),
        }
    };
    custom.metrics.iter().map(line).collect()
}

/// Reads metrics. Ignores unknown types and impossible values.
pub(super) fn metrics(lines: &[CustomLine]) -> CustomMetrics {
    let metric = |line: &CustomLine| {
        let values = match &line.values {
            None => ValueHistogram::default(),
            Some(ValuesLine {
                sum,
                min,
                max,
                cells,
            }) => ValueHistogram::from_parts(cells, *sum, *min, *max)?,
        };
        let count = line.n;
        let key = (CustomKind::named(&line.kind)?, line.name.clone());
        Some((key, CustomMetric { count, values }))
    };
    CustomMetrics {
        metrics: lines.iter().filter_map(metric).collect(),
    }
}
