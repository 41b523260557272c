//! JSON writes a character beyond U+FFFF as two escapes (`\\ud83d\\ude00`), YAML as one: in a text that is JSON, the two are
//! written as YAML has them before it is scanned. Nothing else is changed, and places in the file stay what they were.

use std::borrow::Cow;

use serde_json::Value;

/// So many characters are two escapes of JSON, and so many is YAML's one.
const PAIR: usize = 12;
const ONE: usize = 10;

/// A text whose pairs of escapes are one each.
pub(super) struct Joined<'a> {
    pub text: Cow<'a, str>,
    /// Line and column, from 1 and of the joined text, of each that was joined.
    places: Vec<(usize, usize)>,
}

impl Joined<'_> {
    /// The column in the file of a place in the joined text.
    pub fn column(&self, line: usize, column: usize) -> usize {
        let before = |(at_line, at): &&(usize, usize)| *at_line == line && *at < column;
        column + (PAIR - ONE) * self.places.iter().filter(before).count()
    }
}

/// The text as YAML has it.
pub(super) fn joined(text: &str) -> Joined<'_> {
    let may_be_json = text.trim_start().starts_with(['{', '[']) && text.contains("\\u");
    // In JSON a backslash stands in double quotes and nowhere else; in YAML it may mean itself.
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
            // An escaped backslash begins no escape of its own.
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

/// The character that two escapes at the beginning of a text stand for.
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
    fn pairs_in_json_and_nothing_else() {
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
    fn places_stay() {
        let text = "{\"a\":\n \"\\ud83d\\ude00\\ud83d\\ude00\", \"b\": 1}";
        let joined = joined(text);
        let at = joined.text.find("\"b\"").unwrap() - joined.text.find('\n').unwrap();
        let meant = text.find("\"b\"").unwrap() - text.find('\n').unwrap();
        assert_eq!(joined.column(2, at), meant);
        assert_eq!((joined.column(1, 3), joined.column(2, 2)), (3, 2));
    }
}
