//! The words of the index for what has a few values: as the summary writes them.

use serde_json::Value;

use decisions::run_index::RowSubject;
use plan::criteria::SpanFilter;

/// The word of a value that serialises to one.
pub(crate) fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// The value of a word.
pub(crate) fn value<T: serde::de::DeserializeOwned>(word: String) -> Option<T> {
    serde_json::from_value(Value::String(word)).ok()
}

/// Which time, by its word.
pub(crate) fn span(word: String) -> SpanFilter {
    value(word).unwrap_or(SpanFilter::Service)
}

/// What a row is of, by its word.
pub(crate) fn from_word(word: String) -> RowSubject {
    value(word).unwrap_or(RowSubject::Endpoint)
}
