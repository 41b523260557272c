//! Lodash paths such as `a.b`, `a[0].c` or `a['k-y']`, which templates use.
//!
//! A plain name costs one look-up. As in lodash, a variable whose name is the whole path takes
//! precedence, for example a CSV column `user.name`.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::Scope;

pub const MAX_INDEX: usize = 65_535;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    text: String,
    parts: Vec<PathPart>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PathPart {
    key: String,
    index: Option<usize>,
}

impl PathPart {
    fn new(key: &str) -> PathPart {
        PathPart {
            key: key.to_owned(),
            index: canonical_index(key),
        }
    }
}

/// Parses a list index in canonical form. `01` and `+1` are keys, not indexes.
pub(crate) fn canonical_index(key: &str) -> Option<usize> {
    let canonical =
        key == "0" || (key.bytes().all(|b| b.is_ascii_digit()) && !key.starts_with('0'));
    if canonical { key.parse().ok() } else { None }
}

impl Path {
    #[must_use]
    pub fn parse(text: &str) -> Path {
        let parts = if is_deep(text) {
            split(text).iter().map(|key| PathPart::new(key)).collect()
        } else {
            vec![PathPart::new(text)]
        };
        Path {
            text: text.to_owned(),
            parts,
        }
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub fn root(&self) -> &str {
        self.parts.first().map_or("", |part| &part.key)
    }

    pub fn rest(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().skip(1).map(|part| part.key.as_str())
    }

    /// Returns the highest list index in the path. Readers reject paths that store a value above
    /// [`MAX_INDEX`].
    #[must_use]
    pub fn highest_index(&self) -> Option<usize> {
        self.parts.iter().filter_map(|part| part.index).max()
    }

    #[must_use]
    pub fn get<'a>(&self, scope: &'a dyn Scope) -> Option<Cow<'a, Value>> {
        let [root, rest @ ..] = self.parts.as_slice() else {
            return None;
        };
        if rest.is_empty() {
            return scope.get(&root.key).map(Cow::Borrowed);
        }
        if let Some(whole) = scope.get(&self.text) {
            return Some(Cow::Borrowed(whole));
        }
        let mut value = scope.get(&root.key)?;
        for (i, part) in rest.iter().enumerate() {
            match child(value, part)? {
                Cow::Borrowed(next) => value = next,
                owned if i + 1 == rest.len() => return Some(owned),
                Cow::Owned(_) => return None,
            }
        }
        Some(Cow::Borrowed(value))
    }

    /// Stores a value at the path. Like lodash's `set`, creates missing parents: lists before a
    /// numeric key, otherwise mappings.
    pub fn set(&self, variables: &mut impl Slots, value: Value) {
        let [root, rest @ ..] = self.parts.as_slice() else {
            return;
        };
        if rest.is_empty() {
            *variables.slot(&root.key) = value;
            return;
        }
        if let Some(whole) = variables.known(&self.text) {
            *whole = value;
            return;
        }
        let mut slot = variables.slot(&root.key);
        for part in rest {
            if !matches!(slot, Value::Object(_) | Value::Array(_)) {
                *slot = if part.index.is_some() {
                    Value::Array(Vec::new())
                } else {
                    Value::Object(Map::new())
                };
            }
            slot = match (slot, part.index) {
                (Value::Object(map), _) => map.entry(part.key.as_str()).or_insert(Value::Null),
                (Value::Array(items), Some(index)) if index <= MAX_INDEX => {
                    if items.len() <= index {
                        items.resize(index + 1, Value::Null);
                    }
                    &mut items[index]
                }
                // A JSON list cannot have named properties.
                _ => return,
            };
        }
        *slot = value;
    }
}

pub trait Slots {
    fn known(&mut self, name: &str) -> Option<&mut Value>;

    fn slot(&mut self, name: &str) -> &mut Value;
}

impl Slots for Map<String, Value> {
    fn known(&mut self, name: &str) -> Option<&mut Value> {
        self.get_mut(name)
    }

    fn slot(&mut self, name: &str) -> &mut Value {
        self.entry(name).or_insert(Value::Null)
    }
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.text)
    }
}

/// Returns whether a document has a value at a path, as in lodash's `has`. A null counts as a
/// value. A key that equals the whole path takes precedence.
#[must_use]
pub fn has(document: &Value, path: &str) -> bool {
    if let Value::Object(map) = document
        && map.contains_key(path)
    {
        return true;
    }
    let path = Path::parse(path);
    let mut at = Cow::Borrowed(document);
    for part in &path.parts {
        let below = match &at {
            Cow::Borrowed(value) => child(value, part),
            Cow::Owned(value) => child(value, part).map(|found| Cow::Owned(found.into_owned())),
        };
        match below {
            Some(found) => at = found,
            None => return false,
        }
    }
    true
}

fn child<'a>(value: &'a Value, part: &PathPart) -> Option<Cow<'a, Value>> {
    match value {
        Value::Object(map) => map.get(&part.key).map(Cow::Borrowed),
        Value::Array(items) => match part.index {
            Some(index) => items.get(index).map(Cow::Borrowed),
            None if part.key == "length" => Some(Cow::Owned(items.len().into())),
            None => None,
        },
        Value::String(text) => match part.index {
            Some(index) => text
                .chars()
                .nth(index)
                .map(|c| Cow::Owned(c.to_string().into())),
            None if part.key == "length" => Some(Cow::Owned(text.encode_utf16().count().into())),
            None => None,
        },
        _ => None,
    }
}

/// Returns whether lodash treats a string as a path with several parts, because the string contains
/// a dot or closed brackets.
fn is_deep(text: &str) -> bool {
    text.contains('.')
        || text
            .find('[')
            .is_some_and(|open| text[open..].contains(']'))
}

fn split(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    if text.starts_with('.') {
        parts.push(String::new());
    }
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((part, len)) = (c == '[').then(|| bracketed(rest)).flatten() {
            parts.push(part);
            rest = &rest[len..];
        } else if matches!(c, '.' | '[' | ']') {
            if empty_here(rest) {
                parts.push(String::new());
            }
            rest = &rest[1..];
        } else {
            let len = rest.find(['.', '[', ']']).unwrap_or(rest.len());
            parts.push(rest[..len].to_owned());
            rest = &rest[len..];
        }
    }
    parts
}

/// Returns whether the next key is empty: between two separators, or after a separator at the end.
fn empty_here(rest: &str) -> bool {
    let after = rest.strip_prefix('.').or_else(|| rest.strip_prefix("[]"));
    after.is_some_and(|after| after.is_empty() || after.starts_with('.') || after.starts_with("[]"))
}

fn bracketed(text: &str) -> Option<(String, usize)> {
    let inside = &text[1..];
    if let Some(quote) = inside.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let mut part = String::new();
        let mut chars = inside.char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' => part.push(chars.next()?.1),
                c if c == quote => {
                    return inside[i + 1..].starts_with(']').then_some((part, i + 3));
                }
                c => part.push(c),
            }
        }
        return None;
    }
    let end = inside.find(']')?;
    let digits = inside[..end].strip_prefix('-').unwrap_or(&inside[..end]);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    (all_digits(whole) && all_digits(fraction)).then(|| (inside[..end].to_owned(), end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn get(vars: &Value, path: &str) -> Option<Value> {
        Path::parse(path)
            .get(vars.as_object().unwrap())
            .map(Cow::into_owned)
    }

    #[test]
    fn parts_match_lodash() {
        for (text, parts) in [
            ("a.b", vec!["a", "b"]),
            ("a[0].c", vec!["a", "0", "c"]),
            ("a['k-y']", vec!["a", "k-y"]),
            (r#"a["x.y"].z"#, vec!["a", "x.y", "z"]),
            (r"a['it\'s']", vec!["a", "it's"]),
            ("a[b]", vec!["a", "b"]),
            ("a..b", vec!["a", "", "b"]),
            (".a", vec!["", "a"]),
            ("a.", vec!["a", ""]),
            ("a[-1]", vec!["a", "-1"]),
            ("a[]", vec!["a", ""]),
            ("a[][0]", vec!["a", "0"]),
            ("a[].b", vec!["a", "", "b"]),
        ] {
            assert_eq!(split(text), parts, "{text}");
        }
    }

    #[test]
    fn values_are_read() {
        let vars = json!({"o": {"a": [1, {"b": "x"}], "k-y": 2}, "dotted.name": 3, "s": "hi", "first name": 4});
        assert_eq!(get(&vars, "o.a[1].b"), Some(json!("x")));
        assert_eq!(get(&vars, "o['k-y']"), Some(json!(2)));
        assert_eq!(get(&vars, "dotted.name"), Some(json!(3)));
        assert_eq!(get(&vars, "first name"), Some(json!(4)));
        assert_eq!(get(&vars, "o.a.length"), Some(json!(2)));
        assert_eq!(get(&vars, "o.a.length.x"), None);
        assert_eq!(get(&vars, "s[1]"), Some(json!("i")));
        assert_eq!(get(&vars, "o.a[01]"), None);
        assert_eq!(get(&vars, "o.none.deeper"), None);
        assert_eq!(get(&vars, ""), None);
    }

    #[test]
    fn has_matches_lodash() {
        let document = json!({"a": {"b": [1, {"c": null}]}, "x.y": 1, "s": "hi"});
        for (path, wanted) in [
            ("a.b", true),
            ("a.b[1].c", true),
            ("a['b'][0]", true),
            ("a.b.length", true),
            ("a.b[2]", false),
            ("x.y", true),
            ("x", false),
            ("s.length", true),
            ("", false),
        ] {
            assert_eq!(has(&document, path), wanted, "{path}");
        }
        assert!(has(&json!([5]), "[0]") && has(&json!([5]), "length") && !has(&json!([5]), "[1]"));
    }

    #[test]
    fn values_are_stored() {
        let mut vars = json!({"user": {"name": "n"}, "n": 5})
            .as_object()
            .unwrap()
            .clone();
        for (path, value) in [
            ("user.id", 1),
            ("list[1].x", 2),
            ("n.deep", 3),
            ("plain", 4),
            ("list.named", 5),
            ("x[99999999]", 6),
        ] {
            Path::parse(path).set(&mut vars, json!(value));
        }
        let expected = json!({
            "user": {"name": "n", "id": 1}, "n": {"deep": 3}, "list": [null, {"x": 2}], "plain": 4, "x": [],
        });
        assert_eq!(Value::Object(vars), expected);
    }

    proptest! {
        #[test]
        fn any_path_is_handled(text in r#"[a-c.\[\]'"\\0-9 -]{0,20}"#) {
            let path = Path::parse(&text);
            let mut vars = json!({"a": [{"b": [1, "c"]}], "b": {"c": {}}}).as_object().unwrap().clone();
            let _ = path.get(&vars);
            path.set(&mut vars, json!(7));
            let mut empty = Map::new();
            path.set(&mut empty, json!(7));
            if path.highest_index().is_none() && !path.parts.is_empty() {
                prop_assert_eq!(path.get(&empty).map(Cow::into_owned), Some(json!(7)), "{}", path.text());
            }
        }
    }
}
