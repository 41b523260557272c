//! Thresholds: their definitions in options, their grammar, and their evaluation.
//!
//! Entry points: the option [`Thresholds`]; [`ThresholdSet::parse`](evaluate::ThresholdSet::parse)
//! after the script's init code has declared its metrics; and
//! [`ThresholdSet::evaluate`](evaluate::ThresholdSet::evaluate) every 2 s and at the end.

pub mod evaluate;
pub mod expression;

use serde_json::{Value, json};

use crate::{
    duration::DurationNs,
    options::value::{OptionValue, read_member, wrong_type},
};

/// A threshold as written in the options. The expression has not been parsed yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definition {
    /// Expression, such as `p(95)<500`.
    pub expression: String,
    /// Whether a failure of the threshold stops the run.
    pub abort_on_fail: bool,
    /// Time since the start before which the threshold cannot stop the run.
    pub delay_abort_eval: DurationNs,
}

impl Definition {
    fn from_json(value: &Value) -> Result<Definition, String> {
        if let Some(text) = value.as_str() {
            return Ok(Definition {
                expression: text.to_owned(),
                ..Definition::default()
            });
        }
        let object = value
            .as_object()
            .ok_or_else(|| wrong_type(value, "an expression or an object"))?;
        Ok(Definition {
            expression: read_member(object, "threshold")?.unwrap_or_default(),
            abort_on_fail: read_member(object, "abortOnFail")?.unwrap_or_default(),
            delay_abort_eval: read_member(object, "delayAbortEval")?.unwrap_or_default(),
        })
    }

    fn to_json(&self) -> Value {
        if !self.abort_on_fail && self.delay_abort_eval.0 == 0 {
            return json!(self.expression);
        }
        json!({
            "threshold": self.expression,
            "abortOnFail": self.abort_on_fail,
            "delayAbortEval": self.delay_abort_eval.to_string(),
        })
    }
}

/// The thresholds of a metric or sub-metric, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricDefinitions {
    /// Name as written: `metric` or `metric{tag:value}`.
    pub metric: String,
    /// Thresholds, in order.
    pub definitions: Vec<Definition>,
}

/// The option `thresholds`, in the order of the script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thresholds(pub Vec<MetricDefinitions>);

impl OptionValue for Thresholds {
    fn from_json(value: &Value) -> Result<Option<Thresholds>, String> {
        let object = value
            .as_object()
            .ok_or_else(|| wrong_type(value, "an object"))?;
        let metrics = object.iter().filter(|(_, list)| !list.is_null());
        let metrics = metrics.map(|(metric, list)| {
            let list = list
                .as_array()
                .ok_or_else(|| wrong_type(list, "a list of thresholds"))?;
            let definitions = list.iter().map(Definition::from_json);
            Ok(MetricDefinitions {
                metric: metric.clone(),
                definitions: definitions.collect::<Result<_, String>>()?,
            })
        });
        Ok(Some(Thresholds(metrics.collect::<Result<_, String>>()?)))
    }

    fn from_text(text: &str) -> Result<Thresholds, String> {
        let value = Value::from_text(text)?;
        Ok(Thresholds::from_json(&value)?.unwrap_or_default())
    }

    fn to_json(&self) -> Value {
        let metrics = self.0.iter().map(|metric| {
            let list = metric.definitions.iter().map(Definition::to_json).collect();
            (metric.metric.clone(), list)
        });
        Value::Object(metrics.collect())
    }
}
