//! What an Artillery script asks of the plugins that look at requests while the test runs. Plain data; what the others judge and
//! show is that door's own business.

use serde::{Deserialize, Serialize};

pub use crate::endpoints::Endpoints;

/// Those plugins of a script that look at requests while the test runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plugins {
    /// How figures by endpoint are named; none where nobody counts them.
    pub endpoints: Option<Endpoints>,
    /// What becomes of expectations; none without the plugin.
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
