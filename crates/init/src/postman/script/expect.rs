//! Translates the assertions of scripts into checks of a plan.

use serde_json::{Value, json};

use super::{
    token::{Token, TokenKind},
    value::{self, Aliases, CallParts, ScriptValue, strip},
};

/// The translation of an assertion.
#[derive(Debug, Clone, PartialEq)]
pub enum Assertion {
    Check(Value),
    /// A check whose expected value is a variable of the collection.
    EqualsVariable {
        path: String,
        name: String,
    },
    /// Maximum response time, in milliseconds.
    Limit(f64),
    /// A check that is weaker than the assertion, with a description of what it omits.
    Weaker {
        check: Value,
        lost: &'static str,
    },
}

const CHAIN_WORDS: [&str; 15] = [
    "to", "be", "been", "is", "that", "which", "and", "has", "have", "with", "at", "of", "same",
    "but", "deep",
];
const STATUSES: [(&str, u16); 13] = [
    ("ok", 200),
    ("created", 201),
    ("accepted", 202),
    ("nocontent", 204),
    ("badrequest", 400),
    ("unauthorized", 401),
    ("forbidden", 403),
    ("notfound", 404),
    ("conflict", 409),
    ("unprocessableentity", 422),
    ("ratelimited", 429),
    ("toomanyrequests", 429),
    ("internalservererror", 500),
];
const SUCCESS: [u16; 7] = [200, 201, 202, 203, 204, 205, 206];

fn status_named(name: &str) -> Option<u16> {
    let name: String = name.chars().filter(|c| c.is_ascii_alphabetic()).collect();
    let name = name.to_ascii_lowercase();
    STATUSES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, status)| *status)
}

/// Reads a statement that is an assertion. `None` if it is not an assertion that a plan can
/// express.
pub fn read(statement: &[Token<'_>], aliases: &Aliases) -> Option<Vec<Assertion>> {
    if let Some(rest) = strip(statement, "pm . response") {
        return chain(rest, &mut |name, call| of_response(name, call));
    }
    if let Some(rest) = strip(statement, "pm . expect") {
        let call = value::call(rest)?;
        let subject = value::read(call.arguments.first()?, aliases)?;
        return chain(call.rest, &mut |name, call| {
            of_value(&subject, name, call, aliases)
        });
    }
    of_tests(statement, aliases)
}

/// Reads a chain such as `.to.have.status(200)`. Calls `assertion` for each part that asserts
/// something.
fn chain<'s, 't>(
    tokens: &'s [Token<'t>],
    assertion: &mut dyn FnMut(&str, Option<&CallParts<'s, 't>>) -> Option<Assertion>,
) -> Option<Vec<Assertion>> {
    let mut rest = tokens;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (name, after) = strip(rest, ".")?.split_first()?;
        if name.kind != TokenKind::Word {
            return None;
        }
        let call = value::call(after);
        rest = call.as_ref().map_or(after, |call| call.rest);
        if call.is_none() && CHAIN_WORDS.contains(&name.text) {
            // `to.have.property` and `ok` at the end assert something. The other words do not.
            continue;
        }
        found.push(assertion(name.text, call.as_ref())?);
    }
    (!found.is_empty()).then_some(found)
}

fn status(statuses: impl Into<Value>) -> Assertion {
    Assertion::Check(json!({"status": statuses.into()}))
}

fn text_of(call: &CallParts<'_, '_>, index: usize) -> Option<String> {
    match call.arguments.get(index)? {
        [token] => token.as_text().map(ToOwned::to_owned),
        _ => None,
    }
}

fn literal_of(call: &CallParts<'_, '_>, index: usize) -> Option<Value> {
    match value::read(call.arguments.get(index)?, &Aliases::new())? {
        ScriptValue::Literal(value) => Some(value),
        _ => None,
    }
}

fn of_response(name: &str, call: Option<&CallParts<'_, '_>>) -> Option<Assertion> {
    let Some(call) = call else {
        return Some(match name {
            "success" => status(SUCCESS.to_vec()),
            "json" => Assertion::Check(json!({"json": "$"})),
            name => status(status_named(name)?),
        });
    };
    match (name, call.arguments.len()) {
        ("status", 1) => match literal_of(call, 0)? {
            Value::String(reason) => Some(status(status_named(&reason)?)),
            number => Some(status(valid_status(&number)?)),
        },
        ("header", 2) => {
            let (name, wanted) = (text_of(call, 0)?, text_of(call, 1)?);
            Some(Assertion::Check(json!({"header": {name: wanted}})))
        }
        ("jsonBody", 1) => {
            let path = dotted(&text_of(call, 0)?);
            Some(Assertion::Check(json!({"json": path})))
        }
        ("jsonBody", 2) => {
            let path = dotted(&text_of(call, 0)?);
            Some(Assertion::Check(
                json!({"json": {path: literal_of(call, 1)?}}),
            ))
        }
        _ => None,
    }
}

/// Returns the JSONPath for a path such as `user.name`.
fn dotted(path: &str) -> String {
    let members = path.split('.').map(value::member);
    format!("${}", members.collect::<String>())
}

fn valid_status(value: &Value) -> Option<u16> {
    let number = value.as_u64().and_then(|number| u16::try_from(number).ok());
    number.filter(|number| (100..=599).contains(number))
}

fn of_value(
    subject: &ScriptValue,
    name: &str,
    call: Option<&CallParts<'_, '_>>,
    aliases: &Aliases,
) -> Option<Assertion> {
    let Some(call) = call else {
        return match (subject, name) {
            (ScriptValue::Json(path), "exist") => Some(Assertion::Check(json!({"json": path}))),
            (ScriptValue::Json(path), "true" | "false") => {
                Some(Assertion::Check(json!({"json": {path: name == "true"}})))
            }
            (ScriptValue::Json(path), "null") => {
                Some(Assertion::Check(json!({"json": {path: Value::Null}})))
            }
            (ScriptValue::Json(path), "ok") => Some(Assertion::Weaker {
                check: json!({"json": path}),
                lost: "that the value is not empty, 0 or false",
            }),
            _ => None,
        };
    };
    let wanted = call
        .arguments
        .first()
        .and_then(|tokens| value::read(tokens, aliases));
    match (subject, name, wanted?) {
        (_, "equal" | "equals" | "eq" | "eql" | "eqls", wanted) => equals(subject, wanted),
        (ScriptValue::Status, "oneOf" | "members", ScriptValue::Literal(Value::Array(list))) => {
            let list: Option<Vec<u16>> = list.iter().map(valid_status).collect();
            list.filter(|list| !list.is_empty()).map(status)
        }
        (
            ScriptValue::ResponseTime,
            "below" | "lessThan" | "lt" | "most" | "lte" | "lessThanOrEqual",
            ScriptValue::Literal(limit),
        ) => limit
            .as_f64()
            .filter(|limit| *limit > 0.0)
            .map(Assertion::Limit),
        (
            ScriptValue::Body,
            "include" | "includes" | "contain" | "contains" | "string",
            ScriptValue::Literal(Value::String(text)),
        ) => Some(Assertion::Check(json!({"body": text}))),
        (ScriptValue::Json(path), "property", ScriptValue::Literal(Value::String(name))) => {
            let path = format!("{path}{}", value::member(&name));
            match call.arguments.get(1) {
                None => Some(Assertion::Check(json!({"json": path}))),
                Some(tokens) => equals(&ScriptValue::Json(path), value::read(tokens, aliases)?),
            }
        }
        (ScriptValue::Json(path), "a" | "an", ScriptValue::Literal(Value::String(_))) => {
            Some(Assertion::Weaker {
                check: json!({"json": path}),
                lost: "the type of the value",
            })
        }
        _ => None,
    }
}

fn equals(subject: &ScriptValue, wanted: ScriptValue) -> Option<Assertion> {
    match (subject, wanted) {
        (ScriptValue::Status, ScriptValue::Literal(wanted)) => Some(status(valid_status(&wanted)?)),
        (ScriptValue::Json(path), ScriptValue::Literal(wanted)) => {
            Some(Assertion::Check(json!({"json": {path: wanted}})))
        }
        (ScriptValue::Json(path), ScriptValue::Variable(name)) => Some(Assertion::EqualsVariable {
            path: path.clone(),
            name,
        }),
        (ScriptValue::Header(name), ScriptValue::Literal(Value::String(wanted))) => {
            Some(Assertion::Check(json!({"header": {name: wanted}})))
        }
        _ => None,
    }
}

/// Reads the old form `tests["name"] = responseCode.code === 200`.
fn of_tests(statement: &[Token<'_>], aliases: &Aliases) -> Option<Vec<Assertion>> {
    let [tests, open, _, close, equal, condition @ ..] = statement else {
        return None;
    };
    if !(tests.is("tests") && open.is("[") && close.is("]") && equal.is("=")) {
        return None;
    }
    if let Some(rest) = strip(condition, "responseBody . has") {
        let text = text_of(&value::call(rest)?, 0)?;
        return Some(vec![Assertion::Check(json!({"body": text}))]);
    }
    let operator = |token: &Token<'_>| ["===", "==", "<", "<="].iter().any(|one| token.is(one));
    let at = condition.iter().position(operator)?;
    let subject = value::read(&condition[..at], aliases)?;
    let wanted = value::read(&condition[at + 1..], aliases)?;
    let found = match (&subject, condition[at].text, wanted) {
        (ScriptValue::ResponseTime, "<" | "<=", ScriptValue::Literal(limit)) => limit
            .as_f64()
            .filter(|limit| *limit > 0.0)
            .map(Assertion::Limit),
        (_, "===" | "==", wanted) => equals(&subject, wanted),
        _ => None,
    };
    Some(vec![found?])
}
