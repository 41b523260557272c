//! Parser for HTML that follows the algorithm of the HTML standard.

use std::{
    borrow::Cow,
    cell::{Cell, Ref, RefCell},
};

use html5ever::{
    Attribute, LocalName, Namespace, ParseOpts, QualName,
    interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink},
    local_name, ns, parse_document,
    tendril::{StrTendril, TendrilSink},
};

use super::{ExceededLimit, Limits, NodeId, NodeKind, ROOT, Tree};

/// Number of bytes to parse between two checks of the limits.
const CHUNK: usize = 4096;

pub(super) fn parse(text: &str) -> Tree {
    parse_document(HtmlSink::new(), ParseOpts::default()).one(text)
}

pub(super) fn parse_within(text: &str, limits: Limits) -> Result<Tree, ExceededLimit> {
    let mut parser = parse_document(HtmlSink::new(), ParseOpts::default());
    let mut rest = text;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(chunk_length(rest));
        parser.process(StrTendril::from_slice(chunk));
        rest = after;
        let sink = &parser.tokenizer.sink.sink;
        if sink.deepest.get() > limits.depth {
            return Err(ExceededLimit::Depth);
        }
        if sink.names.borrow().len() > limits.nodes {
            return Err(ExceededLimit::Nodes);
        }
    }
    let tree = parser.finish();
    // Compute the exact depth, because the parser can move elements after inserting them.
    if depth(&tree) > limits.depth {
        return Err(ExceededLimit::Depth);
    }
    if tree.nodes.len() > limits.nodes {
        return Err(ExceededLimit::Nodes);
    }
    Ok(tree)
}

/// Returns the length of the next chunk in bytes. The chunk ends between two characters.
fn chunk_length(text: &str) -> usize {
    let end = (CHUNK..text.len()).find(|at| text.is_char_boundary(*at));
    end.unwrap_or(text.len())
}

/// Returns the maximum nesting depth of elements.
fn depth(tree: &Tree) -> usize {
    let mut deepest = 0;
    let mut waiting = vec![(ROOT, 0)];
    while let Some((id, depth)) = waiting.pop() {
        let depth = depth + usize::from(tree.name(id).is_some());
        deepest = deepest.max(depth);
        waiting.extend(tree.children(id).iter().map(|child| (*child, depth)));
    }
    deepest
}

struct HtmlSink {
    tree: RefCell<Tree>,
    names: RefCell<Vec<QualName>>,
    /// Nesting depth of each node at the time of insertion. The node itself counts.
    depths: RefCell<Vec<usize>>,
    /// Maximum of `depths`.
    deepest: Cell<usize>,
}

#[derive(Debug)]
struct Name<'a>(Ref<'a, QualName>);

impl ElemName for Name<'_> {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl HtmlSink {
    fn new() -> HtmlSink {
        HtmlSink {
            tree: RefCell::new(Tree::new()),
            names: RefCell::new(vec![QualName::new(None, ns!(), local_name!(""))]),
            depths: RefCell::new(vec![0]),
            deepest: Cell::new(0),
        }
    }

    fn add(&self, kind: NodeKind, name: Option<QualName>) -> NodeId {
        let name = name.unwrap_or_else(|| QualName::new(None, ns!(), local_name!("")));
        self.names.borrow_mut().push(name);
        self.depths.borrow_mut().push(0);
        self.tree.borrow_mut().add(kind)
    }

    fn detach(&self, id: NodeId) {
        let mut tree = self.tree.borrow_mut();
        if let Some(parent) = tree.nodes[id].parent.take() {
            tree.nodes[parent].children.retain(|child| *child != id);
        }
    }

    fn insert(&self, parent: NodeId, at: usize, child: NodeOrText<NodeId>) {
        let id = match child {
            NodeOrText::AppendNode(id) => {
                self.detach(id);
                id
            }
            NodeOrText::AppendText(text) => {
                let mut tree = self.tree.borrow_mut();
                let before = at.checked_sub(1).map(|i| tree.nodes[parent].children[i]);
                if let Some(before) = before
                    && let NodeKind::Text(known) = &mut tree.nodes[before].kind
                {
                    known.push_str(&text);
                    return;
                }
                drop(tree);
                self.add(NodeKind::Text(text.to_string()), None)
            }
        };
        let mut tree = self.tree.borrow_mut();
        tree.nodes[id].parent = Some(parent);
        let at = at.min(tree.nodes[parent].children.len());
        tree.nodes[parent].children.insert(at, id);
        let mut depths = self.depths.borrow_mut();
        depths[id] = depths[parent] + usize::from(tree.name(id).is_some());
        self.deepest.set(self.deepest.get().max(depths[id]));
    }

    fn end_of(&self, parent: NodeId) -> usize {
        self.tree.borrow().nodes[parent].children.len()
    }
}

fn plain(attributes: Vec<Attribute>) -> impl Iterator<Item = (String, String)> {
    attributes.into_iter().map(|attribute| {
        (
            attribute.name.local.to_string(),
            attribute.value.to_string(),
        )
    })
}

impl TreeSink for HtmlSink {
    type Handle = NodeId;
    type Output = Tree;
    type ElemName<'a> = Name<'a>;

    fn finish(self) -> Tree {
        self.tree.into_inner()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        ROOT
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Name<'a> {
        Name(Ref::map(self.names.borrow(), |names| &names[*target]))
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        _: ElementFlags,
    ) -> NodeId {
        let kind = NodeKind::Element {
            name: name.local.to_string(),
            attributes: plain(attributes).collect(),
        };
        self.add(kind, Some(name))
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.add(NodeKind::Comment(text.to_string()), None)
    }

    fn create_pi(&self, _: StrTendril, data: StrTendril) -> NodeId {
        self.add(NodeKind::Comment(data.to_string()), None)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.insert(*parent, self.end_of(*parent), child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        previous: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        let has_parent = self.tree.borrow().nodes[*element].parent.is_some();
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        *target
    }

    fn same_node(&self, x: &NodeId, y: &NodeId) -> bool {
        x == y
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        if let NodeOrText::AppendNode(id) = &child {
            self.detach(*id);
        }
        let place = {
            let tree = self.tree.borrow();
            tree.nodes[*sibling].parent.map(|parent| {
                let children = &tree.nodes[parent].children;
                let at = children.iter().position(|child| child == sibling);
                (parent, at.unwrap_or(children.len()))
            })
        };
        if let Some((parent, at)) = place {
            self.insert(parent, at, child);
        }
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attributes: Vec<Attribute>) {
        if let NodeKind::Element {
            attributes: known, ..
        } = &mut self.tree.borrow_mut().nodes[*target].kind
        {
            for (name, value) in plain(attributes) {
                if !known.iter().any(|(has, _)| *has == name) {
                    known.push((name, value));
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.detach(*target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        let mut tree = self.tree.borrow_mut();
        let children = std::mem::take(&mut tree.nodes[*node].children);
        for child in &children {
            tree.nodes[*child].parent = Some(*new_parent);
        }
        tree.nodes[*new_parent].children.extend(children);
    }
}

#[cfg(test)]
mod tests {
    use super::{ExceededLimit, Limits, ROOT, Tree};

    const LIMITS: Limits = Limits {
        depth: 10,
        nodes: 2000,
    };

    #[test]
    fn limited_documents_equal_those_without_limits() {
        let text = "<p>\u{e4}\u{1f600} &amp; <b>x</b>\r\n".repeat(300);
        let tree = Tree::html_within(&text, LIMITS).unwrap();
        assert_eq!(tree.inner_html(ROOT), Tree::html(&text).inner_html(ROOT));
    }

    #[test]
    fn documents_above_a_limit_are_refused() {
        // `html` and `body` add two levels.
        assert!(Tree::html_within(&"<div>".repeat(8), LIMITS).is_ok());
        for text in ["<div>".repeat(9), "<div>".repeat(1_000_000)] {
            let refused = Tree::html_within(&text, LIMITS);
            assert_eq!(refused.unwrap_err(), ExceededLimit::Depth);
        }
        let refused = Tree::html_within(&"<br>".repeat(2000), LIMITS);
        assert_eq!(refused.unwrap_err(), ExceededLimit::Nodes);
    }
}
