//! JavaScript values, and the conversions that filtrex uses.

use std::{borrow::Cow, cmp::Ordering};

use serde_json::Value;

use crate::value;

#[derive(Debug, Clone)]
pub enum Operand<'v> {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'v, str>),
    Json(&'v Value),
    List(Vec<Operand<'v>>),
}

impl<'v> Operand<'v> {
    pub fn from_value(value: Option<&'v Value>) -> Operand<'v> {
        match value {
            None => Operand::Undefined,
            Some(Value::Null) => Operand::Null,
            Some(Value::Bool(yes)) => Operand::Bool(*yes),
            Some(Value::Number(n)) => Operand::Number(n.as_f64().unwrap_or(f64::NAN)),
            Some(Value::String(text)) => Operand::Text(Cow::Borrowed(text)),
            Some(other) => Operand::Json(other),
        }
    }

    pub fn truth(holds: bool) -> Operand<'v> {
        Operand::Number(f64::from(u8::from(holds)))
    }

    pub fn is_truthy(&self) -> bool {
        match self {
            Operand::Undefined | Operand::Null => false,
            Operand::Bool(yes) => *yes,
            Operand::Number(n) => !n.is_nan() && *n != 0.0,
            Operand::Text(text) => !text.is_empty(),
            Operand::Json(_) | Operand::List(_) => true,
        }
    }

    pub fn number(&self) -> f64 {
        match self {
            Operand::Undefined => f64::NAN,
            Operand::Null => 0.0,
            Operand::Bool(yes) => f64::from(u8::from(*yes)),
            Operand::Number(n) => *n,
            other => value::number_of(&other.text()),
        }
    }

    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Operand::Undefined => "undefined".into(),
            Operand::Null => "null".into(),
            Operand::Bool(yes) => yes.to_string().into(),
            Operand::Number(n) => {
                let mut out = String::new();
                value::write_f64(*n, &mut out);
                out.into()
            }
            Operand::Text(text) => text.as_ref().into(),
            Operand::Json(Value::Array(items)) => {
                let items = items.iter().map(|item| Operand::from_value(Some(item)));
                joined(items).into()
            }
            Operand::Json(_) => "[object Object]".into(),
            Operand::List(items) => joined(items.iter().cloned()).into(),
        }
    }

    pub fn equals(&self, other: &Operand<'_>) -> bool {
        use Operand::{Bool, Json, List, Null, Number, Text, Undefined};
        match (self, other) {
            (Undefined | Null, Undefined | Null) => true,
            (Undefined | Null, _) | (_, Undefined | Null) => false,
            (Json(a), Json(b)) => std::ptr::eq(*a, *b),
            (Json(_) | List(_), List(_)) | (List(_), Json(_)) => false,
            (Text(_) | Json(_) | List(_), Text(_)) | (Text(_), Json(_) | List(_)) => {
                self.text() == other.text()
            }
            (Number(_) | Bool(_), _) | (_, Number(_) | Bool(_)) => self.number() == other.number(),
        }
    }

    /// Compares like JavaScript's `===`, which filtrex uses to search lists.
    pub fn is_same(&self, other: &Operand<'_>) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.equals(other)
    }

    /// Compares two strings by characters, and other values as numbers. Returns `None` if the
    /// values are not comparable.
    pub fn order(&self, other: &Operand<'_>) -> Option<Ordering> {
        let textual = |operand: &Operand<'_>| {
            matches!(
                operand,
                Operand::Text(_) | Operand::Json(_) | Operand::List(_)
            )
        };
        if textual(self) && textual(other) {
            return Some(self.text().encode_utf16().cmp(other.text().encode_utf16()));
        }
        self.number().partial_cmp(&other.number())
    }

    /// Adds like JavaScript's `+`: returns the sum of two numbers, otherwise the concatenation of
    /// the texts.
    pub fn plus(self, other: &Operand<'_>) -> Operand<'v> {
        let plain = |operand: &Operand<'_>| {
            matches!(
                operand,
                Operand::Undefined | Operand::Null | Operand::Bool(_) | Operand::Number(_)
            )
        };
        if plain(&self) && plain(other) {
            return Operand::Number(self.number() + other.number());
        }
        Operand::Text(format!("{}{}", self.text(), other.text()).into())
    }

    pub fn property(self, name: &str) -> Operand<'v> {
        match self {
            Operand::Json(Value::Object(map)) => Operand::from_value(map.get(name)),
            _ => Operand::Undefined,
        }
    }

    pub fn into_items(self) -> Vec<Operand<'v>> {
        match self {
            Operand::List(items) => items,
            Operand::Json(Value::Array(items)) => items
                .iter()
                .map(|item| Operand::from_value(Some(item)))
                .collect(),
            other => vec![other],
        }
    }
}

fn joined<'a>(items: impl Iterator<Item = Operand<'a>>) -> String {
    let texts: Vec<String> = items
        .map(|item| match item {
            Operand::Undefined | Operand::Null => String::new(),
            item => item.text().into_owned(),
        })
        .collect();
    texts.join(",")
}
