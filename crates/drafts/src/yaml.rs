//! Writes readable YAML that parses to the original values.

use std::fmt::Write as _;

use formats::document::{self, Dialect};
use serde_json::Value;

const WIDTH: usize = 100;
const LONGEST_PLAIN: usize = 300;
const LONGEST_KEY: usize = 500;
const DEEPEST: usize = 40;

pub fn scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if text.chars().all(is_printable) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        double_quoted(text)
    }
}

fn is_plain(text: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphanumeric() || "/$_".contains(c);
    let is_inside = |c: char| c.is_ascii_alphanumeric() || " /$_.:?&=%+~@()*;-".contains(c);
    if text.len() > LONGEST_PLAIN
        || !text.starts_with(is_first)
        || !text.chars().all(is_inside)
        || text.ends_with([' ', ':'])
        || text.contains(": ")
    {
        return false;
    }
    let as_item = format!("[{text}]");
    let read = document::parse(0, &as_item, Dialect::Core).ok();
    let read = read.and_then(|document| document.root.map(|node| node.to_value()));
    read.is_some_and(|value| value[0] == text)
}

fn is_printable(c: char) -> bool {
    !c.is_control() && !"\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}".contains(c)
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            c => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

pub fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(key, item)| format!("{}: {}", scalar(key), flow(item)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        other => query::value::json(other),
    }
}

pub fn entry(key: &str, value: &Value, indent: usize, out: &mut String) {
    let key = scalar(key);
    let _ = write!(out, "{:indent$}{key}:", "");
    write_after_key(value, indent, indent + key.len() + 1, out);
}

fn write_after_key(value: &Value, indent: usize, column: usize, out: &mut String) {
    let line = flow(value);
    match value {
        Value::Object(map) if !map.is_empty() && column + 1 + line.len() > WIDTH => {
            out.push('\n');
            for (key, item) in map {
                entry(key, item, indent + 2, out);
            }
        }
        Value::Array(items) if !items.is_empty() && column + 1 + line.len() > WIDTH => {
            out.push('\n');
            for item in items {
                list_item(item, indent + 2, out);
            }
        }
        Value::String(text) => match block(text) {
            Some(header) => {
                let _ = writeln!(out, " {header}");
                for line in text.trim_end_matches('\n').split('\n') {
                    let pad = if line.is_empty() { 0 } else { indent + 2 };
                    let _ = writeln!(out, "{:pad$}{line}", "");
                }
            }
            None => {
                let _ = writeln!(out, " {line}");
            }
        },
        _ => {
            let _ = writeln!(out, " {line}");
        }
    }
}

fn list_item(item: &Value, indent: usize, out: &mut String) {
    let line = flow(item);
    let _ = write!(out, "{:indent$}-", "");
    match item {
        Value::Object(map) if !map.is_empty() && indent + 2 + line.len() > WIDTH => {
            let mut text = String::new();
            for (key, item) in map {
                entry(key, item, indent + 2, &mut text);
            }
            let _ = write!(out, " {}", text.trim_start_matches(' '));
        }
        Value::Array(items) if !items.is_empty() => {
            let _ = writeln!(out, " {line}");
        }
        item => write_after_key(item, indent, indent + 1, out),
    }
}

fn block(text: &str) -> Option<&'static str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let is_line = |line: &str| {
        line.is_empty()
            || !line.starts_with([' ', '\t'])
            || !line.trim_matches([' ', '\t']).is_empty()
    };
    let fits = body.contains('\n')
        && !body.starts_with([' ', '\t', '\n'])
        && !body.ends_with('\n')
        && body.split('\n').all(is_line)
        && body.chars().all(|c| c == '\n' || is_printable(c));
    let header = if text.len() == body.len() { "|-" } else { "|" };
    fits.then_some(header)
}

pub fn holds(value: &Value) -> bool {
    fn fits(value: &Value, depth: usize) -> bool {
        depth > 0
            && match value {
                Value::Array(items) => items.iter().all(|item| fits(item, depth - 1)),
                Value::Object(map) => map
                    .iter()
                    .all(|(key, item)| key.len() <= LONGEST_KEY && fits(item, depth - 1)),
                _ => true,
            }
    }
    fits(value, DEEPEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(text: &str) -> Value {
        let document = document::parse(0, text, Dialect::Core);
        let document = document.unwrap_or_else(|error| {
            let at = error.mark;
            panic!("{}:{}: {}\n{text}", at.line, at.column, error.message)
        });
        document.root.unwrap().to_value()
    }

    #[test]
    fn texts_are_quoted_where_they_must_be() {
        for (text, written) in [
            ("/pets?limit=10", "/pets?limit=10"),
            ("https://a.example/x", "https://a.example/x"),
            (
                "application/json; charset=utf-8",
                "application/json; charset=utf-8",
            ),
            ("12", "'12'"),
            ("true", "'true'"),
            ("~", "'~'"),
            ("", "''"),
            ("it's", "'it''s'"),
            ("a: b", "'a: b'"),
            ("{{ id }}", "'{{ id }}'"),
            ("# no", "'# no'"),
            ("a\nb", "\"a\\nb\""),
            ("é", "'é'"),
        ] {
            assert_eq!(scalar(text), written);
        }
    }

    #[test]
    fn what_is_long_takes_several_lines() {
        let long = "x".repeat(60);
        let mut out = String::new();
        entry(
            "json",
            &json!({"a": {"b": long, "c": long}, "d": [{"e": long, "f": long}, 1]}),
            4,
            &mut out,
        );
        assert_eq!(
            out,
            format!(
                "    json:\n      a:\n        b: {long}\n        c: {long}\n      d:\n        - e: {long}\n          f: {long}\n        - 1\n"
            )
        );
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            ".{0,12}",
            "[a-z0-9 :#'\"{}\\[\\],&*!|>%@`~.-]{0,12}",
            "(?s).{0,20}",
            "([ a-z{}:#-]{0,8}\n){0,4}[a-z ]{0,5}"
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e300..1e300f64).prop_map(Value::from),
            text.clone().prop_map(Value::from),
            "[a-z]{30,70}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((text.clone(), inner), 0..5)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in any_value(), indent in 0..3usize) {
            let mut wanted = value.clone();
            query::value::normalise(&mut wanted);
            let mut block = String::new();
            entry("a", &value, indent * 2, &mut block);
            prop_assert_eq!(&read(&block)["a"], &wanted, "{}", block);
            prop_assert_eq!(&read(&format!("b: [{}]", flow(&value)))["b"][0], &wanted);
        }
    }
}
