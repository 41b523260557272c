//! Functions in templates. To add a function, add a variant, a line in [`FUNCTIONS`], and an arm in
//! [`FunctionCall::write`].

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use query::Scope;

use super::{Undefined, fake::Fakery, write_expanded};
use crate::rng::Rng;

/// The functions that a template may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Functions {
    /// Loadline's built-in functions. Other names are errors.
    #[default]
    BuiltIn,
    /// The built-in functions, and functions that a script defines during the run.
    Script,
}

/// A call of a function, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FunctionCall {
    /// A random integer in `min..=max`.
    RandomNumber(i64, i64),
    /// A string of this many random characters from `a-zA-Z0-9`.
    RandomString(usize),
    /// A fake-data function. Requires the plugin.
    Fake(Fakery),
    /// A function of the script, by name. An argument that is not a whole number is `None`.
    Script(String, Vec<Option<i64>>),
}

/// Creates a call from its arguments. An argument that is not a number is `None`, like NaN in
/// JavaScript.
type Read = fn(&[Option<i64>]) -> Result<FunctionCall, String>;

pub(super) const FUNCTIONS: &[(&str, &str, Read)] = &[
    ("$randomNumber", "$randomNumber(min, max)", random_number),
    ("$randomString", "$randomString(length)", random_string),
];

const MAX_LENGTH: i64 = 1 << 20;

fn random_number(arguments: &[Option<i64>]) -> Result<FunctionCall, String> {
    let argument = |i: usize| arguments.get(i).copied().flatten();
    let (min, max) = match (argument(0), argument(1)) {
        (Some(a), Some(b)) => (a.min(b), a.max(b)),
        (Some(a), None) | (None, Some(a)) => (0, a),
        (None, None) => (0, 1),
    };
    Ok(FunctionCall::RandomNumber(min, max))
}

fn random_string(arguments: &[Option<i64>]) -> Result<FunctionCall, String> {
    match arguments.first().copied().flatten().unwrap_or(10) {
        length if length > MAX_LENGTH => Err(format!("creates at most {MAX_LENGTH} characters")),
        length => Ok(FunctionCall::RandomString(
            usize::try_from(length).unwrap_or(0),
        )),
    }
}

impl FunctionCall {
    /// Returns the call as it could be written in a template.
    #[must_use]
    pub fn source(&self) -> String {
        match self {
            FunctionCall::RandomNumber(min, max) => {
                format!("{{{{ $randomNumber({min}, {max}) }}}}")
            }
            FunctionCall::RandomString(length) => format!("{{{{ $randomString({length}) }}}}"),
            FunctionCall::Fake(fakery) => format!("{{{{ ${}() }}}}", fakery.name()),
            FunctionCall::Script(name, arguments) => {
                let text = |argument: &Option<i64>| {
                    argument.map_or_else(|| "undefined".to_owned(), |n| n.to_string())
                };
                let arguments: Vec<String> = arguments.iter().map(text).collect();
                format!("{{{{ {name}({}) }}}}", arguments.join(", "))
            }
        }
    }

    /// Returns the result with its type. The result of a script's function is text. Fails like
    /// [`FunctionCall::write`].
    pub fn value(&self, scope: &dyn Scope, rng: &mut Rng) -> Result<Value, Undefined> {
        let mut text = String::new();
        self.write(scope, rng, &mut text)?;
        Ok(match self {
            FunctionCall::RandomNumber(..) => text.parse::<i64>().map_or(Value::Null, Value::from),
            _ => Value::String(text),
        })
    }

    /// Appends the result as text. Fails and writes nothing if the script has no such function.
    pub fn write(
        &self,
        scope: &dyn Scope,
        rng: &mut Rng,
        out: &mut String,
    ) -> Result<(), Undefined> {
        const ALPHABET: &[u8; 62] =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        match self {
            FunctionCall::RandomNumber(min, max) => {
                let offset = rng.below(max.abs_diff(*min).saturating_add(1));
                let _ = write!(out, "{}", min.saturating_add_unsigned(offset));
            }
            FunctionCall::Fake(fakery) => fakery.write(rng, out),
            FunctionCall::RandomString(length) => {
                out.extend((0..*length).map(|_| char::from(ALPHABET[rng.below(62) as usize])));
            }
            FunctionCall::Script(name, arguments) => {
                let text = scope.call(name, arguments).ok_or(Undefined)?;
                write_expanded(&text, scope, out, 0);
            }
        }
        Ok(())
    }
}
