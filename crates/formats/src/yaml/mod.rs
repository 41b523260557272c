//! YAML and JSON files as positioned trees: every value and key knows its file, line and column, so that a problem can be shown
//! where it stands.
//!
//! The library's scanner finds the events; which scalar is a number is decided here, after the rules of the file's own world
//! ([`Dialect`]). Nothing here knows what the keys mean.

mod build;
mod event;
mod scalar;
mod surrogates;
#[cfg(test)]
mod tests;

use query::value;
use serde_json::{Map, Value};

pub(crate) use build::parse;

/// Whose rules decide what a plain scalar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// js-yaml 3, which Artillery uses: base-60 numbers, `_` in numbers, `0b`, leading-zero octal.
    JsYaml,
    /// The core schema of YAML 1.2.
    Core,
}

/// A place: a file by its number in the reader's list, line and column from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub file: usize,
    pub line: usize,
    pub column: usize,
}

/// A value with its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub mark: Mark,
    /// Columns from the mark to the text's first character; none where they cannot be told (blocks, folded lines).
    pub inset: Option<usize>,
    pub data: Data,
}

/// What a node is.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    /// Null, boolean, number or text; never a list or mapping.
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub key: String,
    pub key_mark: Mark,
    pub value: Node,
}

/// What is wrong with a file before anything looks at its meaning.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub mark: Mark,
    pub message: String,
}

/// A file's tree; no root for an empty file.
#[derive(Debug)]
pub(crate) struct Document {
    pub root: Option<Node>,
    /// Plain scalars that js-yaml would have made dates; here they stay text.
    pub dates: Vec<(Mark, String)>,
}

impl Node {
    /// A scalar that a reader makes up.
    pub fn scalar(mark: Mark, value: impl Into<Value>) -> Node {
        Node {
            mark,
            inset: None,
            data: Data::Scalar(value.into()),
        }
    }

    /// A whole JSON value, all at one place (command-line options).
    pub fn from_value(mark: Mark, value: Value) -> Node {
        let data = match value {
            Value::Array(items) => Data::List(
                items
                    .into_iter()
                    .map(|item| Node::from_value(mark, item))
                    .collect(),
            ),
            Value::Object(map) => {
                let entry = |(key, item)| Entry {
                    key,
                    key_mark: mark,
                    value: Node::from_value(mark, item),
                };
                Data::Map(map.into_iter().map(entry).collect())
            }
            scalar => Data::Scalar(scalar),
        };
        let mut node = Node {
            mark,
            inset: None,
            data,
        };
        if let Data::Scalar(scalar) = &mut node.data {
            value::normalise(scalar);
        }
        node
    }

    /// Without places.
    pub fn to_value(&self) -> Value {
        match &self.data {
            Data::Scalar(value) => value.clone(),
            Data::List(items) => items.iter().map(Node::to_value).collect(),
            Data::Map(entries) => {
                let pairs = entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.data {
            Data::Map(entries) => entries
                .iter_mut()
                .find(|entry| entry.key == key)
                .map(|entry| &mut entry.value),
            _ => None,
        }
    }

    /// Sets a key of a mapping; anything else becomes one first.
    pub fn set(&mut self, key: &str, value: Node) {
        if !matches!(self.data, Data::Map(_)) {
            self.data = Data::Map(Vec::new());
        }
        if let Data::Map(entries) = &mut self.data {
            match entries.iter_mut().find(|entry| entry.key == key) {
                Some(entry) => entry.value = value,
                None => entries.push(Entry {
                    key: key.to_owned(),
                    key_mark: value.mark,
                    value,
                }),
            }
        }
    }

    /// The entries of a mapping; none for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.data {
            Data::Map(entries) => entries,
            _ => &[],
        }
    }

    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.data {
            Data::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_scalar(&self) -> Option<&Value> {
        match &self.data {
            Data::Scalar(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().and_then(Value::as_str)
    }

    pub fn as_bool(&self) -> Option<bool> {
        self.as_scalar().and_then(Value::as_bool)
    }

    pub fn is_map(&self) -> bool {
        matches!(self.data, Data::Map(_))
    }

    pub fn is_null(&self) -> bool {
        matches!(self.data, Data::Scalar(Value::Null))
    }

    /// What JavaScript takes for true in a condition.
    pub fn is_truthy(&self) -> bool {
        match &self.data {
            Data::Scalar(Value::Null | Value::Bool(false)) => false,
            Data::Scalar(Value::Number(n)) => n.as_f64() != Some(0.0),
            Data::Scalar(Value::String(text)) => !text.is_empty(),
            _ => true,
        }
    }

    /// The value's text, as JavaScript has it.
    pub fn text(&self) -> String {
        value::text(Some(&self.to_value()))
    }

    /// What the node is, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.data {
            Data::Scalar(Value::Null) => "nothing",
            Data::Scalar(Value::Bool(_)) => "true or false",
            Data::Scalar(Value::Number(_)) => "a number",
            Data::Scalar(_) => "text",
            Data::List(_) => "a list",
            Data::Map(_) => "a mapping",
        }
    }

    /// The place of the text's byte at `offset`, as far as it can be told.
    pub fn mark_at(&self, offset: usize) -> Mark {
        let before = self.as_str().and_then(|text| text.get(..offset));
        match (self.inset, before) {
            (Some(inset), Some(before)) => Mark {
                column: self.mark.column + inset + before.chars().count(),
                ..self.mark
            },
            _ => self.mark,
        }
    }
}
