//! Resolves `$ref` within the bundle.

use formats::document::{Mark, Node};

use crate::address;

pub type BrokenReference = (Mark, String);

const MOST: usize = 32;

pub fn resolved<'n>(root: &'n Node, node: &'n Node) -> Result<&'n Node, BrokenReference> {
    let mut at = node;
    for _ in 0..MOST {
        let Some(reference) = at.get("$ref") else {
            return Ok(at);
        };
        let Some(text) = reference.as_str() else {
            return Ok(at);
        };
        let pointer = text.strip_prefix('#').unwrap_or(text);
        at = found(root, pointer).ok_or_else(|| {
            (
                reference.mark,
                format!("`{text}` does not exist in this file"),
            )
        })?;
    }
    Err((node.mark, "this reference refers to itself".to_owned()))
}

fn found<'n>(root: &'n Node, pointer: &str) -> Option<&'n Node> {
    let mut parts = pointer.split('/');
    if !parts.next()?.is_empty() {
        return None;
    }
    parts.try_fold(root, |node, part| {
        let part = address::decoded(part).replace("~1", "/").replace("~0", "~");
        match node.as_list() {
            Some(items) => items.get(part.parse::<usize>().ok()?),
            None => node.get(&part),
        }
    })
}
