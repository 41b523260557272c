//! Reads single values. Each function returns the value, or reports a problem and returns `None`.

use plan::{
    Rate,
    units::{GrammarError, Quantity, parse_duration, parse_quantity, parse_rate},
};

use crate::{
    document::{Entry, Node, NodeData},
    findings::Findings,
    nearest::nearest,
};

/// Reads a mapping and checks its keys. Returns an empty list if the node is not a mapping.
pub(super) fn entries<'n>(
    node: &'n Node,
    what: &str,
    keys: &[&str],
    findings: &mut Findings,
) -> &'n [Entry] {
    if !node.is_map() {
        findings.problem(
            node.mark,
            format!("`{what}` must be a mapping, not {}", node.kind()),
        );
    }
    for entry in node
        .entries()
        .iter()
        .filter(|entry| !keys.contains(&entry.key.as_str()))
    {
        let help = match nearest(&entry.key, keys.iter().copied()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("`{what}` knows {}", keys.join(", ")),
        };
        findings.problem(
            entry.key_mark,
            format!("unknown key `{}`: {help}", entry.key),
        );
    }
    node.entries()
}

/// Reports a missing key, unless an unknown key may be a misspelling of it.
pub(super) fn missing(
    node: &Node,
    keys: &[&str],
    message: impl Into<String>,
    findings: &mut Findings,
) {
    if node
        .entries()
        .iter()
        .all(|entry| keys.contains(&entry.key.as_str()))
    {
        findings.problem(node.mark, message);
    }
}

pub(super) fn map<'n>(node: &'n Node, what: &str, findings: &mut Findings) -> &'n [Entry] {
    if !node.is_map() {
        findings.problem(
            node.mark,
            format!("`{what}` must be a mapping, not {}", node.kind()),
        );
    }
    node.entries()
}

pub(super) fn list<'n>(node: &'n Node, what: &str, findings: &mut Findings) -> &'n [Node] {
    node.as_list().unwrap_or_else(|| {
        findings.problem(
            node.mark,
            format!("`{what}` must be a list, not {}", node.kind()),
        );
        &[]
    })
}

pub(super) fn text(node: &Node, what: &str, findings: &mut Findings) -> Option<String> {
    match node.as_str() {
        Some(text) if !text.is_empty() => Some(text.to_owned()),
        Some(_) => {
            findings.problem(node.mark, format!("`{what}` is empty"));
            None
        }
        None => {
            findings.problem(
                node.mark,
                format!("`{what}` must be text, not {}: quote it", node.kind()),
            );
            None
        }
    }
}

pub(super) fn scalar(node: &Node, what: &str, findings: &mut Findings) -> Option<String> {
    match node.as_scalar() {
        Some(value) if value.is_string() || value.is_number() => Some(node.text()),
        _ => {
            findings.problem(
                node.mark,
                format!("`{what}` must be text, not {}", node.kind()),
            );
            None
        }
    }
}

pub(super) fn boolean(node: &Node, what: &str, findings: &mut Findings) -> Option<bool> {
    if node.as_bool().is_none() {
        findings.problem(
            node.mark,
            format!("`{what}` must be true or false, not {}", node.kind()),
        );
    }
    node.as_bool()
}

pub(super) fn whole_number(
    node: &Node,
    what: &str,
    least: u64,
    findings: &mut Findings,
) -> Option<u64> {
    match node.as_scalar().and_then(serde_json::Value::as_u64) {
        Some(n) if n >= least => Some(n),
        _ => {
            findings.problem(
                node.mark,
                format!(
                    "`{what}: {}` must be a whole number, {least} or more",
                    node.text()
                ),
            );
            None
        }
    }
}

pub(super) fn whole_u32(
    node: &Node,
    what: &str,
    least: u64,
    findings: &mut Findings,
) -> Option<u32> {
    let n = whole_number(node, what, least, findings)?;
    if n > u64::from(u32::MAX) {
        findings.problem(
            node.mark,
            format!("`{what}: {n}` is more than any machine can handle"),
        );
    }
    u32::try_from(n).ok()
}

pub(super) fn duration(node: &Node, what: &str, findings: &mut Findings) -> Option<u64> {
    let text = scalar(node, what, findings)?;
    grammar(node, parse_duration(&text), findings)
}

pub(super) fn rate(node: &Node, what: &str, findings: &mut Findings) -> Option<Rate> {
    let text = scalar(node, what, findings)?;
    grammar(node, parse_rate(&text), findings)
}

pub(super) fn quantity(node: &Node, what: &str, findings: &mut Findings) -> Option<Quantity> {
    let text = scalar(node, what, findings)?;
    grammar(node, parse_quantity(&text), findings)
}

pub(super) fn grammar<T>(
    node: &Node,
    parsed: Result<T, GrammarError>,
    findings: &mut Findings,
) -> Option<T> {
    parsed
        .map_err(|error| findings.problem(node.mark_at(error.offset), error.message))
        .ok()
}

/// Repairs a stop rule without quotes. YAML reads it as a mapping, because it contains `: `.
pub(super) fn rule(item: &Node) -> Node {
    match &item.data {
        NodeData::Map(pairs) if pairs.len() == 1 => {
            let text = format!("{}: {}", pairs[0].key, pairs[0].value.text());
            Node {
                mark: pairs[0].key_mark,
                inset: Some(0),
                data: NodeData::Scalar(text.into()),
            }
        }
        _ => item.clone(),
    }
}
