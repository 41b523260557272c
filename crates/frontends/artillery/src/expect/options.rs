//! What a script says the plugin `expect` shall do with what it finds. Plain data.

use serde::{Deserialize, Serialize};

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
