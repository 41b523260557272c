//! The element tree of a JMeter plan. In the file, the children of an element are in the `hashTree`
//! that follows it.

use formats::document::Mark;
use roxmltree::{Document, Node};

/// Maximum nesting of elements to read.
const DEEPEST: usize = 60;

#[derive(Debug)]
pub struct JmxElement<'x> {
    node: Node<'x, 'x>,
    /// Class of the element, for example `HTTPSamplerProxy`.
    pub kind: &'x str,
    pub name: String,
    pub line: usize,
    pub children: Vec<JmxElement<'x>>,
}

/// An error in a JMX file, with its position and reason.
#[derive(Debug)]
pub struct BrokenElement {
    pub mark: Mark,
    pub message: String,
}

/// Returns the enabled elements below the root.
pub fn read<'x>(document: &'x Document<'x>) -> Result<Vec<JmxElement<'x>>, BrokenElement> {
    let root = document.root_element();
    let tree = root.children().find(|node| node.has_tag_name("hashTree"));
    match tree {
        Some(tree) if root.has_tag_name("jmeterTestPlan") => {
            let breaks = document.input_text().match_indices('\n');
            let breaks: Vec<usize> = breaks.map(|(at, _)| at).collect();
            elements(tree, &breaks, DEEPEST)
        }
        _ => Err(BrokenElement {
            mark: mark_of(root),
            message: "a JMeter plan must be a `jmeterTestPlan` with a `hashTree`".to_owned(),
        }),
    }
}

fn mark_of(node: Node<'_, '_>) -> Mark {
    let position = node.document().text_pos_at(node.range().start);
    Mark {
        file: 0,
        line: position.row as usize,
        column: position.col as usize,
    }
}

/// Reads the elements of a `hashTree`. `breaks` contains the offsets of the line breaks. Counting
/// lines for each position would take quadratic time.
fn elements<'x>(
    tree: Node<'x, 'x>,
    breaks: &[usize],
    depth: usize,
) -> Result<Vec<JmxElement<'x>>, BrokenElement> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(BrokenElement {
            mark: mark_of(tree),
            message: format!("elements are nested more than {DEEPEST} levels deep"),
        });
    };
    let mut nodes = tree.children().filter(Node::is_element).peekable();
    let mut found = Vec::new();
    while let Some(node) = nodes.next() {
        let is_tree = |node: &Node<'x, 'x>| node.has_tag_name("hashTree");
        if is_tree(&node) {
            continue;
        }
        let below = nodes.next_if(is_tree);
        if node.attribute("enabled") == Some("false") {
            continue;
        }
        let kind = node.tag_name().name();
        let name = node.attribute("testname").unwrap_or(kind);
        found.push(JmxElement {
            node,
            kind: kind.rsplit('.').next().unwrap_or(kind),
            name: name.trim().replace(char::is_control, " "),
            line: 1 + breaks.partition_point(|at| *at < node.range().start),
            children: match below {
                Some(below) => elements(below, breaks, depth)?,
                None => Vec::new(),
            },
        });
    }
    Ok(found)
}

fn text_of(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().to_owned()
}

/// Returns whether a property has this name, in an attribute or in a `name` element.
fn is_named(node: &Node<'_, '_>, name: &str) -> bool {
    node.attribute("name") == Some(name)
        || node
            .children()
            .find(|child| child.has_tag_name("name"))
            .is_some_and(|child| child.text() == Some(name))
}

fn value_of(node: Node<'_, '_>) -> String {
    let value = node.children().find(|child| child.has_tag_name("value"));
    text_of(value.unwrap_or(node))
}

/// A member of a list, such as an argument or a header.
#[derive(Clone, Copy)]
pub struct JmxItem<'x>(Node<'x, 'x>);

impl JmxItem<'_> {
    pub fn property(self, name: &str) -> String {
        let mut properties = self.0.children();
        let property = properties.find(|child| is_named(child, name));
        property.map(value_of).unwrap_or_default()
    }

    /// Returns the texts within the item, in order.
    pub fn texts(self) -> Vec<String> {
        let items = self.0.children().filter(Node::is_element);
        items.map(value_of).collect()
    }

    pub fn text(self) -> String {
        text_of(self.0)
    }
}

impl<'x> JmxElement<'x> {
    /// Returns a property. Missing and empty properties are `""`.
    pub fn property(&self, name: &str) -> String {
        let mut properties = self.node.descendants().skip(1);
        let property = properties.find(|node| is_named(node, name));
        property.map(value_of).unwrap_or_default()
    }

    pub fn flag(&self, name: &str) -> bool {
        self.property(name).trim() == "true"
    }

    /// Returns the members of a `collectionProp`.
    pub fn list(&self, name: &str) -> Vec<JmxItem<'x>> {
        let mut lists = self.node.descendants();
        let list = lists.find(|node| node.has_tag_name("collectionProp") && is_named(node, name));
        let items = list.into_iter().flat_map(|list| list.children());
        items.filter(Node::is_element).map(JmxItem).collect()
    }

    /// Returns a comment about this element, with its position.
    pub fn comment(&self, file: &str, text: &str) -> String {
        format!("{file}:{}, {}: {text}", self.line, self.title())
    }

    /// Returns the kind and the name of the element, which users know from JMeter's tree.
    pub fn title(&self) -> String {
        if self.name == self.kind || self.name.is_empty() {
            self.kind.to_owned()
        } else {
            format!("{} `{}`", self.kind, self.name)
        }
    }
}

impl JmxElement<'_> {
    pub fn broken(&self, message: String) -> BrokenElement {
        BrokenElement {
            mark: mark_of(self.node),
            message,
        }
    }
}
