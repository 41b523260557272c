//! Results of the expectations for one response. They are printed but not recorded.

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
    /// Expected value. `None` means `undefined`.
    pub expected: Option<Value>,
    pub actual: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    pub url: String,
    pub json: Option<Value>,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// Variables of the user. A value of `None` means `undefined`.
    pub variables: Vec<(String, Option<Value>)>,
}
