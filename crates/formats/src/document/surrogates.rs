//! Joins surrogate pairs. JSON escapes a character beyond U+FFFF with two escapes
//! (`\\ud83d\\ude00`), while YAML uses one. Positions in the file are preserved.

use std::borrow::Cow;

use serde_json::Value;

const PAIR: usize = 12;
const ONE: usize = 10;

pub(super) struct Joined<'a> {
    pub text: Cow<'a, str>,
    /// Line and column of each pair in the joined text, counted from 1.
    places: Vec<(usize, usize)>,
}

impl Joined<'_> {
    pub fn column(&self, line: usize, column: usize) -> usize {
        let before = |(at_line, at): &&(usize, usize)| *at_line == line && *at < column;
        column + (PAIR - ONE) * self.places.iter().filter(before).count()
    }
}

pub(super) fn joined(text: &str) -> Joined<'_> {
    let may_be_json = text.trim_start().starts_with(['{', '[']) && text.contains("\\u");
    // A backslash always starts an escape only in JSON.
    if !may_be_json || serde_json::from_str::<Value>(text).is_err() {
        return Joined {
            text: Cow::Borrowed(text),
            places: Vec::new(),
        };
    }
    let mut out = String::with_capacity(text.len());
    let mut places = Vec::new();
    let (mut line, mut column) = (1, 1);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = if let Some(found) = pair(rest) {
            places.push((line, column));
            out.push_str(&format!("\\U{:08X}", u32::from(found)));
            column += ONE;
            PAIR
        } else {
            // An escaped backslash does not start another escape.
            let taken = if rest.starts_with("\\\\") {
                2
            } else {
                c.len_utf8()
            };
            out.push_str(&rest[..taken]);
            (line, column) = match c {
                '\n' => (line + 1, 1),
                _ => (line, column + rest[..taken].chars().count()),
            };
            taken
        };
        rest = &rest[taken..];
    }
    Joined {
        text: Cow::Owned(out),
        places,
    }
}

fn pair(text: &str) -> Option<char> {
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?, 16).ok();
    let units = [unit(text.get(..6)?)?, unit(text.get(6..PAIR)?)?];
    let mut read = char::decode_utf16(units);
    let found = read.next()?.ok()?;
    read.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_in_json_are_joined() {
        let one = |text: &str| joined(text).text.into_owned();
        assert_eq!(one(r#"{"a": "\ud83d\uDE00!"}"#), r#"{"a": "\U0001F600!"}"#);
        for same in [
            r#"{"a": "\\ud83d\\ude00"}"#,
            r#"{"a": "\u00e9\u00e9"}"#,
            r#"{a: '\ud83d\ude00'}"#,
            "a: \"x\"",
            r#"{"a": "\ud83d"}"#,
        ] {
            assert_eq!(one(same), same);
        }
    }

    #[test]
    fn positions_are_kept() {
        let text = "{\"a\":\n \"\\ud83d\\ude00\\ud83d\\ude00\", \"b\": 1}";
        let joined = joined(text);
        let at = joined.text.find("\"b\"").unwrap() - joined.text.find('\n').unwrap();
        let expected = text.find("\"b\"").unwrap() - text.find('\n').unwrap();
        assert_eq!(joined.column(2, at), expected);
        assert_eq!((joined.column(1, 3), joined.column(2, 2)), (3, 2));
    }
}
