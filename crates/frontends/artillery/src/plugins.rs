//! Settings of a script's plugins. The plan and the record contain them, so that a run can be shown
//! again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::{endpoints::Endpoints, expect::Expect};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plugins {
    pub ensure: Option<Ensure>,
    pub apdex_ms: Option<f64>,
    pub extended_metrics: bool,
    #[serde(default)]
    pub endpoints: Option<Endpoints>,
    #[serde(default)]
    pub hidden: Vec<String>,
    #[serde(default)]
    pub expect: Option<Expect>,
}

impl Plugins {
    pub fn from_settings(settings: &Value) -> Result<Plugins, String> {
        if settings.is_null() {
            return Ok(Plugins::default());
        }
        Plugins::deserialize(settings).map_err(|reason| {
            format!("the stored settings of the Artillery run cannot be read: {reason}")
        })
    }

    #[must_use]
    pub fn settings(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ensure {
    pub max_error_rate: Option<f64>,
    /// Older form: upper bounds for aggregations of `http.response_time`, as whole numbers.
    pub response_time: Vec<(String, f64)>,
    pub conditions: Vec<Condition>,
    pub thresholds: Vec<(String, f64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    pub expression: String,
    pub strict: bool,
}
