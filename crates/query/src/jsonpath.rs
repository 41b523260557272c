//! JSONPath in jsonpath-plus's dialect, which Artillery scripts are written in: `$.a[0]`, `['x']`, `..`, `*`, `[a,b]`, `[-1:]`,
//! `[?(@.k == 'v')]`, `[(@.length-1)]`, `^` for the parent and `~` for the property's name.
//!
//! Where the original gives up on a whole query because one item lacks what a filter looks at, that item does not match here.
//! Filters are a small expression language without calls: nothing in a path can run code.

use std::borrow::Cow;

use serde_json::Value;

use crate::Chance;

mod cursor;
mod expression;
mod parse;
pub mod pick;
mod trace;

use expression::Expression;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    segments: Vec<Segment>,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq)]
enum Segment {
    /// A property, or an item by its index.
    Child(String),
    /// All children.
    All,
    /// The value itself and everything below it.
    Descend,
    /// The parent.
    Parent,
    /// The property's name.
    Name,
    /// `[start:end:step]`
    Slice {
        start: i64,
        end: Option<i64>,
        step: usize,
    },
    /// `[a,b]`: each in turn.
    Union(Vec<Segment>),
    /// `[?(…)]`: the children for which it holds.
    Filter(Expression),
    /// `[(…)]`: the child that it names.
    Computed(Expression),
}

/// What is wrong with a path. The offset counts bytes from the start of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPathError {
    /// Bytes from the start of the text.
    pub offset: usize,
    /// One line: what is wrong.
    pub message: String,
}

impl std::fmt::Display for JsonPathError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonPathError {}

/// What a path found; owned only for names and lengths, which stand nowhere in the document.
pub type Found<'a> = Cow<'a, Value>;

impl JsonPath {
    /// Reads a path; the leading `$` may be missing.
    ///
    /// # Errors
    /// When the text is not a path of this dialect.
    pub fn parse(text: &str) -> Result<JsonPath, JsonPathError> {
        Ok(JsonPath {
            segments: parse::path(text)?,
        })
    }

    /// Everything that the path finds, in document order.
    #[must_use]
    pub fn find<'a>(&'a self, document: &'a Value) -> Vec<Found<'a>> {
        trace::find(&self.segments, document)
            .into_iter()
            .map(|hit| hit.value)
            .collect()
    }

    /// What a capture stores: one of the results at random, or (`pick` off) all of them as a list, which for a path that
    /// can only find one thing is that thing. None if nothing was found, or the document is no mapping or list.
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
