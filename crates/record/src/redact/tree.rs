//! Hides secrets in JSON: values of secret keys, `[name, value]` pairs, and strings. Templates of
//! plans stay readable.

use serde_json::{Map, Value};

use super::{Redactor, SecretNames, scan};

pub(super) fn hide(redactor: &Redactor, value: &Value, secret: bool) -> Value {
    match value {
        Value::String(text) if secret && !is_template(text) => {
            Value::String(hidden_text(redactor, text))
        }
        Value::String(text) => Value::String(redactor.text(text)),
        Value::Number(number) if secret => Value::String(redactor.salt.hidden(&number.to_string())),
        Value::Array(items) => {
            let second = secret || second_is_secret(&redactor.names, items);
            let pair = is_pair(items);
            let item = |(i, item): (usize, &Value)| match i {
                0 if pair => hide(redactor, item, false),
                1 if pair => hide(redactor, item, second),
                _ => hide(redactor, item, secret),
            };
            Value::Array(items.iter().enumerate().map(item).collect())
        }
        Value::Object(map) => Value::Object(hide_map(redactor, map, secret)),
        other => other.clone(),
    }
}

fn hide_map(redactor: &Redactor, map: &Map<String, Value>, secret: bool) -> Map<String, Value> {
    let entry = |(key, item): (&String, &Value)| {
        let plain = secret && (key == "variable" || key == "call");
        let item = if plain {
            item.clone()
        } else {
            hide(
                redactor,
                item,
                secret || is_secret_key(&redactor.names, key),
            )
        };
        (redactor.text(key), item)
    };
    map.iter().map(entry).collect()
}

fn hidden_text(redactor: &Redactor, text: &str) -> String {
    let known = redactor.values.hide(text);
    if known != text {
        return known;
    }
    match scheme(text) {
        Some((scheme, rest)) if rest.trim().is_empty() => scheme.to_owned(),
        Some((scheme, rest)) => format!("{scheme} {}", redactor.salt.hidden(rest.trim())),
        None => redactor.salt.hidden(text),
    }
}

fn scheme(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    ["bearer", "basic", "digest", "token", "apikey"]
        .contains(&word.to_lowercase().as_str())
        .then_some((word, rest))
}

fn is_template(text: &str) -> bool {
    text.trim_start().starts_with("{{") && text.trim_end().ends_with("}}")
}

fn is_secret_key(names: &SecretNames, key: &str) -> bool {
    key == "basic_auth" || names.is_secret(key)
}

fn is_pair(items: &[Value]) -> bool {
    items.len() == 2 && pair_name(&items[0]).is_some()
}

fn second_is_secret(names: &SecretNames, items: &[Value]) -> bool {
    is_pair(items) && pair_name(&items[0]).is_some_and(|name| names.is_secret(name))
}

fn pair_name(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("literal")?.as_str())
}

pub(super) fn collect(value: &Value, names: &SecretNames, found: &mut Vec<String>) {
    walk(value, names, false, found);
}

fn walk(value: &Value, names: &SecretNames, secret: bool, found: &mut Vec<String>) {
    match value {
        Value::String(text) if secret && !is_template(text) => match scheme(text) {
            Some((_, rest)) => found.push(rest.trim().to_owned()),
            None => found.push(text.clone()),
        },
        Value::String(text) => scan::collect(text, names, found),
        Value::Number(number) if secret => found.push(number.to_string()),
        Value::Array(items) => {
            let second = secret || second_is_secret(names, items);
            for (i, item) in items.iter().enumerate() {
                let first_of_pair = i == 0 && is_pair(items);
                walk(
                    item,
                    names,
                    if i == 1 {
                        second
                    } else {
                        secret && !first_of_pair
                    },
                    found,
                );
            }
        }
        Value::Object(map) => {
            for (key, item) in map
                .iter()
                .filter(|(key, _)| !secret || !["variable", "call"].contains(&key.as_str()))
            {
                walk(item, names, secret || is_secret_key(names, key), found);
            }
        }
        _ => {}
    }
}
