//! Resolves the variables of a source. Secret values become environment variables, values from
//! responses become captures, and other values become variables of the plan.

use std::{
    collections::{BTreeMap, BTreeSet},
    marker::PhantomData,
};

use serde_json::Value;

use crate::{
    placeholders,
    unknowns::{Unknowns, is_secret},
};

/// Maximum nesting of variables within values.
const DEEPEST: usize = 8;

/// How a source writes variables, and which of them it computes itself.
pub trait VariableSyntax {
    /// Name of the source, as used in comments, for example `collection`.
    const SOURCE: &'static str;

    /// Finds the first variable in a text.
    fn find(text: &str) -> Option<VariableUse<'_>>;

    /// Translates a variable or function that the source computes. `None` if `name` is an ordinary
    /// variable.
    fn computed(name: &str) -> Option<ComputedValue>;

    /// Writes a reference to a variable.
    fn write(name: &str) -> String;
}

/// A variable in a text, and the text on both sides of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VariableUse<'t> {
    pub before: &'t str,
    pub name: &'t str,
    pub after: &'t str,
}

impl<'t> VariableUse<'t> {
    /// Returns the variable as written in `text`.
    fn written(&self, text: &'t str) -> &'t str {
        &text[self.before.len()..text.len() - self.after.len()]
    }
}

/// How a plan replaces a value that the source computes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComputedValue {
    Same(String),
    /// A value that differs from the original. A comment at the top of the plan explains the
    /// difference.
    Similar {
        text: String,
        remark: String,
    },
    /// A value that the source reads from its environment or its command line, with its default.
    Setting {
        name: String,
        value: String,
    },
    Environment(String),
    /// A value that plans cannot compute. The user exports it under this name.
    Unknown {
        hint: String,
    },
}

#[derive(Debug, Clone)]
pub struct Definition {
    pub value: String,
    pub is_secret: bool,
    /// Origin of the value, for example `the environment`.
    pub origin: &'static str,
}

#[derive(Debug)]
pub struct VariableScope<S> {
    definitions: BTreeMap<String, Definition>,
    /// Variables that any request captures from its response.
    set_by_responses: BTreeSet<String>,
    /// Names in the plan of the variables that an earlier request captures.
    captured: BTreeMap<String, String>,
    constants: BTreeMap<String, String>,
    /// Variables that are used before a request captures them.
    used_early: BTreeMap<String, String>,
    values: Vec<(String, Value)>,
    remarks: BTreeSet<String>,
    syntax: PhantomData<S>,
}

/// A text in which the variables have been replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedText {
    pub text: String,
    /// Whether a variable gets its value only from a later request.
    pub is_unset: bool,
}

impl<S> Default for VariableScope<S> {
    fn default() -> VariableScope<S> {
        VariableScope {
            definitions: BTreeMap::new(),
            set_by_responses: BTreeSet::new(),
            captured: BTreeMap::new(),
            constants: BTreeMap::new(),
            used_early: BTreeMap::new(),
            values: Vec::new(),
            remarks: BTreeSet::new(),
            syntax: PhantomData,
        }
    }
}

impl<S: VariableSyntax> VariableScope<S> {
    /// Adds a variable. A later definition with the same name replaces an earlier one.
    pub fn define(&mut self, name: &str, definition: Definition) {
        self.definitions.insert(name.to_owned(), definition);
    }

    /// Adds a variable. It is secret if its name indicates a secret.
    pub fn define_text(&mut self, name: &str, value: String, origin: &'static str) {
        let is_secret = is_secret(name);
        self.define(
            name,
            Definition {
                value,
                is_secret,
                origin,
            },
        );
    }

    /// Adds a variable that the plan sets under another name, such as a column of a table.
    pub fn provide(&mut self, name: &str, own: String) {
        self.captured.insert(name.to_owned(), own);
    }

    /// Announces a variable that a request captures from its response.
    pub fn announce(&mut self, name: &str) {
        self.set_by_responses.insert(name.to_owned());
    }

    /// Returns the name in the plan of a variable that a request captures.
    pub fn capture(&mut self, name: &str, unknowns: &mut Unknowns) -> String {
        self.used_early.remove(name);
        if let Some(known) = self.captured.get(name).or_else(|| self.constants.get(name)) {
            let known = known.clone();
            self.captured.insert(name.to_owned(), known.clone());
            return known;
        }
        let own = unknowns.reserve(name);
        self.captured.insert(name.to_owned(), own.clone());
        own
    }

    /// Turns variables that are used but never captured into environment variables. Must be called
    /// after all requests are drafted.
    pub fn finish(&mut self, unknowns: &mut Unknowns) {
        for (name, own) in std::mem::take(&mut self.used_early) {
            let what = format!("the variable {name} of the {}", S::SOURCE);
            unknowns.fill(&own, &what);
        }
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
        while let Some(found) = S::find(rest) {
            out.text.push_str(found.before);
            let value = self.value(&found, rest, unknowns, depth);
            out.text.push_str(&value.text);
            out.is_unset |= value.is_unset;
            rest = found.after;
        }
        out.text.push_str(rest);
        out
    }

    /// Resolves a URL. In its host, variables without a known value become environment variables,
    /// because a plan's target may contain no other variables.
    pub fn resolve_url(&mut self, url: &str, unknowns: &mut Unknowns) -> String {
        let url = self.expand_start(url);
        let (origin, path) = url.split_at(path_begin::<S>(&url));
        let is_whole =
            S::find(origin).is_some_and(|found| found.before.is_empty() && found.after.is_empty());
        let mut out = String::new();
        let mut rest = origin;
        while let Some(found) = S::find(rest) {
            out.push_str(found.before);
            let name = found.name;
            let what = if is_whole {
                format!(
                    "URL of the service ({name} of the {}): https://…",
                    S::SOURCE
                )
            } else {
                format!("host or part of it ({name} of the {})", S::SOURCE)
            };
            out.push_str(&unknowns.environment(&Unknowns::env_of(name), &what));
            rest = found.after;
        }
        out.push_str(rest);
        out.push_str(&self.resolve(path, unknowns).text);
        out
    }

    /// Expands the variables that precede the path. One of them may contain the start of the path.
    fn expand_start(&self, url: &str) -> String {
        let (origin, path) = url.split_at(path_begin::<S>(url));
        format!("{}{path}", self.expand(origin))
    }

    /// Returns the value of a variable, unless the variable is secret, empty or captured.
    fn plain_value(&self, name: &str) -> Option<String> {
        let known = self.definitions.get(name);
        let known = known.filter(|known| !known.is_secret && !known.value.is_empty());
        let is_set_later = self.set_by_responses.contains(name) || self.captured.contains_key(name);
        known
            .filter(|_| !is_set_later)
            .map(|known| known.value.clone())
    }

    /// Replaces variables with a known value by this value.
    pub fn expand(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..DEEPEST {
            let mut out = String::new();
            let mut rest = text.as_str();
            while let Some(found) = S::find(rest) {
                out.push_str(found.before);
                let known = match S::computed(found.name) {
                    Some(ComputedValue::Setting { value, .. }) => Some(value),
                    Some(_) => None,
                    None => self.plain_value(found.name),
                };
                out.push_str(known.as_deref().unwrap_or(found.written(rest)));
                rest = found.after;
            }
            out.push_str(rest);
            if out == text || out.len() > text.len() + (1 << 16) {
                break;
            }
            text = out;
        }
        text
    }

    fn value(
        &mut self,
        found: &VariableUse<'_>,
        text: &str,
        unknowns: &mut Unknowns,
        depth: usize,
    ) -> ResolvedText {
        let name = found.name;
        let known = |text: String| ResolvedText {
            text,
            is_unset: false,
        };
        match S::computed(name) {
            Some(ComputedValue::Same(text)) => return known(text),
            Some(ComputedValue::Similar { text, remark }) => {
                self.remarks.insert(remark);
                return known(text);
            }
            Some(ComputedValue::Environment(name)) => {
                let what = format!("which the {} reads too", S::SOURCE);
                return known(unknowns.environment(&name, &what));
            }
            Some(ComputedValue::Unknown { hint }) => {
                let written = found.written(text);
                let what = format!("the value of {written}, which plans cannot compute");
                return known(unknowns.missing(&hint, &what));
            }
            Some(ComputedValue::Setting { name, value }) => {
                // In JMeter, thread groups share captured values as properties.
                if let Some(own) = self.captured.get(&name) {
                    return known(placeholders::variable(own));
                }
                // A variable with the same name may be defined by this setting.
                let key = format!("setting {name}");
                self.define_text(&key, value, "the command line");
                return self.variable(&key, &name, unknowns, depth);
            }
            None => {}
        }
        self.variable(name, name, unknowns, depth)
    }

    /// Returns the variable with the key `name`. The plan names it after `hint`.
    fn variable(
        &mut self,
        name: &str,
        hint: &str,
        unknowns: &mut Unknowns,
        depth: usize,
    ) -> ResolvedText {
        let known = |text: String| ResolvedText {
            text,
            is_unset: false,
        };
        if let Some(own) = self.captured.get(name) {
            return known(placeholders::variable(own));
        }
        let definition = self.definitions.get(name).cloned();
        let definition = definition.filter(|definition| !definition.value.is_empty());
        let Some(definition) = definition else {
            if self.set_by_responses.contains(name) {
                let own = self.capture(name, unknowns);
                self.captured.remove(name);
                self.constants.insert(name.to_owned(), own.clone());
                self.used_early.insert(name.to_owned(), own.clone());
                return ResolvedText {
                    text: placeholders::variable(&own),
                    is_unset: true,
                };
            }
            let what = format!("the variable {hint} of the {}", S::SOURCE);
            return known(unknowns.missing(hint, &what));
        };
        if definition.is_secret {
            let what = format!("the variable {hint} of {}", definition.origin);
            return known(unknowns.secret(hint, &definition.value, &what));
        }
        // Variables of a plan have constant values, which cannot contain double braces.
        if S::find(&definition.value).is_some() || definition.value.contains("{{") {
            return match depth.checked_sub(1) {
                Some(depth) => self.resolve_within(&definition.value, unknowns, depth),
                None => known(definition.value),
            };
        }
        if let Some(own) = self.constants.get(name) {
            return known(placeholders::variable(own));
        }
        let own = unknowns.reserve(hint);
        self.constants.insert(name.to_owned(), own.clone());
        self.values
            .push((own.clone(), Value::from(definition.value)));
        known(placeholders::variable(&own))
    }
}

/// Returns where the path of a URL begins: at the first `/` or `?` after the host that is not
/// within a variable.
fn path_begin<S: VariableSyntax>(url: &str) -> usize {
    let mut at = url.find("://").map_or(0, |at| at + 3);
    while let Some(found) = S::find(&url[at..]) {
        if found.before.contains(['/', '?']) {
            break;
        }
        at = url.len() - found.after.len();
    }
    let path = url[at..].find(['/', '?']);
    path.map_or(url.len(), |path| at + path)
}
