//! Expectations: what a step says of its answer in the words of Artillery's plugin `expect`. What is here is plain data, which the
//! plan keeps with the step; [`hook`] looks at answers, [`crate::print`] prints what came of it.

use serde::Serialize;

mod checks;
pub mod hook;
mod options;
pub mod results;

use plan::{Extension, Request, Template};
use query::jmespath::JmesPath;

pub use options::{Expect, OnFailure, Print};

/// What a step says of its answer, as the plan keeps it.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
struct KeptExpectations(Vec<Expectation>);

/// The expectations of a step; none where it has none.
#[must_use]
pub fn expectations(request: &Request) -> &[Expectation] {
    let kept = request
        .extension
        .as_ref()
        .and_then(Extension::get::<KeptExpectations>);
    kept.map_or(&[], |kept| &kept.0)
}

/// As a plan keeps them with their step; nothing where there are none.
///
/// # Errors
/// When they cannot be written down.
pub(crate) fn keep(expectations: Vec<Expectation>) -> Result<Option<Extension>, serde_json::Error> {
    if expectations.is_empty() {
        return Ok(None);
    }
    Extension::new(KeptExpectations(expectations)).map(Some)
}

/// One thing that an answer is expected to be.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Expectation {
    /// The status is this one, or one of a list.
    StatusCode(Template),
    /// The opposite.
    NotStatusCode(Template),
    /// `json`, or the whole header.
    ContentType(Template),
    /// The parsed body has something at a lodash path.
    HasProperty(Template),
    /// The parsed body has nothing there.
    NotHasProperty(Template),
    /// A header of this name, in lower case, is there and not empty.
    HasHeader(Template),
    /// A header of this name has exactly this value.
    HeaderEquals(Template, Template),
    /// All of these are the same text.
    Equals(Vec<Template>),
    /// The body's text matches a JavaScript regular expression.
    MatchesRegexp(Template),
    /// A header says that a cache had the answer, or that it had not.
    CdnHit(bool),
    /// A JMESPath finds something true.
    JmesPath {
        /// How the script calls it.
        word: JmesWord,
        /// What to look for.
        path: JmesPath,
        /// What the script calls it in reports.
        description: Option<String>,
    },
    /// A check that the plugin does not know: it says so at every answer, and goes on.
    Unsupported(String),
}

/// Both of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JmesWord {
    /// `jmespath`
    Jmespath,
    /// `jpath`
    Jpath,
}

/// The names of all checks.
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
    /// Whether the body is looked at.
    #[must_use]
    pub fn reads_body(&self) -> bool {
        match self {
            // `json` wants a body that can be parsed; a templated type may turn out to be that.
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
