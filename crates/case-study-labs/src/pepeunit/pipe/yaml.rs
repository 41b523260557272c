//! A small subset of YAML: maps, lists and scalars, without anchors or tags.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

const DEEPEST: usize = 16;

enum Open {
    List(Vec<Value>),
    Mapping(Map<String, Value>, Option<String>),
}

pub(super) fn read(text: &str) -> Result<Value, String> {
    let mut open: Vec<Open> = Vec::new();
    let mut whole = None;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| format!("this is not valid YAML: {error}"))?;
        let done = match event {
            Event::MappingStart(..) => {
                open.push(Open::Mapping(Map::new(), None));
                None
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                None
            }
            Event::MappingEnd | Event::SequenceEnd => open.pop().map(|open| match open {
                Open::List(items) => Value::Array(items),
                Open::Mapping(map, _) => Value::Object(map),
            }),
            Event::Scalar(text, style, ..) => Some(scalar(&text, style)),
            Event::Alias(_) => return Err("aliases are not supported".to_owned()),
            _ => None,
        };
        if open.len() > DEEPEST {
            return Err("nested too deeply".to_owned());
        }
        if let Some(value) = done {
            put(&mut open, &mut whole, value)?;
        }
    }
    whole.ok_or_else(|| "empty".to_owned())
}

fn put(open: &mut [Open], whole: &mut Option<Value>, value: Value) -> Result<(), String> {
    match open.last_mut() {
        None => *whole = Some(value),
        Some(Open::List(items)) => items.push(value),
        Some(Open::Mapping(map, key)) => match key.take() {
            Some(key) => {
                map.insert(key, value);
            }
            None => match value {
                Value::String(text) => *key = Some(text),
                other => return Err(format!("`{other}` is not a key")),
            },
        },
    }
    Ok(())
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" => return Value::Null,
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        _ => {}
    }
    let looks = |c: u8| c.is_ascii_digit() || b"+-.eE".contains(&c);
    if !text.bytes().all(looks) {
        return Value::String(text.to_owned());
    }
    if let Ok(whole) = text.parse::<i64>() {
        return whole.into();
    }
    match text.parse::<f64>() {
        Ok(number) => number.into(),
        Err(_) => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_become_json() {
        let read = read("a: {b: [1, -2.5, x, '3']}\nc:\n  d: true\n  e:\n").unwrap();
        let wanted = json!({"a": {"b": [1, -2.5, "x", "3"]}, "c": {"d": true, "e": null}});
        assert_eq!(read, wanted);
    }

    #[test]
    fn invalid_yaml_is_reported() {
        for text in ["", "a: [", "a: *b", "? [1]\n: 2"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
