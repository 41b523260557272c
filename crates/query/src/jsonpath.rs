//! JSONPath in the dialect of jsonpath-plus, which Artillery uses: `$.a[0]`, `['x']`, `..`, `*`,
//! `[a,b]`, `[-1:]`, `[?(@.k == 'v')]`, `[(@.length-1)]`, `^` for the parent and `~` for the
//! property's name.
//!
//! There is one difference: an item without the filtered property does not match, instead of
//! failing the query. Filters cannot call functions.

use std::borrow::Cow;

use serde_json::Value;

use crate::Chance;

mod cursor;
mod expression;
mod parse;
pub mod pick;
mod trace;

use expression::Expression;

#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    segments: Vec<PathSegment>,
}

#[derive(Debug, Clone, PartialEq)]
enum PathSegment {
    Child(String),
    All,
    Descend,
    Parent,
    Name,
    Slice {
        start: i64,
        end: Option<i64>,
        step: usize,
    },
    Union(Vec<PathSegment>),
    Filter(Expression),
    Computed(Expression),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPathError {
    pub offset: usize,
    pub message: String,
}

impl std::fmt::Display for JsonPathError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonPathError {}

/// A result. Only names and lengths are owned, because the document does not contain them as
/// values.
pub type JsonMatch<'a> = Cow<'a, Value>;

impl JsonPath {
    pub fn parse(text: &str) -> Result<JsonPath, JsonPathError> {
        Ok(JsonPath {
            segments: parse::path(text)?,
        })
    }

    #[must_use]
    pub fn find<'a>(&'a self, document: &'a Value) -> Vec<JsonMatch<'a>> {
        trace::find(&self.segments, document)
            .into_iter()
            .map(|hit| hit.value)
            .collect()
    }

    /// Returns the value of a capture: a random result if `pick` is true, otherwise the list of
    /// results. A path that can have only one result yields that result.
    ///
    /// Returns `None` if there is no result, or if the document is neither a mapping nor a list.
    #[must_use]
    pub fn extract(&self, document: &Value, pick: bool, rng: &mut dyn Chance) -> Option<Value> {
        if !matches!(document, Value::Object(_) | Value::Array(_)) {
            return None;
        }
        let mut hits = trace::find(&self.segments, document);
        match hits.len() {
            0 => None,
            1 if pick || !hits[0].one_of_many => Some(hits.remove(0).value.into_owned()),
            n if pick => Some(
                hits.swap_remove(rng.below(n as u64) as usize)
                    .value
                    .into_owned(),
            ),
            _ => Some(hits.into_iter().map(|hit| hit.value.into_owned()).collect()),
        }
    }
}

#[cfg(test)]
mod tests;
