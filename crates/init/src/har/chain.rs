//! Links values in responses to later requests, so that they become captures. Ignores values that
//! the client sent first or that match by chance.

use std::collections::{HashMap, HashSet};

use query::value;
use serde_json::{Value, json};

use super::html;
use crate::{placeholders, unknowns::Unknowns};

const MOST_LEAVES: usize = 50_000;
const SHORTEST: usize = 4;
const LONGEST: usize = 4096;

#[derive(Debug)]
struct Origin {
    step: usize,
    path: ResponseLocation,
    key: String,
    variable: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResponseLocation {
    Json(String),
    Text(String),
}

impl ResponseLocation {
    pub fn to_value(&self) -> Value {
        match self {
            ResponseLocation::Json(path) => Value::from(path.as_str()),
            ResponseLocation::Text(pattern) => json!({"regexp": pattern, "group": 1}),
        }
    }

    fn text(&self) -> &str {
        match self {
            ResponseLocation::Json(path) => path,
            ResponseLocation::Text(_) => "",
        }
    }
}

type VariableName<'n> = dyn Fn(usize, &str, &str) -> String + 'n;

#[derive(Debug, Default)]
pub struct Chain {
    origins: HashMap<String, Origin>,
    sent: HashSet<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Captured {
    pub step: usize,
    pub name: String,
    pub path: ResponseLocation,
}

impl Chain {
    /// Records a string that a request sends. Must be called in step order, and before the step's
    /// response is recorded.
    pub fn sends(&mut self, text: &str) {
        for word in words(text).map(|(_, word)| word).chain([text]) {
            if word.len() >= SHORTEST {
                self.sent.insert(word.to_owned());
            }
        }
    }

    pub fn says(&mut self, step: usize, answer: &Value) {
        let mut left = MOST_LEAVES;
        self.leaves(step, answer, &mut String::from("$"), "", &mut left);
    }

    pub fn shows(&mut self, step: usize, page: &str) {
        for field in html::fields(page) {
            let is_told = is_telling(&field.name, &field.value) || field.value.len() >= 16;
            if is_told
                && !self.origins.contains_key(&field.value)
                && !self.sent.contains(&field.value)
            {
                let origin = Origin {
                    step,
                    path: ResponseLocation::Text(field.pattern),
                    key: field.name,
                    variable: None,
                };
                self.origins.insert(field.value, origin);
            }
        }
    }

    fn leaves(
        &mut self,
        step: usize,
        value: &Value,
        path: &mut String,
        key: &str,
        left: &mut usize,
    ) {
        let before = path.len();
        match value {
            Value::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    path.push_str(&format!("[{number}]"));
                    self.leaves(step, item, path, key, left);
                    path.truncate(before);
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    let Some(part) = member(key) else { continue };
                    path.push_str(&part);
                    self.leaves(step, item, path, key, left);
                    path.truncate(before);
                }
            }
            Value::String(_) | Value::Number(_) if *left > 0 => {
                *left -= 1;
                let text = value::text(Some(value));
                if is_telling(key, &text)
                    && !self.origins.contains_key(&text)
                    && !self.sent.contains(&text)
                {
                    let origin = Origin {
                        step,
                        path: ResponseLocation::Json(path.clone()),
                        key: key.to_owned(),
                        variable: None,
                    };
                    self.origins.insert(text, origin);
                }
            }
            _ => {}
        }
    }

    pub fn linked(
        &mut self,
        step: usize,
        text: &str,
        name: &VariableName,
        unknowns: &mut Unknowns,
    ) -> String {
        if let Some(variable) = self.variable(step, text, name, unknowns) {
            return variable;
        }
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        for (at, word) in words(text) {
            if let Some(variable) = self.variable(step, word, name, unknowns) {
                out.push_str(&text[end..at]);
                out.push_str(&variable);
                end = at + word.len();
            }
        }
        out.push_str(&text[end..]);
        out
    }

    fn variable(
        &mut self,
        step: usize,
        text: &str,
        name: &VariableName,
        unknowns: &mut Unknowns,
    ) -> Option<String> {
        let origin = self
            .origins
            .get_mut(text)
            .filter(|origin| origin.step < step)?;
        let variable = origin.variable.get_or_insert_with(|| {
            unknowns.reserve(&name(origin.step, &origin.key, origin.path.text()))
        });
        Some(placeholders::variable(variable))
    }

    pub fn captured(&self) -> Vec<Captured> {
        let used = self.origins.values().filter_map(|origin| {
            let name = origin.variable.clone()?;
            Some(Captured {
                step: origin.step,
                name,
                path: origin.path.clone(),
            })
        });
        let mut used: Vec<Captured> = used.collect();
        used.sort_by(|a, b| (a.step, &a.path).cmp(&(b.step, &b.path)));
        used
    }
}

fn member(key: &str) -> Option<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && key.chars().all(is_word) {
        return Some(format!(".{key}"));
    }
    let is_quotable = |c: char| !"'\\{}\"".contains(c) && !c.is_control();
    (!key.is_empty() && key.chars().all(is_quotable)).then(|| format!("['{key}']"))
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(is_inside)?;
        let end = text[start..]
            .find(|c| !is_inside(c))
            .map_or(text.len(), |end| start + end);
        at = end;
        Some((start, &text[start..end]))
    })
}

/// Returns whether a value is worth linking, such as an ID, a token or a link.
fn is_telling(key: &str, text: &str) -> bool {
    if !(SHORTEST..=LONGEST).contains(&text.len())
        || text.contains(char::is_whitespace)
        || placeholders::is_foreign(text)
    {
        return false;
    }
    let is_word = text
        .chars()
        .all(|c| c.is_alphabetic() || c == '_' || c == '-');
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_year = text.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
    if is_id(key) {
        return !is_word || text.len() >= 8;
    }
    let is_number = digits == text.len();
    !is_word
        && !is_year
        && (if is_number {
            digits >= 6
        } else {
            digits >= 2 || text.len() >= 16
        })
}

fn is_id(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let ends = [
        "id",
        "uuid",
        "guid",
        "token",
        "slug",
        "code",
        "key",
        "url",
        "uri",
        "href",
        "location",
        "number",
        "reference",
        "cursor",
    ];
    ends.iter().any(|end| {
        lower == *end
            || lower.strip_suffix(end).is_some_and(|before| {
                before.ends_with(['_', '-'])
                    || key[before.len()..].starts_with(|c: char| c.is_ascii_uppercase())
            })
    }) || lower.ends_with("uuid")
        || lower.ends_with("token")
        || lower.ends_with("url")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_the_server_said_first_is_captured() {
        let (mut chain, mut unknowns) = (Chain::default(), Unknowns::default());
        let name = |_: usize, key: &str, _: &str| key.to_owned();
        chain.sends("/users/u-1001");
        chain.says(0, &json!({"id": "u-1001", "orders": [{"orderId": 48_213, "state": "open"}], "a-b": {"token": "x.y.z7"}}));
        chain.sends("/orders/48213");
        assert_eq!(
            chain.linked(1, "/users/u-1001/open", &name, &mut unknowns),
            "/users/u-1001/open"
        );
        let order = chain.linked(1, "/orders/48213.json?of=482130", &name, &mut unknowns);
        assert_eq!(
            order,
            format!(
                "/orders/{}.json?of=482130",
                placeholders::variable("orderId")
            )
        );
        assert_eq!(chain.linked(0, "48213", &name, &mut unknowns), "48213");
        assert_eq!(
            chain.linked(2, "x.y.z7", &name, &mut unknowns),
            placeholders::variable("token")
        );
        let paths: Vec<Value> = chain
            .captured()
            .into_iter()
            .map(|captured| captured.path.to_value())
            .collect();
        assert_eq!(paths, ["$.orders[0].orderId", "$['a-b'].token"]);
    }

    #[test]
    fn common_values_are_not_linked() {
        for (key, text) in [
            ("id", "8f14e45f"),
            ("userId", "1001"),
            ("name", "ab12-cd34"),
            ("next_url", "https://a/b"),
            ("n", "482133"),
        ] {
            assert!(is_telling(key, text), "{key} {text}");
        }
        for (key, text) in [
            ("id", "abc"),
            ("status", "success"),
            ("year", "2024"),
            ("n", "48213"),
            ("id", "open"),
            ("title", "a b 12"),
            ("grid", "12a"),
        ] {
            assert!(!is_telling(key, text), "{key} {text}");
        }
    }
}
