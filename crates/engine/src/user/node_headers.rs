//! Node.js' rules for response headers that are repeated.

use serde_json::{Map, Value};

/// Headers whose first value Node.js keeps, ignoring repetitions.
const ONLY_FIRST: [&str; 18] = [
    "age",
    "authorization",
    "content-length",
    "content-type",
    "etag",
    "expires",
    "from",
    "host",
    "if-modified-since",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "proxy-authorization",
    "referer",
    "retry-after",
    "server",
    "user-agent",
];

/// Returns the text of a header: repeated values are joined, or only the first is kept.
pub(super) fn text(headers: &[(String, String)], name: &str) -> Option<String> {
    let mut values = values(headers, name);
    let first = values.next()?.to_owned();
    if ONLY_FIRST
        .iter()
        .any(|only| only.eq_ignore_ascii_case(name))
    {
        return Some(first);
    }
    Some(values.fold(first, |all, value| format!("{all}, {value}")))
}

/// Returns a header as its text, or a list of `set-cookie`.
pub(super) fn value(headers: &[(String, String)], name: &str) -> Option<Value> {
    if name.eq_ignore_ascii_case("set-cookie") {
        let all: Vec<Value> = values(headers, name).map(Value::from).collect();
        return (!all.is_empty()).then_some(Value::Array(all));
    }
    text(headers, name).map(Value::String)
}

/// Returns all headers as their texts, and `set-cookie` as a list.
#[must_use]
pub fn joined_headers(headers: &[(String, String)]) -> Map<String, Value> {
    let mut all = Map::new();
    for (name, _) in headers {
        if !all.contains_key(name)
            && let Some(value) = value(headers, name)
        {
            all.insert(name.clone(), value);
        }
    }
    all
}

fn values<'a>(headers: &'a [(String, String)], name: &str) -> impl Iterator<Item = &'a str> {
    let named = move |(known, _): &&'a (String, String)| known.eq_ignore_ascii_case(name);
    headers
        .iter()
        .filter(named)
        .map(|(_, value)| value.as_str())
}
