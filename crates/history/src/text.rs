//! Names of enum values in the index, identical to those in summaries.

use serde_json::Value;

use decisions::run_index::RowSubject;
use plan::criteria::SpanFilter;

pub(crate) fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

pub(crate) fn value<T: serde::de::DeserializeOwned>(word: String) -> Option<T> {
    serde_json::from_value(Value::String(word)).ok()
}

pub(crate) fn span(word: String) -> SpanFilter {
    value(word).unwrap_or(SpanFilter::Service)
}

pub(crate) fn from_word(word: String) -> RowSubject {
    value(word).unwrap_or(RowSubject::Endpoint)
}
