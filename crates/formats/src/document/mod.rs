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

pub use build::parse;

/// Whose rules decide what a plain scalar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// js-yaml 3, which Artillery uses: base-60 numbers, `_` in numbers, `0b`, leading-zero octal.
    JsYaml,
    /// The core schema of YAML 1.2.
    Core,
}

/// A place: a file by its number in the reader's list, line and column from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The file's number.
    pub file: usize,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl Mark {
    /// Where a file begins.
    #[must_use]
    pub fn start_of(file: usize) -> Mark {
        Mark {
            file,
            line: 1,
            column: 1,
        }
    }
}

/// A value with its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it begins.
    pub mark: Mark,
    /// Columns from the mark to the text's first character; none where they cannot be told (blocks, folded lines).
    pub inset: Option<usize>,
    /// What it is.
    pub data: Data,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum Data {
    /// Null, boolean, number or text; never a list or mapping.
    Scalar(Value),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the file's order.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key's text.
    pub key: String,
    /// Where the key stands.
    pub key_mark: Mark,
    /// The value.
    pub value: Node,
}

/// What is wrong with a file before anything looks at its meaning.
#[derive(Debug)]
pub struct SyntaxError {
    /// Where.
    pub mark: Mark,
    /// In words.
    pub message: String,
}

/// A file's tree; no root for an empty file.
#[derive(Debug)]
pub struct Document {
    /// The tree.
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

    /// A key of a mapping with its value.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The value of a mapping's key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The same, to be changed.
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
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.data {
            Data::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.data {
            Data::List(items) => Some(items),
            _ => None,
        }
    }

    /// What is neither list nor mapping.
    #[must_use]
    pub fn as_scalar(&self) -> Option<&Value> {
        match &self.data {
            Data::Scalar(value) => Some(value),
            _ => None,
        }
    }

    /// A text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().and_then(Value::as_str)
    }

    /// True or false.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        self.as_scalar().and_then(Value::as_bool)
    }

    /// Whether it is a mapping.
    #[must_use]
    pub fn is_map(&self) -> bool {
        matches!(self.data, Data::Map(_))
    }

    /// Whether nothing stands there.
    #[must_use]
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
