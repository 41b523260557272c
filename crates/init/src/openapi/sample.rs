//! Sample values for schemas, either given or invented.

use formats::document::Node;
use serde_json::{Map, Value, json};

use super::reference::{BrokenReference, resolved};

const DEEPEST: usize = 12;

#[derive(Debug, Clone, PartialEq)]
pub struct ExampleValue {
    pub value: Value,
    pub guessed: bool,
}

impl ExampleValue {
    fn documented(value: Value) -> ExampleValue {
        ExampleValue {
            value,
            guessed: false,
        }
    }

    fn guess(value: Value) -> ExampleValue {
        ExampleValue {
            value,
            guessed: true,
        }
    }
}

pub fn documented(root: &Node, node: &Node) -> Result<Option<Value>, BrokenReference> {
    if let Some(example) = node.get("example") {
        return Ok(Some(example.to_value()));
    }
    if let Some(examples) = node.get("examples") {
        if let Some(first) = examples.as_list().and_then(<[Node]>::first) {
            return Ok(Some(first.to_value()));
        }
        for entry in examples.entries() {
            if let Some(value) = resolved(root, &entry.value)?.get("value") {
                return Ok(Some(value.to_value()));
            }
        }
    }
    for key in ["default", "const"] {
        if let Some(value) = node.get(key).filter(|value| !value.is_null()) {
            return Ok(Some(value.to_value()));
        }
    }
    let first = node
        .get("enum")
        .and_then(Node::as_list)
        .and_then(<[Node]>::first);
    Ok(first.map(Node::to_value))
}

pub fn others(node: &Node) -> Vec<String> {
    if node.get("example").is_some() {
        return Vec::new();
    }
    let named = node.get("examples").map(Node::entries).unwrap_or_default();
    let with_value = named
        .iter()
        .filter(|entry| entry.value.get("value").is_some() || entry.value.get("$ref").is_some());
    with_value.skip(1).map(|entry| entry.key.clone()).collect()
}

pub fn of_schema(root: &Node, schema: &Node) -> Result<ExampleValue, BrokenReference> {
    sample(root, schema, DEEPEST)
}

fn sample(root: &Node, schema: &Node, depth: usize) -> Result<ExampleValue, BrokenReference> {
    let schema = resolved(root, schema)?;
    if let Some(value) = documented(root, schema)? {
        return Ok(ExampleValue::documented(value));
    }
    if depth == 0 {
        return Ok(ExampleValue::guess(Value::Null));
    }
    if let Some(parts) = schema.get("allOf").and_then(Node::as_list) {
        return all_of(root, schema, parts, depth);
    }
    for key in ["oneOf", "anyOf"] {
        let first = schema
            .get(key)
            .and_then(Node::as_list)
            .and_then(<[Node]>::first);
        if let Some(first) = first {
            return sample(root, first, depth - 1);
        }
    }
    Ok(match kind(schema) {
        "object" => object(root, schema, depth)?,
        "array" => match schema.get("items") {
            Some(items) => {
                let item = sample(root, items, depth - 1)?;
                ExampleValue {
                    value: json!([item.value]),
                    guessed: item.guessed,
                }
            }
            None => ExampleValue::guess(json!([])),
        },
        "integer" | "number" => {
            let least = schema
                .get("minimum")
                .map(Node::to_value)
                .filter(Value::is_number);
            ExampleValue::guess(least.unwrap_or_else(|| json!(1)))
        }
        "boolean" => ExampleValue::guess(json!(true)),
        "null" => ExampleValue::documented(Value::Null),
        _ => ExampleValue::guess(Value::from(text(schema))),
    })
}

fn all_of(
    root: &Node,
    schema: &Node,
    parts: &[Node],
    depth: usize,
) -> Result<ExampleValue, BrokenReference> {
    let mut whole = object(root, schema, depth)?;
    for part in parts {
        let part = sample(root, part, depth - 1)?;
        whole.guessed |= part.guessed;
        match (&mut whole.value, part.value) {
            (Value::Object(map), Value::Object(more)) => map.extend(more),
            (value, other) => *value = other,
        }
    }
    Ok(whole)
}

fn object(root: &Node, schema: &Node, depth: usize) -> Result<ExampleValue, BrokenReference> {
    let mut map = Map::new();
    let mut guessed = false;
    let required = schema
        .get("required")
        .and_then(Node::as_list)
        .unwrap_or_default();
    let properties = schema.get("properties");
    for name in required.iter().filter_map(Node::as_str) {
        let property = properties.and_then(|properties| properties.get(name));
        let sample = match property {
            Some(property) => sample(root, property, depth - 1)?,
            None => ExampleValue::guess(Value::from("string")),
        };
        guessed |= sample.guessed;
        map.insert(name.to_owned(), sample.value);
    }
    Ok(ExampleValue {
        value: Value::Object(map),
        guessed,
    })
}

fn kind(schema: &Node) -> &str {
    let documented = schema.get("type");
    let documented = documented.and_then(|kind| {
        kind.as_str()
            .or_else(|| kind.as_list()?.iter().find_map(Node::as_str))
    });
    documented.unwrap_or(if schema.get("properties").is_some() {
        "object"
    } else if schema.get("items").is_some() {
        "array"
    } else {
        "string"
    })
}

fn text(schema: &Node) -> &'static str {
    match schema
        .get("format")
        .and_then(Node::as_str)
        .unwrap_or_default()
    {
        "email" | "idn-email" => "user@example.com",
        "uuid" => "123e4567-e89b-42d3-a456-426614174000",
        "date-time" => "2030-01-01T00:00:00Z",
        "date" => "2030-01-01",
        "time" => "12:00:00Z",
        "uri" | "url" | "iri" => "https://example.com/",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "byte" => "c3RyaW5n",
        _ => "string",
    }
}
