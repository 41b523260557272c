//! Writes nodes of an HTML tree as HTML text.

use super::{NodeId, NodeKind, Tree};

/// Elements without an end tag.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr", "param",
];

/// Elements whose text is written without escapes.
const RAW: [&str; 6] = ["style", "script", "xmp", "iframe", "noembed", "noframes"];

/// A part of the document that is still to be written.
enum Piece<'t> {
    Node(NodeId),
    End(&'t str),
}

impl Tree {
    /// Returns the HTML of a node, including its own tag.
    #[must_use]
    pub fn outer_html(&self, id: NodeId) -> String {
        self.write(vec![Piece::Node(id)])
    }

    /// Returns the HTML of the children of a node.
    #[must_use]
    pub fn inner_html(&self, id: NodeId) -> String {
        let children = self.children(id).iter().rev();
        self.write(children.map(|id| Piece::Node(*id)).collect())
    }

    /// Writes the pieces, starting with the last one. Uses no recursion, because documents may be
    /// deeply nested.
    fn write<'t>(&'t self, mut pieces: Vec<Piece<'t>>) -> String {
        let mut out = String::new();
        while let Some(piece) = pieces.pop() {
            let id = match piece {
                Piece::Node(id) => id,
                Piece::End(name) => {
                    out.push_str("</");
                    out.push_str(name);
                    out.push('>');
                    continue;
                }
            };
            match &self.nodes[id].kind {
                NodeKind::Document => {}
                NodeKind::Text(text) => {
                    let parent = self.parent(id).and_then(|parent| self.name(parent));
                    match parent.is_some_and(|parent| RAW.contains(&parent)) {
                        true => out.push_str(text),
                        false => escape(&mut out, text, false),
                    }
                }
                NodeKind::Comment(text) => {
                    out.push_str("<!--");
                    out.push_str(text);
                    out.push_str("-->");
                }
                NodeKind::Element { name, attributes } => {
                    out.push('<');
                    out.push_str(name);
                    for (name, value) in attributes {
                        out.push(' ');
                        out.push_str(name);
                        out.push_str("=\"");
                        escape(&mut out, value, true);
                        out.push('"');
                    }
                    out.push('>');
                    if VOID.contains(&name.as_str()) {
                        continue;
                    }
                    pieces.push(Piece::End(name));
                }
            }
            pieces.extend(self.children(id).iter().rev().map(|id| Piece::Node(*id)));
        }
        out
    }
}

fn escape(out: &mut String, text: &str, is_attribute: bool) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '\u{a0}' => out.push_str("&nbsp;"),
            '"' if is_attribute => out.push_str("&quot;"),
            '<' if !is_attribute => out.push_str("&lt;"),
            '>' if !is_attribute => out.push_str("&gt;"),
            letter => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::markup::{ROOT, Tree};

    #[test]
    fn html_is_written_as_browsers_do() {
        let source = "<p class=\"a&quot;b\">1 &lt; 2<br>&amp;<!--c--></p><script>a < b</script>";
        let tree = Tree::html(source);
        let html = tree.inner_html(ROOT);
        assert!(html.starts_with("<html><head></head><body>"), "{html}");
        assert!(html.contains(source), "{html}");
        let paragraph = tree
            .below(ROOT)
            .into_iter()
            .find(|id| tree.name(*id) == Some("p"));
        let paragraph = paragraph.unwrap();
        assert_eq!(tree.inner_html(paragraph), "1 &lt; 2<br>&amp;<!--c-->");
        assert_eq!(tree.text(paragraph), "1 < 2&");
    }

    #[test]
    fn deep_documents_are_written_without_recursion() {
        let tree = Tree::html(&"<div>".repeat(50_000));
        assert!(tree.inner_html(ROOT).ends_with("</div></body></html>"));
    }
}
