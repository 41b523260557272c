//! Escaping of text for terminals: control characters, escape sequences, bidirectional marks.

use std::{borrow::Cow, fmt::Write};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| acts(c) && c != '\n' && c != '\t')
}

#[must_use]
pub fn name(text: &str) -> Cow<'_, str> {
    escaped(text, acts)
}

#[must_use]
pub fn names<T: Serialize + DeserializeOwned + Clone>(value: &T) -> Cow<'_, T> {
    let Ok(mut tree) = serde_json::to_value(value) else {
        return Cow::Borrowed(value);
    };
    if !escape_all(&mut tree) {
        return Cow::Borrowed(value);
    }
    serde_json::from_value(tree).map_or(Cow::Borrowed(value), Cow::Owned)
}

fn escape_all(tree: &mut Value) -> bool {
    match tree {
        Value::String(text) => match name(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(escaped) => {
                *text = escaped;
                true
            }
        },
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |any, item| escape_all(item) | any),
        Value::Object(members) => members
            .values_mut()
            .fold(false, |any, item| escape_all(item) | any),
        _ => false,
    }
}

fn acts(c: char) -> bool {
    // Control characters (C0, DEL and C1), and bidirectional controls, which could reorder a line.
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_escaped(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x100 => drop(write!(out, "\\x{:02x}", u32::from(c))),
            c => drop(write!(out, "\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_and_everything_can_be_read() {
        let hostile = "a\x1b]0;title\x07b\u{9b}2Jc\r\nd\te\u{202e}f\x7f";
        assert_eq!(
            lines(hostile),
            "a\\x1b]0;title\\x07b\\x9b2Jc\\r\nd\te\\u{202e}f\\x7f"
        );
        assert_eq!(name("GET /a\nPASS"), "GET /a\\nPASS");
        assert!(matches!(lines("µ → ‹x› 日本\n\tß"), Cow::Borrowed(_)));
        assert!(matches!(name("µ → ‹x› 日本"), Cow::Borrowed(_)));
    }

    #[test]
    fn all_texts_of_a_value() {
        let value = vec![("a\x1b".to_owned(), 1.5), ("b".to_owned(), 2.0)];
        assert_eq!(
            *names(&value),
            [("a\\x1b".to_owned(), 1.5), ("b".to_owned(), 2.0)]
        );
        assert!(matches!(names(&vec!["b".to_owned()]), Cow::Borrowed(_)));
    }
}
