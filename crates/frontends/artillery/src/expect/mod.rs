//! Expectations of a step for the plugin `expect`, stored in the plan. [`hook`] evaluates them,
//! [`crate::print`] prints them.

use serde::Serialize;

mod checks;
pub mod hook;
mod options;
pub mod results;

use plan::{Extension, Request, Template};
use query::jmespath::JmesPath;

pub use options::{Expect, OnFailure, Print};

#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
struct KeptExpectations(Vec<Expectation>);

#[must_use]
pub fn expectations(request: &Request) -> &[Expectation] {
    let stored = request
        .extension
        .as_ref()
        .and_then(Extension::get::<KeptExpectations>);
    stored.map_or(&[], |stored| &stored.0)
}

/// # Errors
///
/// They cannot be serialized.
pub(crate) fn keep(expectations: Vec<Expectation>) -> Result<Option<Extension>, serde_json::Error> {
    if expectations.is_empty() {
        return Ok(None);
    }
    Extension::new(KeptExpectations(expectations)).map(Some)
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Expectation {
    StatusCode(Template),
    NotStatusCode(Template),
    /// `json`, or the whole header.
    ContentType(Template),
    HasProperty(Template),
    NotHasProperty(Template),
    /// Present and not empty; lower-case name.
    HasHeader(Template),
    HeaderEquals(Template, Template),
    Equals(Vec<Template>),
    MatchesRegexp(Template),
    CdnHit(bool),
    JmesPath {
        word: JmesWord,
        path: JmesPath,
        description: Option<String>,
    },
    /// Unknown check: the plugin reports it for each answer.
    Unsupported(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JmesWord {
    Jmespath,
    Jpath,
}

pub const CHECKS: [&str; 12] = [
    "statusCode",
    "notStatusCode",
    "contentType",
    "hasProperty",
    "notHasProperty",
    "hasHeader",
    "headerEquals",
    "equals",
    "matchesRegexp",
    "cdnHit",
    "jmespath",
    "jpath",
];

impl Expectation {
    #[must_use]
    pub fn reads_body(&self) -> bool {
        match self {
            // `json` needs a valid body; a template may expand to it.
            Expectation::ContentType(_)
            | Expectation::HasProperty(_)
            | Expectation::NotHasProperty(_)
            | Expectation::MatchesRegexp(_)
            | Expectation::JmesPath { .. } => true,
            Expectation::StatusCode(_)
            | Expectation::NotStatusCode(_)
            | Expectation::HasHeader(_)
            | Expectation::HeaderEquals(..)
            | Expectation::Equals(_)
            | Expectation::CdnHit(_)
            | Expectation::Unsupported(_) => false,
        }
    }
}
