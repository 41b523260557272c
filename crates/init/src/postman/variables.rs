//! Resolves `{{variables}}` of a Postman collection. Values of secrets become environment
//! variables, values that scripts set become captures, and others become variables of the plan.

use std::collections::{BTreeMap, BTreeSet};

use formats::document::Node;
use serde_json::Value;

use super::dynamic::{self, DynamicValue};
use crate::{
    placeholders,
    unknowns::{Unknowns, is_secret},
};

/// Nesting of variables in values of variables.
const DEEPEST: usize = 8;

#[derive(Debug, Clone)]
struct Definition {
    value: String,
    is_secret: bool,
    origin: &'static str,
}

#[derive(Debug, Default)]
pub struct VariableScope {
    definitions: BTreeMap<String, Definition>,
    /// Variables that a script sets from a response, anywhere in the collection.
    set_by_scripts: BTreeSet<String>,
    /// Names in the plan of variables that an earlier request captures.
    captured: BTreeMap<String, String>,
    constants: BTreeMap<String, String>,
    values: Vec<(String, Value)>,
    remarks: BTreeSet<String>,
}

/// A text whose variables are replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedText {
    pub text: String,
    /// Whether a variable gets its value only from a later request.
    pub is_unset: bool,
}

impl VariableScope {
    /// Adds `variable` of a collection or a folder, or `values` of an environment. Later ones
    /// replace earlier ones of the same name.
    pub fn define(&mut self, list: Option<&Node>, origin: &'static str) {
        for item in list.and_then(Node::as_list).unwrap_or_default() {
            let name = item.get("key").or_else(|| item.get("id"));
            let Some(name) = name.and_then(Node::as_str) else {
                continue;
            };
            let is_off = item.get("enabled").and_then(Node::as_bool) == Some(false)
                || item.get("disabled").and_then(Node::as_bool) == Some(true);
            if is_off {
                continue;
            }
            let kind = item.get("type").and_then(Node::as_str);
            let value = item.get("value").map(Node::text).unwrap_or_default();
            let definition = Definition {
                value,
                is_secret: kind == Some("secret") || is_secret(name),
                origin,
            };
            self.definitions.insert(name.to_owned(), definition);
        }
    }

    /// Adds a value that a script sets before a request.
    pub fn assign(&mut self, name: &str, value: &str) {
        let definition = Definition {
            value: value.to_owned(),
            is_secret: is_secret(name),
            origin: "a script",
        };
        self.definitions.insert(name.to_owned(), definition);
    }

    pub fn announce(&mut self, name: &str) {
        self.set_by_scripts.insert(name.to_owned());
    }

    /// Returns the name in the plan of a variable that a request captures.
    pub fn capture(&mut self, name: &str, unknowns: &mut Unknowns) -> String {
        if let Some(known) = self.captured.get(name).or_else(|| self.constants.get(name)) {
            let known = known.clone();
            self.captured.insert(name.to_owned(), known.clone());
            return known;
        }
        let own = unknowns.reserve(name);
        self.captured.insert(name.to_owned(), own.clone());
        own
    }

    pub fn values(&self) -> &[(String, Value)] {
        &self.values
    }

    pub fn remarks(&self) -> impl Iterator<Item = &String> {
        self.remarks.iter()
    }

    /// Replaces the variables in a text.
    pub fn resolve(&mut self, text: &str, unknowns: &mut Unknowns) -> ResolvedText {
        self.resolve_within(text, unknowns, DEEPEST)
    }

    fn resolve_within(
        &mut self,
        text: &str,
        unknowns: &mut Unknowns,
        depth: usize,
    ) -> ResolvedText {
        let mut out = ResolvedText {
            text: String::new(),
            is_unset: false,
        };
        let mut rest = text;
        while let Some((before, name, after)) = next_variable(rest) {
            out.text.push_str(before);
            let value = self.value(name, unknowns, depth);
            out.text.push_str(&value.text);
            out.is_unset |= value.is_unset;
            rest = after;
        }
        out.text.push_str(rest);
        out
    }

    /// Replaces variables of known value by the value itself, for the start of a URL.
    pub fn expand(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..DEEPEST {
            let mut out = String::new();
            let mut rest = text.as_str();
            while let Some((before, name, after)) = next_variable(rest) {
                out.push_str(before);
                match self.definitions.get(name) {
                    Some(known) if !known.is_secret && !known.value.is_empty() => {
                        out.push_str(&known.value);
                    }
                    _ => out.push_str(&rest[before.len()..rest.len() - after.len()]),
                }
                rest = after;
            }
            out.push_str(rest);
            if out == text || out.len() > text.len() + (1 << 16) {
                break;
            }
            text = out;
        }
        text
    }

    fn value(&mut self, name: &str, unknowns: &mut Unknowns, depth: usize) -> ResolvedText {
        let known = |text: String| ResolvedText {
            text,
            is_unset: false,
        };
        if let Some(function) = name.strip_prefix('$') {
            return known(match dynamic::translate(function) {
                DynamicValue::Same(text) => text,
                DynamicValue::Similar { text, remark } => {
                    self.remarks.insert(remark);
                    text
                }
                DynamicValue::Unknown => {
                    let what = format!("the value of {name}, which plans cannot compute");
                    unknowns.missing(function, &what)
                }
            });
        }
        if let Some(own) = self.captured.get(name) {
            return known(placeholders::variable(own));
        }
        let definition = self.definitions.get(name).cloned();
        let definition = definition.filter(|definition| !definition.value.is_empty());
        let Some(definition) = definition else {
            if self.set_by_scripts.contains(name) {
                let own = self.capture(name, unknowns);
                self.captured.remove(name);
                self.constants.insert(name.to_owned(), own.clone());
                return ResolvedText {
                    text: placeholders::variable(&own),
                    is_unset: true,
                };
            }
            let what = format!("the variable {name} of the collection");
            return known(unknowns.missing(name, &what));
        };
        if definition.is_secret {
            let what = format!("the variable {name} of {}", definition.origin);
            return known(unknowns.secret(name, &definition.value, &what));
        }
        if next_variable(&definition.value).is_some() {
            return match depth.checked_sub(1) {
                Some(depth) => self.resolve_within(&definition.value, unknowns, depth),
                None => known(definition.value),
            };
        }
        if let Some(own) = self.constants.get(name) {
            return known(placeholders::variable(own));
        }
        let own = unknowns.reserve(name);
        self.constants.insert(name.to_owned(), own.clone());
        self.values
            .push((own.clone(), Value::from(definition.value)));
        known(placeholders::variable(&own))
    }
}

/// Splits a text at its first `{{name}}`: what is before, the name, and what follows.
fn next_variable(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text.get(from..)?.find("{{")?;
        let inside = &text[open + 2..];
        let end = inside.find("}}")?;
        let name = inside[..end].trim();
        let is_name = !name.is_empty() && !name.contains(['{', '}', '"', '\n']);
        if is_name {
            return Some((&text[..open], name, &inside[end + 2..]));
        }
        from = open + 1;
    }
}

#[cfg(test)]
mod tests {
    use formats::document::{self, Dialect};

    use super::*;

    fn scope(json: &str) -> VariableScope {
        let document = document::parse(0, json, Dialect::Core).unwrap();
        let mut scope = VariableScope::default();
        scope.define(document.root.as_ref(), "the collection");
        scope
    }

    #[test]
    fn values_of_variables_may_contain_variables() {
        let mut scope = scope(
            r#"[{"key": "base", "value": "http://{{host}}/v1"}, {"key": "host", "value": "a.example"}, {"key": "again", "value": "{{again}}"}]"#,
        );
        assert_eq!(scope.expand("{{base}}/x"), "http://a.example/v1/x");
        let mut unknowns = Unknowns::default();
        let text = scope.resolve("{{ base }}/{{{x}}}", &mut unknowns).text;
        assert_eq!(placeholders::replaced(&text, "V"), "http://V/v1/{V}");
        assert_eq!(scope.expand("{{again}}"), "{{again}}");
        assert_eq!(scope.resolve("{{again}}", &mut unknowns).text, "{{again}}");
    }

    #[test]
    fn secrets_are_read_from_the_environment() {
        let mut scope = scope(
            r#"[{"key": "api_key", "value": "k-123"}, {"key": "pin", "value": "9", "type": "secret"}, {"key": "max_tokens", "value": "5"}]"#,
        );
        let mut unknowns = Unknowns::default();
        let text = scope.resolve("{{api_key}} {{pin}} {{max_tokens}}", &mut unknowns);
        assert!(!text.is_unset);
        let secret: Vec<_> = unknowns.list().iter().map(|one| one.env.as_str()).collect();
        assert_eq!(secret, ["API_KEY", "PIN"]);
        assert_eq!(
            scope.values(),
            [("max_tokens".to_owned(), Value::from("5"))]
        );
    }
}
