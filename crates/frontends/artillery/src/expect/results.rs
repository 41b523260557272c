//! Results of the expectations on one response. They are printed but not recorded.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedAnswer {
    pub method: String,
    pub path: String,
    pub name: Option<String>,
    pub unsupported: Vec<String>,
    pub findings: Vec<ExpectedCheck>,
    pub exchange: Option<Box<Exchange>>,
}

impl ExpectedAnswer {
    #[must_use]
    pub fn failed(&self) -> bool {
        self.findings.iter().any(|finding| !finding.ok)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedCheck {
    pub kind: String,
    pub ok: bool,
    /// The expected value. `None` is `undefined`.
    pub expected: Option<Value>,
    pub actual: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    pub url: String,
    pub json: Option<Value>,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// The user's variables. `None` is `undefined`.
    pub variables: Vec<(String, Option<Value>)>,
}
