//! Options of the plugin `expect`.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// `None` for native runs.
    pub print: Option<Print>,
    pub on_failure: OnFailure,
    /// Whether errors use request names only.
    pub names_only: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Print {
    /// A block per answer, with the exchange on failure.
    Pretty,
    /// Only for failures.
    PrettyError,
    /// A JSON line per answer.
    Json,
    Silent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Only counted.
    Counted,
    FailsRequest,
    FailsUser,
}

impl Expect {
    #[must_use]
    pub fn prints(&self, checks: usize, failed: bool) -> bool {
        match self.print {
            None | Some(Print::Silent) => false,
            Some(Print::Json) => true,
            Some(Print::Pretty) => checks > 0,
            Some(Print::PrettyError) => failed,
        }
    }

    #[must_use]
    pub fn prints_exchange(&self) -> bool {
        matches!(self.print, Some(Print::Pretty | Print::PrettyError))
    }
}
