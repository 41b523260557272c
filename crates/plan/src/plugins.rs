//! What an Artillery script asks of the plugins that judge or show a run's figures. Plain data, kept with the run's record;
//! the figures are Artillery's own, so only that door's accumulator and renderer look at it.

use serde::{Deserialize, Serialize};

pub use crate::endpoints::Endpoints;

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

/// What the plugin `expect` does with what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// How it is printed; natively not at all.
    pub print: Option<Print>,
    /// What a failed expectation does.
    pub on_failure: OnFailure,
    /// Whether errors name requests by their names alone.
    pub names_only: bool,
}

/// How expectations are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Print {
    /// A block for every answer; with the whole exchange where one failed.
    Pretty,
    /// Such a block only where one failed.
    PrettyError,
    /// A line of JSON for every answer.
    Json,
    /// Nothing.
    Silent,
}

/// What a failed expectation does beside being counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Nothing.
    Counted,
    /// The request has failed.
    FailsRequest,
    /// The virtual user ends with an error.
    FailsUser,
}

impl Expect {
    /// Whether something is printed of an answer with so many checks, of which some failed or none.
    #[must_use]
    pub fn prints(&self, checks: usize, failed: bool) -> bool {
        match self.print {
            None | Some(Print::Silent) => false,
            Some(Print::Json) => true,
            Some(Print::Pretty) => checks > 0,
            Some(Print::PrettyError) => failed,
        }
    }

    /// Whether a failure is printed with request, answer and variables.
    #[must_use]
    pub fn prints_exchange(&self) -> bool {
        matches!(self.print, Some(Print::Pretty | Print::PrettyError))
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
