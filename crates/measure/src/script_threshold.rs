//! Thresholds that belong to a test's script.

use serde::{Deserialize, Serialize};

/// A threshold of a script, judged at the end of the run by the rules of the script's own tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptThreshold {
    /// Metric and condition: `http_req_duration p(95)<200`.
    pub text: String,
    /// The measured figure, as the tool prints it: `p(95)=3.6ms`. `None` if it prints none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// Whether the tool had a value to compare. Without one, the result says nothing about the
    /// service.
    pub has_samples: bool,
    /// Whether the condition is met.
    pub is_met: bool,
    /// Whether the condition does not decide the result of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_optional: bool,
}
