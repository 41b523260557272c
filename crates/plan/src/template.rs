//! Templates: values with `{{ variables }}` and `{{ $functions(…) }}`, in Artillery's dialect.
//!
//! A template is parsed once before the run and evaluated for each virtual user with a [`Scope`]. A
//! constant is a [`Template::Literal`], which the engine can encode in advance.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::rng::Rng;
use query::{Scope, path::Path, value};

mod fake;
mod function;
mod parse;

pub use fake::Fakery;
pub use function::{FunctionCall, Functions};
pub use parse::{TemplateError, unread_braces};

/// A value with placeholders.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Template {
    /// A constant.
    Literal(Value),
    /// A single variable, whose value keeps its type.
    Variable(Path),
    /// A single function call, whose result keeps its type. Only [`Template::typed`] creates this
    /// variant.
    Call(FunctionCall),
    /// Text with variables and function calls. Evaluates to text.
    Text(Vec<Piece>),
    /// A list of templates.
    List(Vec<Template>),
    /// A mapping of templates, in order.
    Map(Vec<(Template, Template)>),
}

/// A part of a text template.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// Literal text.
    Text(String),
    /// A variable, converted to text.
    Variable(Path),
    /// The result of a function call, converted to text.
    Call(FunctionCall),
}

/// The error for a template that is a single undefined variable. Such a template has no value,
/// unlike the text `undefined`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undefined;

impl std::fmt::Display for Undefined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("undefined")
    }
}

impl std::error::Error for Undefined {}

impl From<&str> for Template {
    /// Creates literal text, in which braces have no meaning.
    fn from(text: &str) -> Template {
        Template::Literal(Value::String(text.to_owned()))
    }
}

impl Template {
    /// Parses a value recursively, including keys. Fails if a function is unknown or its arguments
    /// are invalid.
    pub fn parse(value: &Value) -> Result<Template, TemplateError> {
        Template::parse_with(value, Functions::BuiltIn)
    }

    /// Parses a value whose templates may call these functions. Fails like [`Template::parse`].
    pub fn parse_with(value: &Value, functions: Functions) -> Result<Template, TemplateError> {
        let parse = |value: &Value| Template::parse_with(value, functions);
        match value {
            Value::String(text) => Template::parse_text_with(text, functions),
            Value::Array(items) => Ok(Template::list(
                items.iter().map(parse).collect::<Result<_, _>>()?,
            )),
            Value::Object(map) => {
                let pair = |(key, item): (&String, &Value)| {
                    Ok((Template::parse_text_with(key, functions)?, parse(item)?))
                };
                Ok(Template::map(
                    map.iter().map(pair).collect::<Result<_, _>>()?,
                ))
            }
            other => Ok(Template::Literal(other.clone())),
        }
    }

    /// Parses a string. Fails like [`Template::parse`].
    pub fn parse_text(text: &str) -> Result<Template, TemplateError> {
        Template::parse_text_with(text, Functions::BuiltIn)
    }

    /// Parses a string whose templates may call these functions. Fails like [`Template::parse`].
    pub fn parse_text_with(text: &str, functions: Functions) -> Result<Template, TemplateError> {
        parse::text(text, functions)
    }

    /// Creates a list. The list is a literal if all items are literals.
    #[must_use]
    pub fn list(items: Vec<Template>) -> Template {
        match items
            .iter()
            .map(|item| item.as_literal().cloned())
            .collect()
        {
            Some(values) => Template::Literal(Value::Array(values)),
            None => Template::List(items),
        }
    }

    /// Creates a mapping. The mapping is a literal if all keys and values are literals.
    #[must_use]
    pub fn map(entries: Vec<(Template, Template)>) -> Template {
        let literal = |(key, item): &(Template, Template)| {
            Some((
                value::text(Some(key.as_literal()?)),
                item.as_literal()?.clone(),
            ))
        };
        match entries.iter().map(literal).collect() {
            Some(map) => Template::Literal(Value::Object(map)),
            None => Template::Map(entries),
        }
    }

    /// Lets values that consist of a single function call keep the type of the result. Keys, and
    /// calls within text, still evaluate to text.
    #[must_use]
    pub fn typed(self) -> Template {
        match self {
            Template::Text(pieces) => match <[Piece; 1]>::try_from(pieces) {
                Ok([Piece::Call(function)]) => Template::Call(function),
                Ok(other) => Template::Text(other.into()),
                Err(pieces) => Template::Text(pieces),
            },
            Template::List(items) => {
                Template::List(items.into_iter().map(Template::typed).collect())
            }
            Template::Map(entries) => {
                let typed = |(key, item): (Template, Template)| (key, item.typed());
                Template::Map(entries.into_iter().map(typed).collect())
            }
            other => other,
        }
    }

    /// Returns the value of a constant template. `None` if the template is not constant.
    #[must_use]
    pub fn as_literal(&self) -> Option<&Value> {
        match self {
            Template::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Returns all variables that the template uses.
    pub fn variables(&self) -> impl Iterator<Item = &Path> {
        let mut paths = Vec::new();
        self.collect_variables(&mut paths);
        paths.into_iter()
    }

    /// Returns the first function that requires the plugin `fake-data`.
    #[must_use]
    pub fn made_up(&self) -> Option<Fakery> {
        self.find_call(&|call| match call {
            FunctionCall::Fake(fakery) => Some(*fakery),
            _ => None,
        })
    }

    /// Returns the name of the first function that a script must define.
    #[must_use]
    pub fn script_function(&self) -> Option<&str> {
        self.find_call(&|call| match call {
            FunctionCall::Script(name, _) => Some(name.as_str()),
            _ => None,
        })
    }

    fn find_call<'t, T>(&'t self, wanted: &impl Fn(&'t FunctionCall) -> Option<T>) -> Option<T> {
        match self {
            Template::Literal(_) | Template::Variable(_) => None,
            Template::Call(call) => wanted(call),
            Template::Text(pieces) => pieces.iter().find_map(|piece| match piece {
                Piece::Call(call) => wanted(call),
                _ => None,
            }),
            Template::List(items) => items.iter().find_map(|item| item.find_call(wanted)),
            Template::Map(entries) => entries
                .iter()
                .find_map(|(key, item)| key.find_call(wanted).or_else(|| item.find_call(wanted))),
        }
    }

    fn collect_variables<'a>(&'a self, paths: &mut Vec<&'a Path>) {
        match self {
            Template::Literal(_) | Template::Call(_) => {}
            Template::Variable(path) => paths.push(path),
            Template::Text(pieces) => paths.extend(pieces.iter().filter_map(|piece| match piece {
                Piece::Variable(path) => Some(path),
                Piece::Text(_) | Piece::Call(_) => None,
            })),
            Template::List(items) => items.iter().for_each(|item| item.collect_variables(paths)),
            Template::Map(entries) => entries.iter().for_each(|(key, item)| {
                key.collect_variables(paths);
                item.collect_variables(paths);
            }),
        }
    }

    /// Evaluates the template for one virtual user. `None` means `undefined`. As in
    /// `JSON.stringify`, undefined values are dropped from mappings and become null in lists.
    #[must_use]
    pub fn eval(&self, scope: &dyn Scope, rng: &mut Rng) -> Option<Value> {
        match self {
            Template::Literal(value) => Some(value.clone()),
            Template::Variable(path) => path.get(scope).map(Cow::into_owned),
            Template::Call(function) => function.value(scope, rng).ok(),
            Template::Text(pieces) => {
                let mut out = String::new();
                write_pieces(pieces, scope, rng, &mut out).ok()?;
                Some(Value::String(out))
            }
            Template::List(items) => Some(
                items
                    .iter()
                    .map(|item| item.eval(scope, rng).unwrap_or(Value::Null))
                    .collect(),
            ),
            Template::Map(entries) => {
                let mut map = Map::new();
                for (key, item) in entries {
                    let key = key.to_text(scope, rng);
                    if let Some(value) = item.eval(scope, rng) {
                        map.insert(key, value);
                    }
                }
                Some(Value::Object(map))
            }
        }
    }

    /// Appends the value as text for a URL, a header or a line.
    ///
    /// Fails without writing anything if the template is a single undefined variable, or if it
    /// calls a function that does not exist.
    pub fn write_text(
        &self,
        scope: &dyn Scope,
        rng: &mut Rng,
        out: &mut String,
    ) -> Result<(), Undefined> {
        match self {
            Template::Literal(literal) => value::write_text(Some(literal), out),
            Template::Variable(path) => {
                value::write_text(Some(path.get(scope).ok_or(Undefined)?.as_ref()), out)
            }
            Template::Call(function) => return function.write(scope, rng, out),
            Template::Text(pieces) => return write_pieces(pieces, scope, rng, out),
            Template::List(_) | Template::Map(_) => return self.write_json(scope, rng, out),
        }
        Ok(())
    }

    /// Returns the template as it could be written in a file, with placeholders in braces.
    #[must_use]
    pub fn source(&self) -> Value {
        let braces = |path: &Path| format!("{{{{ {} }}}}", path.text());
        match self {
            Template::Literal(value) => value.clone(),
            Template::Variable(path) => Value::String(braces(path)),
            Template::Call(function) => Value::String(function.source()),
            Template::Text(pieces) => {
                let text = |piece: &Piece| match piece {
                    Piece::Text(text) => text.clone(),
                    Piece::Variable(path) => braces(path),
                    Piece::Call(function) => function.source(),
                };
                Value::String(pieces.iter().map(text).collect())
            }
            Template::List(items) => items.iter().map(Template::source).collect(),
            Template::Map(entries) => {
                let entry = |(key, item): &(Template, Template)| {
                    (value::text(Some(&key.source())), item.source())
                };
                Value::Object(entries.iter().map(entry).collect())
            }
        }
    }

    /// Returns the value as text, or `undefined` if the value is undefined.
    #[must_use]
    pub fn to_text(&self, scope: &dyn Scope, rng: &mut Rng) -> String {
        let mut out = String::new();
        if self.write_text(scope, rng, &mut out).is_err() {
            out.push_str("undefined");
        }
        out
    }

    /// Appends the value as compact JSON. Fails like [`Template::write_text`].
    pub fn write_json(
        &self,
        scope: &dyn Scope,
        rng: &mut Rng,
        out: &mut String,
    ) -> Result<(), Undefined> {
        match self {
            Template::Literal(literal) => value::write_json(literal, out),
            Template::Variable(path) => {
                value::write_json(path.get(scope).ok_or(Undefined)?.as_ref(), out)
            }
            Template::Text(pieces) => {
                let before = out.len();
                let mut written = Ok(());
                value::write_json_text(out, |out| {
                    written = write_pieces(pieces, scope, rng, out);
                });
                if written.is_err() {
                    out.truncate(before);
                }
                return written;
            }
            Template::Call(function) => value::write_json(&function.value(scope, rng)?, out),
            Template::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    if item.write_json(scope, rng, out).is_err() {
                        out.push_str("null");
                    }
                }
                out.push(']');
            }
            Template::Map(entries) => write_map(entries, scope, rng, out),
        }
        Ok(())
    }
}

fn write_map(entries: &[(Template, Template)], scope: &dyn Scope, rng: &mut Rng, out: &mut String) {
    // Templated keys may turn out equal, and the last one wins, so build a map.
    if entries.iter().any(|(key, _)| key.as_literal().is_none()) {
        let map = Template::Map(entries.to_vec())
            .eval(scope, rng)
            .unwrap_or(Value::Null);
        return value::write_json(&map, out);
    }
    out.push('{');
    let mut separator = "";
    for (key, item) in entries {
        let before = out.len();
        out.push_str(separator);
        match key.as_literal() {
            Some(Value::String(key)) => value::write_json_string(key, out),
            _ => value::write_json_string(&key.to_text(scope, rng), out),
        }
        out.push(':');
        match item.write_json(scope, rng, out) {
            Ok(()) => separator = ",",
            Err(Undefined) => out.truncate(before),
        }
    }
    out.push('}');
}

fn write_pieces(
    pieces: &[Piece],
    scope: &dyn Scope,
    rng: &mut Rng,
    out: &mut String,
) -> Result<(), Undefined> {
    let before = out.len();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Call(function) => {
                if function.write(scope, rng, out).is_err() {
                    out.truncate(before);
                    return Err(Undefined);
                }
            }
            Piece::Variable(path) => write_variable(path, scope, out, 0),
        }
    }
    Ok(())
}

/// Maximum nesting of variables in values. It stops values that refer to themselves.
const MAX_NESTING: u32 = 8;

/// Maximum size of an expanded value in bytes.
const MAX_EXPANDED: usize = 16 << 20;

fn write_variable(path: &Path, scope: &dyn Scope, out: &mut String, depth: u32) {
    let found = path.get(scope);
    let text = match found.as_deref() {
        Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
        Some(found @ (Value::Array(_) | Value::Object(_))) => Cow::Owned(value::json(found)),
        other => return value::write_text(other, out),
    };
    write_expanded(&text, scope, out, depth);
}

/// Appends a text, with its variables expanded.
fn write_expanded(text: &str, scope: &dyn Scope, out: &mut String, depth: u32) {
    if depth >= MAX_NESTING || out.len() > MAX_EXPANDED || !text.contains("{{") {
        return out.push_str(text);
    }
    for piece in parse::variables_only(text) {
        match piece {
            Piece::Text(text) => out.push_str(&text),
            Piece::Variable(path) => write_variable(&path, scope, out, depth + 1),
            Piece::Call(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
