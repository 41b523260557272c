//! Selects the media types of request bodies, and finds members in JSON responses.

use formats::document::Node;
use serde_json::Value;

use super::{
    reference::{BrokenReference, resolved},
    sample::{self, ExampleValue},
};

pub struct Content {
    pub kind: String,
    pub sample: Option<ExampleValue>,
    pub others: Vec<String>,
}

pub fn content(root: &Node, body: &Node) -> Result<Option<Content>, BrokenReference> {
    let kinds = body.get("content").map(Node::entries).unwrap_or_default();
    let rank = |kind: &str| match kind.split(';').next().unwrap_or_default().trim() {
        "application/json" => 0,
        kind if kind.ends_with("+json") => 1,
        "application/x-www-form-urlencoded" => 2,
        kind if kind.starts_with("text/") || kind.ends_with("xml") => 3,
        _ => 4,
    };
    let Some(entry) = kinds.iter().min_by_key(|entry| rank(&entry.key)) else {
        return Ok(None);
    };
    let media = resolved(root, &entry.value)?;
    let text = sample::documented(root, media)?.map(|value| ExampleValue {
        value,
        guessed: false,
    });
    let sample = match (rank(&entry.key), text, media.get("schema")) {
        (4, ..) => None,
        (3, text, _) => text.filter(|sample| sample.value.is_string()),
        (_, Some(text), _) => Some(text),
        (_, None, Some(schema)) => Some(sample::of_schema(root, schema)?),
        (_, None, None) => None,
    };
    let kind = if headers_can_hold(&entry.key) {
        entry.key.clone()
    } else {
        "application/octet-stream".to_owned()
    };
    let others = if sample.as_ref().is_some_and(|sample| !sample.guessed) {
        sample::others(media)
    } else {
        Vec::new()
    };
    Ok(Some(Content {
        kind,
        sample,
        others,
    }))
}

fn headers_can_hold(kind: &str) -> bool {
    !kind.contains(char::is_control) && !kind.is_empty()
}

pub fn answer(root: &Node, node: &Node) -> Result<Vec<String>, BrokenReference> {
    let answers = node.get("responses").map(Node::entries).unwrap_or_default();
    let Some(success) = answers.iter().find(|answer| answer.key.starts_with('2')) else {
        return Ok(Vec::new());
    };
    let kinds = resolved(root, &success.value)?
        .get("content")
        .map(Node::entries)
        .unwrap_or_default();
    let Some(media) = kinds.iter().find(|kind| kind.key.contains("json")) else {
        return Ok(Vec::new());
    };
    let mut members = Vec::new();
    if let Some(Value::Object(map)) = sample::documented(root, &media.value)? {
        members.extend(map.keys().cloned());
    }
    let mut open: Vec<&Node> = media.value.get("schema").into_iter().collect();
    for _ in 0..32 {
        let Some(schema) = open.pop() else { break };
        let schema = resolved(root, schema)?;
        members.extend(
            schema
                .get("properties")
                .map(Node::entries)
                .unwrap_or_default()
                .iter()
                .map(|entry| entry.key.clone()),
        );
        open.extend(
            schema
                .get("allOf")
                .and_then(Node::as_list)
                .unwrap_or_default(),
        );
    }
    members.retain(|member| {
        member
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_')
            && member.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    });
    Ok(members)
}
