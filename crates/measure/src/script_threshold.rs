//! Results of the thresholds that a test script declares.

use serde::{Deserialize, Serialize};

/// A threshold of a script, evaluated at the end of the run by the rules of the script's original
/// tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptThreshold {
    /// Metric and condition, for example `http_req_duration p(95)<200`.
    pub text: String,
    /// The measured value as the original tool prints it, for example `p(95)=3.6ms`. `None` if the
    /// tool prints none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// Whether the metric had values. Without values, the result says nothing about the tested
    /// service.
    pub has_samples: bool,
    /// Whether the condition is met.
    pub is_met: bool,
    /// Whether the verdict of the run ignores this condition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_optional: bool,
}
