//! Steps from a node of a document to other nodes.

use std::collections::HashSet;

use query::markup::{NodeId, Tree};
use serde_json::Value;

fn is_element(tree: &Tree, id: NodeId) -> bool {
    tree.name(id).is_some()
}

pub fn children(tree: &Tree, id: NodeId) -> Vec<NodeId> {
    let children = tree.children(id).iter().copied();
    children.filter(|id| is_element(tree, *id)).collect()
}

/// Returns the children of a node, including texts.
pub fn contents(tree: &Tree, id: NodeId) -> Vec<NodeId> {
    tree.children(id).to_vec()
}

pub fn parent(tree: &Tree, id: NodeId) -> Vec<NodeId> {
    let parent = tree.parent(id).filter(|id| is_element(tree, *id));
    parent.into_iter().collect()
}

/// Returns all ancestors of a node, starting with the nearest.
pub fn parents(tree: &Tree, id: NodeId) -> Vec<NodeId> {
    let above = std::iter::successors(tree.parent(id), |id| tree.parent(*id));
    above.filter(|id| is_element(tree, *id)).collect()
}

pub fn siblings(tree: &Tree, id: NodeId) -> Vec<NodeId> {
    let mut all = tree.siblings(id);
    all.retain(|other| *other != id);
    all
}

pub fn next_all(tree: &Tree, id: NodeId) -> Vec<NodeId> {
    let all = tree.siblings(id).into_iter();
    all.skip_while(|other| *other != id).skip(1).collect()
}

pub fn next(tree: &Tree, id: NodeId) -> Vec<NodeId> {
    next_all(tree, id).into_iter().take(1).collect()
}

/// Returns the preceding siblings of a node, starting with the nearest.
pub fn previous_all(tree: &Tree, id: NodeId) -> Vec<NodeId> {
    let all = tree.siblings(id).into_iter();
    let mut before: Vec<NodeId> = all.take_while(|other| *other != id).collect();
    before.reverse();
    before
}

pub fn previous(tree: &Tree, id: NodeId) -> Vec<NodeId> {
    previous_all(tree, id).into_iter().take(1).collect()
}

/// Returns the elements inside several nodes, in document order.
pub fn inside(tree: &Tree, nodes: &[NodeId]) -> Vec<NodeId> {
    let all = nodes.iter().flat_map(|id| tree.below(*id));
    unique(all.filter(|id| is_element(tree, *id)))
}

/// Collects nodes without repetitions. Steps from many siblings lead to the same nodes, so a list
/// with repetitions could exhaust the memory.
pub fn unique(nodes: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
    let mut seen = HashSet::new();
    let nodes = nodes.into_iter();
    nodes.filter(|id| seen.insert(*id)).collect()
}

/// Returns a script's name for a `data-` attribute: `user-id` becomes `userId`.
pub fn camel_case(name: &str) -> String {
    let mut is_start = false;
    let mut text = String::new();
    for letter in name.chars() {
        match letter {
            '-' => is_start = true,
            letter if is_start => {
                text.extend(letter.to_uppercase());
                is_start = false;
            }
            letter => text.push(letter),
        }
    }
    text
}

/// Returns the value of a `data-` attribute: parsed if it is JSON, otherwise as text.
pub fn data_value(text: &str) -> Value {
    let is_json = text.starts_with(['{', '['])
        || matches!(text, "true" | "false" | "null")
        || text
            .parse::<f64>()
            .is_ok_and(|number| number.to_string() == text);
    let parsed = serde_json::from_str(text).ok().filter(|_| is_json);
    parsed.unwrap_or_else(|| Value::from(text))
}
