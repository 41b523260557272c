//! Differences of custom metrics. They are listed but not judged.

use std::collections::BTreeSet;

use analysis::summary::{CustomRow, SHARE, SUM};
use record::units;
use serde::Serialize;

use super::{Side, middle};

/// A figure of a custom metric on both sides. Each value is the median of the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CustomDifference {
    /// Names of the metric and the figure, for example `checkout_ms p95`.
    pub figure: String,
    /// Median of the baseline runs. `None` if one of them did not report the metric.
    pub baseline: Option<f64>,
    pub candidate: Option<f64>,
}

impl CustomDifference {
    /// Formats both values and the relative change: `12.0 → 15.0 (+25.0 %)`.
    #[must_use]
    pub fn text(&self) -> String {
        let is_share = self.figure.ends_with(&format!(" {SHARE}"));
        let one = |value: f64| match is_share {
            true => units::share(value),
            false => units::figure(value, ""),
        };
        let value = |value: Option<f64>| value.map_or("–".to_owned(), one);
        let sides = format!("{} → {}", value(self.baseline), value(self.candidate));
        match (self.baseline, self.candidate) {
            (Some(before), Some(after)) if before != 0.0 && after != before => {
                let change = (after - before) / before.abs();
                let sign = if change < 0.0 { "−" } else { "+" };
                format!("{sides} ({sign}{})", units::share(change.abs()))
            }
            _ => sides,
        }
    }
}

pub(super) fn differences(baseline: &Side, candidate: &Side) -> Vec<CustomDifference> {
    let runs = baseline.runs.iter().chain(&candidate.runs);
    let rows = runs.flat_map(|run| &run.summary.custom);
    let keys: BTreeSet<(&str, &str)> = rows.map(|row| (&*row.kind, &*row.name)).collect();
    let differences = keys.into_iter().flat_map(|(kind, name)| {
        let figures: &[&str] = match kind {
            "histogram" => &["p50", "p95"],
            "gauge" => &["mean"],
            "share" | "check" => &[SHARE],
            "sum" => &[SUM],
            "rate" => &["per second"],
            _ => &["count"],
        };
        figures.iter().map(move |figure| {
            let of = |side| median(side, kind, name, figure);
            CustomDifference {
                figure: format!("{name} {figure}"),
                baseline: of(baseline),
                candidate: of(candidate),
            }
        })
    });
    differences.collect()
}

fn median(side: &Side, kind: &str, name: &str, figure: &str) -> Option<f64> {
    let value = |row: &CustomRow| match figure {
        "per second" => Some(row.per_second),
        "count" => Some(row.count as f64),
        statistic => row.values.as_ref()?.get(statistic).copied(),
    };
    let values = side.runs.iter().map(|run| {
        let mut rows = run.summary.custom.iter();
        value(rows.find(|row| row.kind == kind && row.name == name)?)
    });
    middle(&values.collect::<Vec<_>>())
}
