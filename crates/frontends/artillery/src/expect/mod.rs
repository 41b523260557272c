//! Expectations of a step for the plugin `expect`. The plan stores them, [`hook`] evaluates them,
//! and [`crate::print`] prints the results.

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
    let list = request
        .extension
        .as_ref()
        .and_then(Extension::get::<KeptExpectations>);
    list.map_or(&[], |list| &list.0)
}

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
    ContentType(Template),
    HasProperty(Template),
    NotHasProperty(Template),
    /// The header is present and not empty. Contains its name in lower case.
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
    /// A check that the plugin does not support. The plugin reports this for each response.
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
            // `json` requires a valid body. A template may expand to `json`.
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
