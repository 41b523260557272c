//! Trees of HTML documents (for CSS selectors, [`selector`]) and XML documents (for XPath,
//! [`xpath`]).

mod html;
mod selector;
mod serialize;
mod xml;
mod xpath;

pub use selector::Selector;
pub use xpath::{XPath, XPathResult};

/// Index of a node in its tree.
pub type NodeId = usize;

/// The document, which contains all other nodes.
pub const ROOT: NodeId = 0;

#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<MarkupNode>,
}

#[derive(Debug)]
struct MarkupNode {
    parent: Option<NodeId>,
    children: Vec<NodeId>,
    kind: NodeKind,
}

#[derive(Debug)]
enum NodeKind {
    Document,
    Element {
        /// Name with its prefix, as written. In lower case for HTML.
        name: String,
        attributes: Vec<(String, String)>,
    },
    Text(String),
    Comment(String),
}

/// Limits for a document from an untrusted source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum nesting depth of elements. The root element counts.
    pub depth: usize,
    /// Maximum number of nodes, including texts and comments.
    pub nodes: usize,
}

/// The limit that a document exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExceededLimit {
    Depth,
    Nodes,
}

impl Tree {
    #[must_use]
    pub fn html(text: &str) -> Tree {
        html::parse(text)
    }

    /// Parses HTML, and stops early if the document exceeds the limits. The time to parse and to
    /// search a document grows with the product of its depth and its size.
    ///
    /// # Errors
    ///
    /// Returns the limit that the document exceeds.
    pub fn html_within(text: &str, limits: Limits) -> Result<Tree, ExceededLimit> {
        html::parse_within(text, limits)
    }

    pub fn xml(text: &str) -> Result<Tree, String> {
        xml::parse(text)
    }

    fn new() -> Tree {
        let mut tree = Tree::default();
        tree.add(NodeKind::Document);
        tree
    }

    fn add(&mut self, kind: NodeKind) -> NodeId {
        self.nodes.push(MarkupNode {
            parent: None,
            children: Vec::new(),
            kind,
        });
        self.nodes.len() - 1
    }

    /// Returns the parent of a node. `None` for the document.
    #[must_use]
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id].parent
    }

    /// Returns the children of a node, in document order.
    #[must_use]
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        &self.nodes[id].children
    }

    /// Returns the name of an element. `None` for other nodes.
    #[must_use]
    pub fn name(&self, id: NodeId) -> Option<&str> {
        match &self.nodes[id].kind {
            NodeKind::Element { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Returns the names and values of an element's attributes.
    #[must_use]
    pub fn attributes(&self, id: NodeId) -> &[(String, String)] {
        match &self.nodes[id].kind {
            NodeKind::Element { attributes, .. } => attributes,
            _ => &[],
        }
    }

    /// Returns whether a node is a text node.
    #[must_use]
    pub fn is_text(&self, id: NodeId) -> bool {
        matches!(self.nodes[id].kind, NodeKind::Text(_))
    }

    /// Returns the value of an attribute of an element.
    #[must_use]
    pub fn attribute(&self, id: NodeId, name: &str) -> Option<&str> {
        let mut all = self.attributes(id).iter();
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns all elements with the same parent, including this one.
    #[must_use]
    pub fn siblings(&self, id: NodeId) -> Vec<NodeId> {
        let all = self
            .parent(id)
            .map_or(&[][..], |parent| self.children(parent));
        all.iter()
            .copied()
            .filter(|id| self.name(*id).is_some())
            .collect()
    }

    /// Returns all descendants of a node, in document order.
    #[must_use]
    pub fn below(&self, id: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut waiting: Vec<NodeId> = self.children(id).iter().rev().copied().collect();
        while let Some(next) = waiting.pop() {
            found.push(next);
            waiting.extend(self.children(next).iter().rev());
        }
        found
    }

    /// Returns the text of a node and all its descendants.
    #[must_use]
    pub fn text(&self, id: NodeId) -> String {
        match &self.nodes[id].kind {
            NodeKind::Text(text) | NodeKind::Comment(text) => text.clone(),
            _ => {
                let texts = self.below(id).into_iter();
                let text = |id: NodeId| match &self.nodes[id].kind {
                    NodeKind::Text(text) => Some(text.as_str()),
                    _ => None,
                };
                texts.filter_map(text).collect()
            }
        }
    }
}
