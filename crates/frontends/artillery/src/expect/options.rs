//! Options of the plugin `expect`.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    pub print: Option<Print>,
    pub on_failure: OnFailure,
    pub names_only: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Print {
    Pretty,
    PrettyError,
    Json,
    Silent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
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
