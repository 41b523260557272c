//! Reads script expressions that a plan can express.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::token::{Token, TokenKind, arguments, closing};

const SCOPES: [&str; 5] = [
    "environment",
    "collectionVariables",
    "globals",
    "variables",
    "iterationData",
];
const DEEPEST: usize = 24;

#[derive(Debug, Clone, PartialEq)]
pub enum ScriptValue {
    /// A JSONPath in the response.
    Json(String),
    Header(String),
    Status,
    Body,
    ResponseTime,
    Literal(Value),
    /// A variable of the collection.
    Variable(String),
    /// Text with variables in double braces.
    Text(String),
}

/// Names in a script that refer to parts of the response.
pub type Aliases = BTreeMap<String, ScriptValue>;

/// Reads an expression. `None` if a plan cannot express it.
pub fn read(tokens: &[Token<'_>], aliases: &Aliases) -> Option<ScriptValue> {
    if let Some(value) = literal(tokens, DEEPEST) {
        return Some(ScriptValue::Literal(value));
    }
    let (value, rest) = primary(tokens, aliases)?;
    suffixes(value, rest)
}

/// Returns the tokens that follow the words and marks in `pattern`, which are separated by blanks.
pub fn strip<'t, 's>(tokens: &'s [Token<'t>], pattern: &str) -> Option<&'s [Token<'t>]> {
    let mut rest = tokens;
    for word in pattern.split(' ') {
        let (first, after) = rest.split_first()?;
        if !first.is(word) {
            return None;
        }
        rest = after;
    }
    Some(rest)
}

/// The arguments of a call, and the tokens after the call.
pub struct CallParts<'s, 't> {
    pub arguments: Vec<&'s [Token<'t>]>,
    pub rest: &'s [Token<'t>],
}

/// Reads `(…)` at the start of `tokens`.
pub fn call<'s, 't>(tokens: &'s [Token<'t>]) -> Option<CallParts<'s, 't>> {
    if !tokens.first()?.is("(") {
        return None;
    }
    let end = closing(tokens, 0)?;
    Some(CallParts {
        arguments: arguments(&tokens[1..end]),
        rest: &tokens[end + 1..],
    })
}

/// Reads `pm.SCOPE.` and returns the tokens that follow it.
pub fn scope<'s, 't>(tokens: &'s [Token<'t>]) -> Option<&'s [Token<'t>]> {
    let rest = strip(tokens, "pm .")?;
    let (scope, rest) = rest.split_first()?;
    if !SCOPES.contains(&scope.text) {
        return None;
    }
    strip(rest, ".")
}

fn one_text<'s>(call: &CallParts<'s, '_>) -> Option<&'s str> {
    match call.arguments[..] {
        [[token]] => token.as_text(),
        _ => None,
    }
}

type Primary<'s, 't> = (ScriptValue, &'s [Token<'t>]);

fn primary<'s, 't>(tokens: &'s [Token<'t>], aliases: &Aliases) -> Option<Primary<'s, 't>> {
    let plain = [
        (
            "pm . response . json ( )",
            ScriptValue::Json("$".to_owned()),
        ),
        ("pm . response . text ( )", ScriptValue::Body),
        ("pm . response . code", ScriptValue::Status),
        ("pm . response . responseTime", ScriptValue::ResponseTime),
        ("responseCode . code", ScriptValue::Status),
        ("responseBody", ScriptValue::Body),
        ("responseTime", ScriptValue::ResponseTime),
    ];
    for (pattern, value) in plain {
        if let Some(rest) = strip(tokens, pattern) {
            return Some((value, rest));
        }
    }
    if let Some(rest) = strip(tokens, "JSON . parse") {
        let call = call(rest)?;
        let [inner] = call.arguments[..] else {
            return None;
        };
        let is_body = read(inner, aliases)? == ScriptValue::Body;
        return is_body.then(|| (ScriptValue::Json("$".to_owned()), call.rest));
    }
    for pattern in [
        "pm . response . headers . get",
        "postman . getResponseHeader",
    ] {
        if let Some(rest) = strip(tokens, pattern) {
            let call = call(rest)?;
            return Some((ScriptValue::Header(one_text(&call)?.to_owned()), call.rest));
        }
    }
    if let Some(rest) = scope(tokens) {
        if let Some(rest) = strip(rest, "get") {
            let call = call(rest)?;
            return Some((
                ScriptValue::Variable(one_text(&call)?.to_owned()),
                call.rest,
            ));
        }
        let call = call(strip(rest, "replaceIn")?)?;
        return Some((ScriptValue::Text(one_text(&call)?.to_owned()), call.rest));
    }
    let (first, rest) = tokens.split_first()?;
    if first.kind != TokenKind::Word {
        return None;
    }
    Some((aliases.get(first.text)?.clone(), rest))
}

fn suffixes(mut value: ScriptValue, mut rest: &[Token<'_>]) -> Option<ScriptValue> {
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = strip(rest, ". toString ( )") {
            rest = after;
            continue;
        }
        let ScriptValue::Json(path) = &mut value else {
            return None;
        };
        if first.is("[") || first.is("?.") && after.first().is_some_and(|next| next.is("[")) {
            let open = usize::from(first.is("?."));
            let [_, key, close, ..] = rest.get(open..)? else {
                return None;
            };
            if !close.is("]") {
                return None;
            }
            match (key.as_text(), &key.kind) {
                (Some(name), _) => path.push_str(&member(name)),
                (None, TokenKind::Number) if key.text.parse::<u16>().is_ok() => {
                    path.push_str(&format!("[{}]", key.text));
                }
                _ => return None,
            }
            rest = &rest[open + 3..];
        } else if first.is(".") || first.is("?.") {
            let (name, after) = after.split_first()?;
            let is_call = after.first().is_some_and(|next| next.is("("));
            if name.kind != TokenKind::Word || is_call || name.text == "length" {
                return None;
            }
            path.push_str(&member(name.text));
            rest = after;
        } else {
            return None;
        }
    }
    Some(value)
}

/// Returns a member of a JSONPath: `.name`, or `['na-me']`.
pub fn member(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.is_empty()
        && name.chars().all(is_plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
    {
        return format!(".{name}");
    }
    format!("['{}']", name.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn literal(tokens: &[Token<'_>], depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let inner = |tokens| literal(tokens, depth);
    match tokens {
        [token] => match &token.kind {
            TokenKind::Text(text) => Some(Value::from(text.as_str())),
            TokenKind::Number => serde_json::from_str(token.text).ok(),
            _ if token.is("true") => Some(Value::Bool(true)),
            _ if token.is("false") => Some(Value::Bool(false)),
            _ if token.is("null") => Some(Value::Null),
            _ => None,
        },
        [minus, number] if minus.is("-") && number.kind == TokenKind::Number => {
            serde_json::from_str(&format!("-{}", number.text)).ok()
        }
        [open, items @ .., close] if open.is("[") && close.is("]") => {
            arguments(items).into_iter().map(inner).collect()
        }
        [open, items @ .., close] if open.is("{") && close.is("}") => {
            let pairs = arguments(items).into_iter().map(|pair| {
                let (key, rest) = pair.split_first()?;
                let name = key.as_text().unwrap_or(key.text);
                Some((name.to_owned(), inner(strip(rest, ":")?)?))
            });
            Some(Value::Object(pairs.collect::<Option<Map<_, _>>>()?))
        }
        _ => None,
    }
}
