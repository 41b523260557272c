//! Summaries at the end of a test.
//!
//! Entry points: [`Summary::text`] for the default text, [`Summary::data`] for `handleSummary`,
//! [`Summary::export`] for `--summary-export`, [`Summary::machine_readable`] for its newer form,
//! and [`legacy::text_summary`] for the older text, which the jslib also uses.

mod data;
pub mod legacy;
pub mod number;
mod rows;
mod sections;
mod tree;
mod view;

#[cfg(test)]
mod tests;

pub use data::{MachineInfo, SummaryState};

use crate::{
    aggregate::{Aggregator, series::Series, trend_stat::TrendStat},
    metric::{Contains, Metric, MetricId, MetricType, Registry},
    options::settings::SummaryMode,
    threshold::{
        evaluate::{MetricThresholds, ThresholdSet, method_value},
        expression::Method,
    },
};
use number::{TimeUnit, humanize};
use view::{MetricView, compare_names, figures};

/// The data for a summary.
#[derive(Debug, Clone, Copy)]
pub struct Summary<'a> {
    /// Metrics of the test.
    pub registry: &'a Registry,
    /// Samples of the test.
    pub aggregator: &'a Aggregator,
    /// Thresholds with the results of the last evaluation.
    pub thresholds: &'a ThresholdSet,
    /// Statistics of trends to show.
    pub trend_stats: &'a [TrendStat],
    /// Unit of times.
    pub time_unit: TimeUnit,
    /// Nanoseconds from before `setup` to after `teardown`.
    pub duration_ns: u64,
}

impl Summary<'_> {
    /// Returns the measured value of a threshold as text, for example `3.6ms`.
    #[must_use]
    pub fn threshold_value(&self, metric: &MetricThresholds, method: &Method) -> String {
        let series = self.aggregator.find(self.registry, &metric.selection.name);
        let value = series.map_or(0.0, |series| method_value(series, method, self.duration_ns));
        let id = self.registry.find(&metric.selection.metric);
        let contains = id.map_or(Contains::Default, |id| self.registry.get(id).contains);
        let text = humanize(value, metric.metric_type, contains, self.time_unit);
        match (metric.metric_type, method) {
            (MetricType::Counter, Method::Rate) => format!("{text}/s"),
            _ => text,
        }
    }

    /// Returns the text for standard output: an empty line, the summary, and an empty line. `None`
    /// if the mode prints nothing.
    #[must_use]
    pub fn text(&self, mode: SummaryMode, with_colors: bool) -> Option<String> {
        let text = match mode {
            SummaryMode::Disabled => return None,
            SummaryMode::Compact => sections::text(self, false, with_colors),
            SummaryMode::Full => sections::text(self, true, with_colors),
            SummaryMode::Legacy => {
                let state = SummaryState::default();
                let data = self.data(&state, serde_json::Value::Null);
                legacy::text_summary(&data, " ", with_colors)
            }
        };
        Some(format!("\n{text}\n\n"))
    }

    /// Returns the metrics and sub-metrics that have samples or thresholds, sorted by name.
    fn views(&self) -> Vec<MetricView> {
        let mut views = Vec::new();
        for (metric, number) in self.registry.all().iter().zip(0..) {
            let series = self.aggregator.series(MetricId(number));
            if series.is_some() || self.thresholds.find(&metric.name).is_some() {
                views.push(self.view(&metric.name, metric, series));
            }
        }
        for sub in self.aggregator.sub_metrics() {
            let series = Some(&sub.series).filter(|series| !series.is_empty());
            let name = &sub.selection.name;
            if series.is_some() || self.thresholds.find(name).is_some() {
                views.push(self.view(name, self.registry.get(sub.id), series));
            }
        }
        views.sort_by(|a, b| compare_names(&a.name, &b.name));
        views
    }

    fn view(&self, name: &str, metric: &Metric, series: Option<&Series>) -> MetricView {
        let empty = Series::new(metric.metric_type);
        MetricView {
            name: name.to_owned(),
            metric_type: metric.metric_type,
            contains: metric.contains,
            figures: figures(series.unwrap_or(&empty), self.trend_stats, self.duration_ns),
        }
    }
}
