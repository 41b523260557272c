//! 95 % confidence intervals of headline percentiles.

use measure::{TimeKind, label, label::LabelGroup};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Sampled;
use crate::headline_time::headline_time;
use record::Run;

/// A percentile with its 95 % confidence interval, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    pub label: String,
    /// Measured time: `response`, `service` or `iteration`.
    pub time: String,
    pub percentile: String,
    pub ns: u64,
    pub low_ns: u64,
    /// Upper bound of the interval. `None` if there are too few samples.
    pub high_ns: Option<u64>,
    pub samples: u64,
    /// Effective sample size: the number of independent samples that would give the same
    /// information as the correlated ones.
    pub effective: f64,
    /// Whether less than a minute was measured, so that the correlation is a rough estimate.
    pub approximate: bool,
}

/// Returns the intervals of response or service times, and those of each scenario's iteration
/// times.
pub fn intervals(run: &Run) -> Vec<Confidence> {
    let mut all = Vec::new();
    for ((id, kind), windows) in &run.totals.windows {
        let part = run.totals.label(*id);
        let is_shown = match kind {
            TimeKind::Response => true,
            TimeKind::Service => *id == label::ALL && headline_time(&part) == TimeKind::Service,
            kind => *kind == TimeKind::Iteration && is_of_iterations(run, *id),
        };
        let samples = Sampled::from_totals(&part, *kind);
        let Some(stats) = samples.stats().filter(|_| is_shown) else {
            continue;
        };
        let label = run
            .label(*id)
            .map_or_else(|| "all requests".to_owned(), |l| l.text.clone());
        for (percentile, q, figure) in [("p50", 0.5, stats.p50), ("p99", 0.99, stats.p99)] {
            if let (Some(ns), Some(interval)) = (figure.ns, samples.interval(windows, q)) {
                all.push(Confidence {
                    label: label.clone(),
                    time: kind.name().to_owned(),
                    percentile: percentile.to_owned(),
                    ns,
                    low_ns: interval.low_ns,
                    high_ns: interval.high_ns,
                    samples: samples.count(),
                    effective: interval.effective,
                    approximate: interval.rough,
                });
            }
        }
    }
    all
}

/// Returns whether the label counts iterations. The headline never shows transactions.
fn is_of_iterations(run: &Run, id: measure::LabelId) -> bool {
    run.label(id)
        .is_none_or(|label| label.group == LabelGroup::Iteration)
}
