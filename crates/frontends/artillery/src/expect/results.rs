//! An answer beside what was expected of it: one finding per check, and the exchange where it is to be shown. It is printed, never
//! recorded, and no figure is computed from it.

use serde_json::Value;

/// What was found of one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedAnswer {
    /// The request's method.
    pub method: String,
    /// The request's path with its query.
    pub path: String,
    /// The step's own name.
    pub name: Option<String>,
    /// Checks that nobody knows, by name.
    pub unsupported: Vec<String>,
    /// In the order of the script.
    pub findings: Vec<ExpectedCheck>,
    /// Request, answer and variables, where somebody wants to see them.
    pub exchange: Option<Box<Exchange>>,
}

impl ExpectedAnswer {
    /// Whether a check failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.findings.iter().any(|finding| !finding.ok)
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedCheck {
    /// Its kind, under which it is counted.
    pub kind: String,
    /// Whether it holds.
    pub ok: bool,
    /// What was expected; none is `undefined`.
    pub expected: Option<Value>,
    /// What was there instead.
    pub got: Option<Value>,
}

/// A request and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// As it was sent.
    pub url: String,
    /// The JSON that was sent.
    pub json: Option<Value>,
    /// Of the answer: names in lower case.
    pub headers: Vec<(String, String)>,
    /// The answer's body.
    pub body: String,
    /// The virtual user's variables; none is `undefined`.
    pub variables: Vec<(String, Option<Value>)>,
}
