//! Evaluation of thresholds during a run and at its end.

use super::{
    Thresholds,
    expression::{Expression, Method},
};
use crate::{
    aggregate::{
        Aggregator,
        selection::Selection,
        series::{Series, per_second},
    },
    metric::{MetricType, Registry},
    text::go_quote,
};

/// A threshold with its latest result.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// Expression as written, trimmed.
    pub source: String,
    /// Parsed expression.
    pub expression: Expression,
    /// Whether a failure of the threshold stops the run.
    pub abort_on_fail: bool,
    /// Nanoseconds since the start before which the threshold cannot stop the run.
    pub delay_abort_eval_ns: u64,
    /// Whether the latest evaluation passed. True before the first evaluation.
    pub is_met: bool,
}

/// The thresholds of a metric or sub-metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricThresholds {
    /// Metric or sub-metric to evaluate.
    pub selection: Selection,
    /// Type of the metric.
    pub metric_type: MetricType,
    /// Thresholds, in order.
    pub thresholds: Vec<Threshold>,
}

impl MetricThresholds {
    /// Returns whether all thresholds passed the latest evaluation.
    #[must_use]
    pub fn are_met(&self) -> bool {
        self.thresholds.iter().all(|threshold| threshold.is_met)
    }
}

/// All thresholds of a test.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThresholdSet {
    metrics: Vec<MetricThresholds>,
}

/// The result of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evaluation {
    /// Names of the metrics whose thresholds failed, sorted.
    pub crossed: Vec<String>,
    /// Whether a failed threshold requests to stop the run.
    pub is_abort: bool,
}

impl Evaluation {
    /// Returns the names in the form of k6's final errors.
    #[must_use]
    pub fn crossed_text(&self) -> String {
        self.crossed.join(", ")
    }
}

impl ThresholdSet {
    /// Parses the thresholds in the options. The registry must contain the metrics that the script
    /// declares.
    ///
    /// # Errors
    ///
    /// Returns k6's text for unknown metrics, for invalid expressions, and for methods that the
    /// metric's type does not support. The exit code is 104.
    pub fn parse(thresholds: &Thresholds, registry: &Registry) -> Result<ThresholdSet, String> {
        let metrics = thresholds.0.iter().map(|own| {
            let name = &own.metric;
            let invalid =
                |reason| format!("invalid metric '{name}' in threshold definitions: {reason}");
            let selection = Selection::parse(name).map_err(invalid)?;
            let mut parsed = Vec::new();
            for definition in &own.definitions {
                parsed.push(Threshold {
                    source: definition.expression.trim().to_owned(),
                    expression: Expression::parse(&definition.expression)?,
                    abort_on_fail: definition.abort_on_fail,
                    delay_abort_eval_ns: definition.delay_abort_eval.non_negative(),
                    is_met: true,
                });
            }
            let id = registry.find(&selection.metric).ok_or_else(|| {
                invalid(format!(
                    "invalid threshold defined on {name}; reason: no metric name {} found",
                    go_quote(&selection.metric)
                ))
            })?;
            let metric_type = registry.get(id).metric_type;
            for threshold in &parsed {
                threshold
                    .expression
                    .check(&threshold.source, name, metric_type)?;
            }
            Ok(MetricThresholds {
                selection,
                metric_type,
                thresholds: parsed,
            })
        });
        let metrics = metrics.collect::<Result<_, String>>()?;
        Ok(ThresholdSet { metrics })
    }

    /// Returns the sub-metrics that the aggregator must keep.
    #[must_use]
    pub fn selections(&self) -> Vec<Selection> {
        let metrics = self.metrics.iter();
        let subs = metrics.filter(|own| !own.selection.tags.is_empty());
        subs.map(|own| own.selection.clone()).collect()
    }

    /// Whether a threshold can stop the run.
    #[must_use]
    pub fn may_abort(&self) -> bool {
        let mut thresholds = self.metrics.iter().flat_map(|own| &own.thresholds);
        thresholds.any(|threshold| threshold.abort_on_fail)
    }

    /// Returns the metrics with thresholds, in the order of the options.
    #[must_use]
    pub fn metrics(&self) -> &[MetricThresholds] {
        &self.metrics
    }

    /// Finds the thresholds of a metric or sub-metric.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&MetricThresholds> {
        self.metrics.iter().find(|own| own.selection.name == name)
    }

    /// Evaluates all thresholds against the aggregated values. `elapsed_ns` is the time since the
    /// start. Metrics without samples are skipped, except at the end (`is_final`).
    pub fn evaluate(
        &mut self,
        registry: &Registry,
        aggregator: &Aggregator,
        elapsed_ns: u64,
        is_final: bool,
    ) -> Evaluation {
        let mut evaluation = Evaluation::default();
        for metric in &mut self.metrics {
            let series = aggregator.find(registry, &metric.selection.name);
            if series.is_none() && !is_final {
                continue;
            }
            for threshold in &mut metric.thresholds {
                threshold.is_met = match series {
                    None if metric.metric_type == MetricType::Rate => true,
                    None => threshold.expression.is_met(0.0),
                    Some(series) => {
                        let method = &threshold.expression.method;
                        let value = method_value(series, method, elapsed_ns);
                        threshold.expression.is_met(value)
                    }
                };
                evaluation.is_abort |= !threshold.is_met
                    && threshold.abort_on_fail
                    && elapsed_ns >= threshold.delay_abort_eval_ns;
            }
            if !metric.are_met() {
                evaluation.crossed.push(metric.selection.name.clone());
            }
        }
        evaluation.crossed.sort();
        evaluation
    }
}

/// Returns the value of a method. `elapsed_ns` is the time since the start.
#[must_use]
pub fn method_value(series: &Series, method: &Method, elapsed_ns: u64) -> f64 {
    match (series, method) {
        (Series::Counter { .. }, Method::Rate) => per_second(series.value(), elapsed_ns),
        (_, Method::Trend(stat)) => series.stat(stat),
        _ => series.value(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        metric::{HTTP_REQ_DURATION, HTTP_REQ_FAILED, HTTP_REQS},
        options::value::OptionValue,
        tags::Tags,
    };
    use serde_json::{Value, json};

    fn parse(value: Value) -> Result<ThresholdSet, String> {
        let thresholds = Thresholds::from_json(&value).unwrap().unwrap();
        ThresholdSet::parse(&thresholds, &Registry::default())
    }

    #[test]
    fn unknown_metrics_and_methods_are_refused() {
        for (value, text) in [
            (
                json!({"foo": ["avg<1"]}),
                "invalid metric 'foo' in threshold definitions: invalid threshold defined on foo; \
                 reason: no metric name \"foo\" found",
            ),
            (
                json!({"http_reqs{a:b": ["count<1"]}),
                "invalid metric 'http_reqs{a:b' in threshold definitions: metric \
                 \"http_reqs{a:b\" has unmatched opening/close curly brace",
            ),
            (
                json!({"http_reqs": ["avg<1"]}),
                "invalid threshold \"avg<1\" applied on metric http_reqs; reason: unsupported \
                 aggregation method avg on metric of type counter. supported aggregation methods \
                 for this metric are: count, rate",
            ),
            (
                json!({"http_reqs": ["foo"]}),
                "failed parsing threshold expression \"foo\"; reason: malformed threshold \
                 expression",
            ),
        ] {
            assert_eq!(parse(value).unwrap_err(), text);
        }
    }

    #[test]
    fn failures_abort_after_their_delay() {
        let registry = Registry::default();
        let mut set = parse(json!({
            "http_req_duration": ["p(95)<100", {"threshold": "max<10", "abortOnFail": true,
                "delayAbortEval": "10s"}],
            "http_reqs": ["rate>=2", "count==20"],
            "http_req_failed{a:b}": ["rate<0.1"],
        }))
        .unwrap();
        let mut aggregator = Aggregator::new(&registry, &set.selections(), false);
        let nothing = set.evaluate(&registry, &aggregator, 0, false);
        assert_eq!(nothing, Evaluation::default());
        for _ in 0..20 {
            let values = [
                (HTTP_REQS, 1.0),
                (HTTP_REQ_DURATION, 50.0),
                (HTTP_REQ_FAILED, 1.0),
            ];
            aggregator.add(1, &Tags::default(), &values);
        }
        let early = set.evaluate(&registry, &aggregator, 9_000_000_000, false);
        assert_eq!(early.crossed, ["http_req_duration"]);
        assert!(!early.is_abort);
        let late = set.evaluate(&registry, &aggregator, 11_000_000_000, false);
        assert_eq!(late.crossed_text(), "http_req_duration, http_reqs");
        assert!(late.is_abort);
        assert!(set.find("http_req_failed{a:b}").unwrap().are_met());
    }

    #[test]
    fn at_the_end_metrics_without_samples_are_zero() {
        let registry = Registry::default();
        let mut set = parse(json!({
            "http_req_duration": ["avg<1"], "http_reqs": ["count>0"], "checks": ["rate>0.9"],
        }))
        .unwrap();
        let aggregator = Aggregator::new(&registry, &set.selections(), false);
        let end = set.evaluate(&registry, &aggregator, 1, true);
        assert_eq!(end.crossed, ["http_reqs"]);
    }
}
