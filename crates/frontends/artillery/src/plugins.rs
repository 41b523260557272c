//! What a script asks of the plugins that judge or show a run's figures. Plain data, kept with the plan and the run's record as the
//! door's own settings, so that a run can be shown again as it was.

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::{endpoints::Endpoints, expect::Expect};

/// The plugins of a script.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plugins {
    /// Checks on the figures of the whole run.
    pub ensure: Option<Ensure>,
    /// The Apdex threshold, in milliseconds.
    pub apdex_ms: Option<f64>,
    /// Whether the parts of each request's time are counted: `http.extendedMetrics`, or the environment says so.
    pub extended_metrics: bool,
    /// How figures by endpoint are named; none where nobody counts them.
    #[serde(default)]
    pub endpoints: Option<Endpoints>,
    /// Plugins whose figures only files show, in their figures' spelling: `plugins.NAME`.
    #[serde(default)]
    pub hidden: Vec<String>,
    /// What becomes of expectations; none without the plugin.
    #[serde(default)]
    pub expect: Option<Expect>,
}

impl Plugins {
    /// The plugins that a plan or a record keeps; those of no script at all where it keeps nothing.
    ///
    /// # Errors
    /// One line, when what is kept was not written by this door.
    pub fn from_settings(settings: &Value) -> Result<Plugins, String> {
        if settings.is_null() {
            return Ok(Plugins::default());
        }
        Plugins::deserialize(settings)
            .map_err(|why| format!("the settings that Artillery's door kept cannot be read: {why}"))
    }

    /// As a plan and a record keep them.
    #[must_use]
    pub fn settings(&self) -> Value {
        // A tree of plain data has nothing that JSON could not hold; what has is no settings.
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}

/// What `ensure` checks. Every figure is Artillery's of that name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ensure {
    /// The highest percentage of virtual users that may not complete.
    pub max_error_rate: Option<f64>,
    /// The older spelling: aggregations of `http.response_time` that must stay below a whole number.
    pub response_time: Vec<(String, f64)>,
    /// Expressions over figures that must be true.
    pub conditions: Vec<Condition>,
    /// Figures that must stay below a number.
    pub thresholds: Vec<(String, f64)>,
}

/// An expression that must be true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// In filtrex's language.
    pub expression: String,
    /// Whether its failure fails the run.
    pub strict: bool,
}
