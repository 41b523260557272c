//! Paths for `response.json`, in the syntax of GJSON.

use serde_json::{Map, Value};

/// Maximum nesting of paths within paths.
const MAX_DEPTH: u32 = 50;

/// Finds the value at a path. `None` if there is no value, or if the body is not JSON.
pub fn find(body: &[u8], path: &str) -> Option<Value> {
    let value: Value = serde_json::from_slice(body).ok()?;
    get(&value, path, 0)
}

/// Returns k6's text for a body that is not JSON.
pub fn describe_error(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(_) => "cannot parse json: the body holds a character that is not allowed".to_owned(),
        Err(error) => {
            // The library adds the position to its text.
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or(&text);
            format!(
                "cannot parse json due to an error at line {}, character {} , error: {reason}",
                error.line(),
                error.column()
            )
        }
    }
}

/// One part of a path, the separator after it, and the rest of the path.
struct Step<'p> {
    part: &'p str,
    separator: Option<u8>,
    rest: &'p str,
}

/// Returns the end of a part: the first separator that is not escaped, quoted or in brackets.
fn end_of(path: &str, separators: &[u8]) -> usize {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_u32, false, false);
    for (index, byte) in path.bytes().enumerate() {
        if is_escaped {
            is_escaped = false;
            continue;
        }
        match byte {
            b'\\' => is_escaped = true,
            b'"' if depth > 0 || is_quoted => is_quoted = !is_quoted,
            b'"' if index == 0 => is_quoted = true,
            _ if is_quoted => {}
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ if depth == 0 && separators.contains(&byte) => return index,
            _ => {}
        }
    }
    path.len()
}

fn step(path: &str) -> Step<'_> {
    let end = end_of(path, b".|");
    Step {
        part: &path[..end],
        separator: path.as_bytes().get(end).copied(),
        rest: path.get(end + 1..).unwrap_or(""),
    }
}

fn get(value: &Value, path: &str, depth: u32) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    if path.is_empty() {
        return Some(value.clone());
    }
    let step = step(path);
    let depth = depth + 1;
    if step.part.starts_with('@') {
        return modifier(value, path, depth);
    }
    if step.part.starts_with(['{', '[']) {
        let found = multipath(value, step.part, depth)?;
        return get(&found, step.rest, depth);
    }
    match value {
        Value::Object(entries) => {
            let found = entry(entries, step.part)?;
            get(found, step.rest, depth)
        }
        Value::Array(items) => in_array(items, &step, depth),
        _ => None,
    }
}

fn entry<'v>(entries: &'v Map<String, Value>, part: &str) -> Option<&'v Value> {
    if part.contains(['*', '?']) {
        let mut entries = entries.iter();
        return entries
            .find(|(key, _)| matches(part, key))
            .map(|(_, value)| value);
    }
    if part.contains('\\') {
        return entries.get(&unescaped(part));
    }
    entries.get(part)
}

fn unescaped(part: &str) -> String {
    let mut text = String::new();
    let mut letters = part.chars();
    while let Some(letter) = letters.next() {
        text.extend(match letter {
            '\\' => letters.next(),
            letter => Some(letter),
        });
    }
    text
}

/// Returns whether a text matches a pattern with `*`, `?` and escapes.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    // Position of the last asterisk, and of the text after its match.
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        let (letter, width) = match pattern.get(p) {
            Some('\\') => (pattern.get(p + 1), 2),
            letter => (letter, 1),
        };
        let is_plain = width == 2;
        if letter == Some(&'*') && !is_plain {
            star = Some((p, t));
            p += 1;
        } else if letter.is_some_and(|l| *l == text[t] || (*l == '?' && !is_plain)) {
            p += width;
            t += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            t = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|letter| *letter == '*')
}

fn in_array(items: &[Value], step: &Step<'_>, depth: u32) -> Option<Value> {
    let Some(query) = step.part.strip_prefix('#') else {
        let index: usize = step.part.parse().ok()?;
        return get(items.get(index)?, step.rest, depth);
    };
    if query.is_empty() {
        return match step.separator {
            None => Some(Value::from(items.len())),
            Some(b'|') => get(&Value::from(items.len()), step.rest, depth),
            Some(_) => each(items.iter(), step.rest, depth),
        };
    }
    let is_all = query.ends_with('#');
    let query = query.strip_suffix('#').unwrap_or(query);
    let query = query.strip_prefix('(')?.strip_suffix(')')?;
    let mut found = items.iter().filter(|item| satisfies(item, query, depth));
    if !is_all {
        return get(found.next()?, step.rest, depth);
    }
    match step.separator {
        Some(b'.') => each(found, step.rest, depth),
        _ => get(&Value::Array(found.cloned().collect()), step.rest, depth),
    }
}

/// Applies a path to each item. The part after a pipe is applied to the list.
fn each<'v>(items: impl Iterator<Item = &'v Value>, path: &str, depth: u32) -> Option<Value> {
    let end = end_of(path, b"|");
    let found = items.filter_map(|item| get(item, &path[..end], depth));
    let list = Value::Array(found.collect());
    get(&list, path.get(end + 1..).unwrap_or(""), depth)
}

/// Comparison operators. Longer operators come first.
const OPERATORS: [&str; 9] = ["==", "!=", "<=", ">=", "!%", "<", ">", "%", "="];

fn satisfies(item: &Value, query: &str, depth: u32) -> bool {
    let at = end_of(query, b"=!<>%");
    let (path, rest) = query.split_at(at);
    let path = path.trim();
    let found = get(item, path, depth);
    let operator = OPERATORS
        .iter()
        .find(|operator| rest.starts_with(**operator));
    let (Some(found), Some(operator)) = (found.as_ref(), operator) else {
        return found.is_some() && rest.is_empty();
    };
    let literal = rest[operator.len()..].trim();
    compare(found, operator, literal)
}

fn compare(found: &Value, operator: &str, literal: &str) -> bool {
    if let Some(wanted) = literal.strip_prefix('~') {
        let is_true = !matches!(found, Value::Null | Value::Bool(false));
        let is_wanted = match wanted {
            "true" => is_true,
            "false" => !is_true,
            "null" => found.is_null(),
            _ => true,
        };
        return is_wanted == (operator != "!=");
    }
    let wanted: Value = match serde_json::from_str(literal) {
        Ok(wanted) => wanted,
        Err(_) => Value::from(literal.trim_matches('"')),
    };
    if let (Value::String(text), "%" | "!%") = (found, operator) {
        let pattern = wanted.as_str().unwrap_or(literal);
        return matches(pattern, text) == (operator == "%");
    }
    let order = match (found, &wanted) {
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (Value::Number(one), Value::Number(other)) => one.as_f64().partial_cmp(&other.as_f64()),
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        (Value::Null, Value::Null) => Some(std::cmp::Ordering::Equal),
        _ => None,
    };
    match (order, operator) {
        (Some(order), "==" | "=") => order.is_eq(),
        (Some(order), "!=") => order.is_ne(),
        (Some(order), "<") => order.is_lt(),
        (Some(order), "<=") => order.is_le(),
        (Some(order), ">") => order.is_gt(),
        (Some(order), ">=") => order.is_ge(),
        (None, "!=") => true,
        _ => false,
    }
}

/// Builds an object from `{a,"name":b}`, or an array from `[a,b]`.
fn multipath(value: &Value, part: &str, depth: u32) -> Option<Value> {
    let is_object = part.starts_with('{');
    let mut inner = part.get(1..part.len().checked_sub(1)?)?;
    let (mut object, mut array) = (Map::new(), Vec::new());
    while !inner.is_empty() {
        let end = end_of(inner, b",");
        let (selector, rest) = (&inner[..end], inner.get(end + 1..).unwrap_or(""));
        inner = rest;
        let (name, path) = match named(selector) {
            Some((name, path)) => (name, path),
            None => {
                let last = selector.rsplit(['.', '|']).next().unwrap_or(selector);
                (last.to_owned(), selector)
            }
        };
        if let Some(found) = get(value, path, depth) {
            match is_object {
                true => drop(object.insert(name, found)),
                false => array.push(found),
            }
        }
    }
    Some(match is_object {
        true => Value::Object(object),
        false => Value::Array(array),
    })
}

/// Splits a selector with an explicit name: `"name":path`.
fn named(selector: &str) -> Option<(String, &str)> {
    let quoted = selector.strip_prefix('"')?;
    let (name, path) = quoted.split_once("\":")?;
    Some((unescaped(name), path))
}

fn modifier(value: &Value, path: &str, depth: u32) -> Option<Value> {
    let end = end_of(path, b".|:");
    let name = &path[1..end];
    let mut rest = path.get(end + 1..).unwrap_or("");
    let mut argument = "";
    if path.as_bytes().get(end) == Some(&b':') {
        let end = end_of(rest, b".|");
        argument = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or("");
    }
    let modified = match (name, value) {
        ("reverse", Value::Array(items)) => Value::Array(items.iter().rev().cloned().collect()),
        ("reverse", Value::Object(entries)) => {
            let entries = entries.iter().rev();
            Value::Object(entries.map(|(k, v)| (k.clone(), v.clone())).collect())
        }
        ("keys", Value::Object(entries)) => Value::Array(
            entries
                .keys()
                .map(|key| Value::from(key.as_str()))
                .collect(),
        ),
        ("values", Value::Object(entries)) => Value::Array(entries.values().cloned().collect()),
        ("values", Value::Array(_)) => value.clone(),
        ("flatten", Value::Array(items)) => {
            let is_deep = argument.contains("\"deep\":true");
            Value::Array(flattened(items, is_deep, depth))
        }
        ("join", Value::Array(items)) => {
            let mut joined = Map::new();
            for entries in items.iter().filter_map(Value::as_object) {
                joined.extend(entries.clone());
            }
            Value::Object(joined)
        }
        ("reverse" | "flatten" | "join" | "this" | "valid" | "pretty" | "ugly", _) => value.clone(),
        _ => return None,
    };
    get(&modified, rest, depth)
}

fn flattened(items: &[Value], is_deep: bool, depth: u32) -> Vec<Value> {
    let mut flat = Vec::new();
    for item in items {
        match item {
            Value::Array(inner) if is_deep && depth < MAX_DEPTH => {
                flat.extend(flattened(inner, true, depth + 1));
            }
            Value::Array(inner) => flat.extend(inner.iter().cloned()),
            item => flat.push(item.clone()),
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const BODY: &str = r#"{
        "name": {"first": "Tom", "last": "Anderson"}, "age": 37, "fav.movie": "Deer Hunter",
        "children": ["Sara", "Alex", "Jack"], "none": null,
        "friends": [
            {"first": "Dale", "last": "Murphy", "age": 44, "nets": ["ig", "fb"]},
            {"first": "Roger", "last": "Craig", "age": 68, "nets": ["fb"]},
            {"first": "Jane", "last": "Murphy", "age": 47, "nets": ["ig"]}
        ]
    }"#;

    #[test]
    fn paths_find_values() {
        for (path, expected) in [
            ("name.last", json!("Anderson")),
            ("age", json!(37)),
            ("none", json!(null)),
            ("children", json!(["Sara", "Alex", "Jack"])),
            ("children.#", json!(3)),
            ("children.1", json!("Alex")),
            ("child*.2", json!("Jack")),
            ("c?ildren.0", json!("Sara")),
            (r"fav\.movie", json!("Deer Hunter")),
            ("friends.#.first", json!(["Dale", "Roger", "Jane"])),
            ("friends.1.last", json!("Craig")),
            (r#"friends.#(last=="Murphy").first"#, json!("Dale")),
            (
                r#"friends.#(last=="Murphy")#.first"#,
                json!(["Dale", "Jane"]),
            ),
            ("friends.#(age>45)#.last", json!(["Craig", "Murphy"])),
            (r#"friends.#(first%"D*").last"#, json!("Murphy")),
            (r#"friends.#(first!%"D*").last"#, json!("Craig")),
            (
                r#"friends.#(nets.#(=="fb"))#.first"#,
                json!(["Dale", "Roger"]),
            ),
            (r#"children.#(!="Sara")"#, json!("Alex")),
            ("children|@reverse", json!(["Jack", "Alex", "Sara"])),
            ("children|@reverse|0", json!("Jack")),
            ("children.@reverse.0", json!("Jack")),
            ("name.@keys", json!(["first", "last"])),
            ("friends.#.nets|@flatten", json!(["ig", "fb", "fb", "ig"])),
            ("friends.#.first|0", json!("Dale")),
            ("{age,name.first}", json!({"age": 37, "first": "Tom"})),
            (r#"{"years":age}"#, json!({"years": 37})),
            ("[age,name.first]", json!([37, "Tom"])),
            ("friends.#(last==\"none\")#", json!([])),
        ] {
            assert_eq!(find(BODY.as_bytes(), path), Some(expected), "{path}");
        }
        for path in [
            "nothing",
            "name.nothing",
            "children.9",
            "age.x",
            "@unknown",
            "children.x",
        ] {
            assert_eq!(find(BODY.as_bytes(), path), None, "{path}");
        }
        assert_eq!(find(b"<html>", "a"), None);
    }

    #[test]
    fn errors_have_a_position() {
        assert_eq!(
            describe_error(b"{\"a\": 1,\n x}"),
            "cannot parse json due to an error at line 2, character 2 , error: key must be a string"
        );
    }

    proptest! {
        #[test]
        fn any_path_ends(path in "[a-c.|#@*?\\\\(){}\\[\\],:\"=<>!%~0-9]{0,40}|\\PC{0,20}") {
            let _ = find(BODY.as_bytes(), &path);
            let _ = find(br#"[[1,[2]],{"a":{"b":[{"c":1}]}}]"#, &path);
        }
    }
}
