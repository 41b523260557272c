//! Functions of templates. A new function needs a variant, a line in [`FUNCTIONS`] and an arm in
//! [`BuiltIn::write`].

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use super::fake::Fakery;
use crate::rng::Rng;

/// A built-in function with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BuiltIn {
    /// A random integer in `min..=max`.
    RandomNumber(i64, i64),
    /// A string of this many random characters from `a-zA-Z0-9`.
    RandomString(usize),
    /// A fake-data function, which requires the plugin.
    Fake(Fakery),
}

/// Creates a function from its arguments. An argument that is not a number is `None`, as NaN would
/// be in JavaScript.
type Read = fn(&[Option<i64>]) -> Result<BuiltIn, String>;

pub(super) const FUNCTIONS: &[(&str, &str, Read)] = &[
    ("$randomNumber", "$randomNumber(min, max)", random_number),
    ("$randomString", "$randomString(length)", random_string),
];

const MAX_LENGTH: i64 = 1 << 20;

fn random_number(arguments: &[Option<i64>]) -> Result<BuiltIn, String> {
    let argument = |i: usize| arguments.get(i).copied().flatten();
    let (min, max) = match (argument(0), argument(1)) {
        (Some(a), Some(b)) => (a.min(b), a.max(b)),
        (Some(a), None) | (None, Some(a)) => (0, a),
        (None, None) => (0, 1),
    };
    Ok(BuiltIn::RandomNumber(min, max))
}

fn random_string(arguments: &[Option<i64>]) -> Result<BuiltIn, String> {
    match arguments.first().copied().flatten().unwrap_or(10) {
        length if length > MAX_LENGTH => Err(format!("creates at most {MAX_LENGTH} characters")),
        length => Ok(BuiltIn::RandomString(usize::try_from(length).unwrap_or(0))),
    }
}

impl BuiltIn {
    /// Returns the call as it could be written in a template.
    #[must_use]
    pub fn source(&self) -> String {
        match self {
            BuiltIn::RandomNumber(min, max) => format!("{{{{ $randomNumber({min}, {max}) }}}}"),
            BuiltIn::RandomString(length) => format!("{{{{ $randomString({length}) }}}}"),
            BuiltIn::Fake(fakery) => format!("{{{{ ${}() }}}}", fakery.name()),
        }
    }

    /// Returns the result with its type.
    #[must_use]
    pub fn value(&self, rng: &mut Rng) -> Value {
        let mut text = String::new();
        self.write(rng, &mut text);
        match self {
            BuiltIn::RandomNumber(..) => text.parse::<i64>().map_or(Value::Null, Value::from),
            BuiltIn::RandomString(_) | BuiltIn::Fake(_) => Value::String(text),
        }
    }

    /// Appends the result as text.
    pub fn write(&self, rng: &mut Rng, out: &mut String) {
        const ALPHABET: &[u8; 62] =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        match *self {
            BuiltIn::RandomNumber(min, max) => {
                let offset = rng.below(max.abs_diff(min).saturating_add(1));
                let _ = write!(out, "{}", min.saturating_add_unsigned(offset));
            }
            BuiltIn::Fake(fakery) => fakery.write(rng, out),
            BuiltIn::RandomString(length) => {
                out.extend((0..length).map(|_| char::from(ALPHABET[rng.below(62) as usize])));
            }
        }
    }
}
