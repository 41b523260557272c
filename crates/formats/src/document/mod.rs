//! YAML and JSON files as trees with positions. The meaning of keys does not matter here.
//!
//! A library scans the text. The [`Dialect`] determines the types of plain scalars.

mod build;
mod event;
mod scalar;
mod surrogates;
#[cfg(test)]
mod tests;

use query::value;
use serde_json::{Map, Value};

pub use build::parse;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// js-yaml 3, as used by Artillery: numbers in base 60, `_` in numbers, `0b`, and octal numbers
    /// with a leading zero.
    JsYaml,
    Core,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub file: usize,
    pub line: usize,
    pub column: usize,
}

impl Mark {
    #[must_use]
    pub fn start_of(file: usize) -> Mark {
        Mark {
            file,
            line: 1,
            column: 1,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Node {
    pub mark: Mark,
    /// Number of columns from the mark to the first character of the text. `None` if unknown, as in
    /// blocks and folded lines.
    pub inset: Option<usize>,
    pub data: NodeData,
}

#[derive(Debug, Clone)]
pub enum NodeData {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub key: String,
    pub key_mark: Mark,
    pub value: Node,
}

#[derive(Debug)]
pub struct SyntaxError {
    pub mark: Mark,
    pub message: String,
}

#[derive(Debug)]
pub struct Document {
    pub root: Option<Node>,
    pub dates: Vec<(Mark, String)>,
}

impl Node {
    pub fn scalar(mark: Mark, value: impl Into<Value>) -> Node {
        Node {
            mark,
            inset: None,
            data: NodeData::Scalar(value.into()),
        }
    }

    /// Converts a JSON value. All nodes get the same position, for example the position of a
    /// command-line option.
    pub fn from_value(mark: Mark, value: Value) -> Node {
        let data = match value {
            Value::Array(items) => NodeData::List(
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
                NodeData::Map(map.into_iter().map(entry).collect())
            }
            scalar => NodeData::Scalar(scalar),
        };
        let mut node = Node {
            mark,
            inset: None,
            data,
        };
        if let NodeData::Scalar(scalar) = &mut node.data {
            value::normalise(scalar);
        }
        node
    }

    pub fn to_value(&self) -> Value {
        match &self.data {
            NodeData::Scalar(value) => value.clone(),
            NodeData::List(items) => items.iter().map(Node::to_value).collect(),
            NodeData::Map(entries) => {
                let pairs = entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.data {
            NodeData::Map(entries) => entries
                .iter_mut()
                .find(|entry| entry.key == key)
                .map(|entry| &mut entry.value),
            _ => None,
        }
    }

    pub fn set(&mut self, key: &str, value: Node) {
        if !matches!(self.data, NodeData::Map(_)) {
            self.data = NodeData::Map(Vec::new());
        }
        if let NodeData::Map(entries) = &mut self.data {
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

    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.data {
            NodeData::Map(entries) => entries,
            _ => &[],
        }
    }

    #[must_use]
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.data {
            NodeData::List(items) => Some(items),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_scalar(&self) -> Option<&Value> {
        match &self.data {
            NodeData::Scalar(value) => Some(value),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().and_then(Value::as_str)
    }

    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        self.as_scalar().and_then(Value::as_bool)
    }

    #[must_use]
    pub fn is_map(&self) -> bool {
        matches!(self.data, NodeData::Map(_))
    }

    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.data, NodeData::Scalar(Value::Null))
    }

    pub fn is_truthy(&self) -> bool {
        match &self.data {
            NodeData::Scalar(Value::Null | Value::Bool(false)) => false,
            NodeData::Scalar(Value::Number(n)) => n.as_f64() != Some(0.0),
            NodeData::Scalar(Value::String(text)) => !text.is_empty(),
            _ => true,
        }
    }

    pub fn text(&self) -> String {
        value::text(Some(&self.to_value()))
    }

    pub fn kind(&self) -> &'static str {
        match &self.data {
            NodeData::Scalar(Value::Null) => "nothing",
            NodeData::Scalar(Value::Bool(_)) => "true or false",
            NodeData::Scalar(Value::Number(_)) => "a number",
            NodeData::Scalar(_) => "text",
            NodeData::List(_) => "a list",
            NodeData::Map(_) => "a mapping",
        }
    }

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
