//! Server metrics over the whole run: the smallest sample, the largest sample and the mean.

use measure::TimeSpan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exclusions::ExcludedSpans;
use record::{Run, server::MetricSeries};

/// A metric of one instance. It covers the same time as criteria on the metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerRow {
    /// Source and metric, for example `puma.puma_request_backlog`.
    pub name: String,
    /// Labels of the instance. `None` if there is only one.
    pub instance: Option<String>,
    pub unit: String,
    pub min: f64,
    /// Mean, with each sample weighted by the time it covers.
    pub mean: f64,
    pub max: f64,
}

pub(super) fn rows(run: &Run, elapsed_ns: u64) -> Vec<ServerRow> {
    let left_out = ExcludedSpans::new(run, |_| true);
    let spans = left_out.rest(TimeSpan::new(0, elapsed_ns));
    let all = run.server.series.iter();
    all.filter_map(|series| row(series, &spans)).collect()
}

/// Returns the row of a metric. `None` if it has no samples.
fn row(series: &MetricSeries, spans: &[TimeSpan]) -> Option<ServerRow> {
    let (mut sum, mut known_ns) = (0.0, 0);
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    for span in spans {
        if let Some((mean, ns)) = series.mean(span.from_ns, span.to_ns) {
            sum += mean * ns as f64;
            known_ns += ns;
        }
        for sample in series.within(span.from_ns, span.to_ns) {
            min = min.min(sample.value);
            max = max.max(sample.value);
        }
    }
    (known_ns > 0).then(|| ServerRow {
        name: series.name(),
        instance: series.of.instance.clone(),
        unit: series.unit(),
        min,
        mean: sum / known_ns as f64,
        max,
    })
}
