//! Parses XML.

use roxmltree::{Document, ParsingOptions};

use super::{NodeKind, ROOT, Tree};

pub(super) fn parse(text: &str) -> Result<Tree, String> {
    // Accept document types, because they are common. The parser limits entity expansion.
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text.trim_start(), options)
        .map_err(|error| error.to_string())?;
    let mut tree = Tree::new();
    // The parser limits the nesting depth, and numbers the nodes in the same order as [`Tree`].
    let mut ours = vec![ROOT];
    for node in document.descendants().skip(1) {
        let kind = if node.is_element() {
            NodeKind::Element {
                name: prefixed(&node),
                attributes: attributes(&node),
            }
        } else if node.is_comment() {
            NodeKind::Comment(node.text().unwrap_or_default().to_owned())
        } else {
            NodeKind::Text(node.text().unwrap_or_default().to_owned())
        };
        let id = tree.add(kind);
        let index = node.id().get_usize();
        if ours.len() <= index {
            ours.resize(index + 1, ROOT);
        }
        ours[index] = id;
        let parent = node.parent().map_or(0, |parent| parent.id().get_usize());
        let parent = ours.get(parent).copied().unwrap_or(ROOT);
        tree.nodes[id].parent = Some(parent);
        tree.nodes[parent].children.push(id);
    }
    Ok(tree)
}

fn prefixed(node: &roxmltree::Node<'_, '_>) -> String {
    let name = node.tag_name();
    let prefix = name.namespace().and_then(|uri| node.lookup_prefix(uri));
    match prefix.filter(|prefix| !prefix.is_empty()) {
        Some(prefix) => format!("{prefix}:{}", name.name()),
        None => name.name().to_owned(),
    }
}

fn attributes(node: &roxmltree::Node<'_, '_>) -> Vec<(String, String)> {
    node.attributes()
        .map(|attribute| {
            let prefix = attribute
                .namespace()
                .and_then(|uri| node.lookup_prefix(uri));
            let name = match prefix.filter(|prefix| !prefix.is_empty()) {
                Some(prefix) => format!("{prefix}:{}", attribute.name()),
                None => attribute.name().to_owned(),
            };
            (name, attribute.value().to_owned())
        })
        .collect()
}
