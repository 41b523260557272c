//! Expectations: what a step says of its answer in the words of Artillery's plugin `expect`. Plain data; looking at answers is
//! the engine's business, printing what came of it a renderer's.

use serde::Serialize;

use crate::template::Template;
use query::jmespath::JmesPath;

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
