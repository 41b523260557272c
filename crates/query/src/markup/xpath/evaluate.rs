//! Evaluates XPath expressions.

use std::{cell::Cell, collections::BTreeSet};

use super::{
    super::{NodeId, NodeKind, ROOT, Tree},
    Axis, Expression, LocationStep, NodeTest, Operator, Path, Start, XPathFunction, XPathResult,
};
use crate::value::{number_of, write_f64};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NodeItem {
    order: usize,
    attribute: Option<usize>,
    node: NodeId,
}

#[derive(Debug, Clone)]
enum XPathValue {
    Nodes(Vec<NodeItem>),
    Text(String),
    Number(f64),
    Bool(bool),
}

struct Context<'t> {
    tree: &'t Tree,
    order: Vec<usize>,
    budget: Cell<usize>,
    exhausted: Cell<bool>,
}

/// Maximum number of nodes that an expression visits. A search that exceeds it finds nothing.
/// Nested conditions multiply the visits, and a response must not block a worker.
const BUDGET: usize = 2_000_000;

#[derive(Clone, Copy)]
struct Here {
    item: NodeItem,
    position: usize,
    last: usize,
}

pub(super) fn found(expression: &Expression, tree: &Tree) -> XPathResult {
    let mut order = vec![0; tree.nodes.len().max(1)];
    for (at, node) in tree.below(ROOT).into_iter().enumerate() {
        order[node] = at + 1;
    }
    let context = Context {
        tree,
        order,
        budget: Cell::new(BUDGET),
        exhausted: Cell::new(false),
    };
    let here = Here {
        item: context.item(ROOT),
        position: 1,
        last: 1,
    };
    let value = context.value(expression, here);
    if context.exhausted.get() {
        return XPathResult::Nodes(Vec::new());
    }
    match value {
        XPathValue::Nodes(items) => {
            XPathResult::Nodes(items.iter().map(|item| context.text(*item)).collect())
        }
        XPathValue::Text(text) => XPathResult::Text(text),
        XPathValue::Number(n) => XPathResult::Number(n),
        XPathValue::Bool(yes) => XPathResult::Bool(yes),
    }
}

impl Context<'_> {
    fn item(&self, node: NodeId) -> NodeItem {
        NodeItem {
            order: self.order[node],
            attribute: None,
            node,
        }
    }

    fn text(&self, item: NodeItem) -> String {
        match item.attribute {
            Some(index) => self.tree.attributes(item.node)[index].1.clone(),
            None => self.tree.text(item.node),
        }
    }

    fn name(&self, item: NodeItem) -> &str {
        match item.attribute {
            Some(index) => &self.tree.attributes(item.node)[index].0,
            None => self.tree.name(item.node).unwrap_or_default(),
        }
    }

    fn value(&self, expression: &Expression, here: Here) -> XPathValue {
        match expression {
            Expression::Number(n) => XPathValue::Number(*n),
            Expression::Text(text) => XPathValue::Text(text.clone()),
            Expression::Negative(inner) => {
                XPathValue::Number(-self.number(&self.value(inner, here)))
            }
            Expression::Path(path) => XPathValue::Nodes(self.path(path, here)),
            Expression::Call(function, arguments) => self.call(*function, arguments, here),
            Expression::Binary(operator, sides) => {
                let left = self.value(&sides.0, here);
                let decided = match operator {
                    Operator::Or => self.truth(&left),
                    Operator::And => !self.truth(&left),
                    _ => false,
                };
                if decided {
                    return XPathValue::Bool(*operator == Operator::Or);
                }
                self.binary(*operator, left, self.value(&sides.1, here))
            }
        }
    }

    fn binary(&self, operator: Operator, left: XPathValue, right: XPathValue) -> XPathValue {
        let numbers = |apply: fn(f64, f64) -> f64| {
            XPathValue::Number(apply(self.number(&left), self.number(&right)))
        };
        match operator {
            Operator::Or | Operator::And => XPathValue::Bool(self.truth(&right)),
            Operator::Equal
            | Operator::Unequal
            | Operator::Less
            | Operator::AtMost
            | Operator::More
            | Operator::AtLeast => XPathValue::Bool(self.compare(&left, &right, operator)),
            Operator::Add => numbers(|a, b| a + b),
            Operator::Subtract => numbers(|a, b| a - b),
            Operator::Multiply => numbers(|a, b| a * b),
            Operator::Divide => numbers(|a, b| a / b),
            Operator::Remainder => numbers(|a, b| a % b),
            Operator::Union => {
                let mut all: BTreeSet<NodeItem> = nodes(left).into_iter().collect();
                all.extend(nodes(right));
                XPathValue::Nodes(all.into_iter().collect())
            }
        }
    }

    /// Compares two values. A comparison with a node set is true if it is true for any of the
    /// nodes.
    fn compare(&self, left: &XPathValue, right: &XPathValue, operator: Operator) -> bool {
        let equality = matches!(operator, Operator::Equal | Operator::Unequal);
        match (left, right) {
            (XPathValue::Nodes(_), XPathValue::Bool(_))
            | (XPathValue::Bool(_), XPathValue::Nodes(_))
                if equality =>
            {
                (self.truth(left) == self.truth(right)) == (operator == Operator::Equal)
            }
            (XPathValue::Nodes(items), other) => items.iter().any(|item| {
                let text = XPathValue::Text(self.text(*item));
                self.compare(&text, other, operator)
            }),
            (other, XPathValue::Nodes(items)) => items.iter().any(|item| {
                let text = XPathValue::Text(self.text(*item));
                self.compare(other, &text, operator)
            }),
            _ if equality => {
                let same = match (left, right) {
                    (XPathValue::Bool(_), _) | (_, XPathValue::Bool(_)) => {
                        self.truth(left) == self.truth(right)
                    }
                    (XPathValue::Number(_), _) | (_, XPathValue::Number(_)) => {
                        self.number(left) == self.number(right)
                    }
                    _ => self.string(left) == self.string(right),
                };
                same == (operator == Operator::Equal)
            }
            _ => {
                let (a, b) = (self.number(left), self.number(right));
                match operator {
                    Operator::Less => a < b,
                    Operator::AtMost => a <= b,
                    Operator::More => a > b,
                    _ => a >= b,
                }
            }
        }
    }

    fn truth(&self, value: &XPathValue) -> bool {
        match value {
            XPathValue::Nodes(items) => !items.is_empty(),
            XPathValue::Text(text) => !text.is_empty(),
            XPathValue::Number(n) => *n != 0.0 && !n.is_nan(),
            XPathValue::Bool(yes) => *yes,
        }
    }

    fn number(&self, value: &XPathValue) -> f64 {
        match value {
            XPathValue::Number(n) => *n,
            XPathValue::Bool(yes) => f64::from(u8::from(*yes)),
            other => {
                let text = self.string(other);
                // An empty text is NaN, unlike in JavaScript.
                if text.trim().is_empty() {
                    f64::NAN
                } else {
                    number_of(&text)
                }
            }
        }
    }

    fn string(&self, value: &XPathValue) -> String {
        match value {
            XPathValue::Nodes(items) => items
                .first()
                .map_or_else(String::new, |item| self.text(*item)),
            XPathValue::Text(text) => text.clone(),
            XPathValue::Number(n) => {
                let mut out = String::new();
                write_f64(*n, &mut out);
                out
            }
            XPathValue::Bool(yes) => yes.to_string(),
        }
    }

    fn path(&self, path: &Path, here: Here) -> Vec<NodeItem> {
        let mut items = match &path.start {
            Start::Document => vec![self.item(ROOT)],
            Start::Here => vec![here.item],
            Start::Of(expression, predicates) => {
                let mut items = nodes(self.value(expression, here));
                for predicate in predicates {
                    items = self.filtered(items, predicate);
                }
                items
            }
        };
        for step in &path.steps {
            let mut found = BTreeSet::new();
            for item in items {
                found.extend(self.step(step, item));
            }
            items = found.into_iter().collect();
        }
        items
    }

    fn step(&self, step: &LocationStep, from: NodeItem) -> Vec<NodeItem> {
        let mut items = self.along(step.axis, from);
        match self.budget.get().checked_sub(items.len() + 1) {
            Some(left) => self.budget.set(left),
            None => {
                self.exhausted.set(true);
                return Vec::new();
            }
        }
        items.retain(|item| self.passes(&step.test, step.axis, *item));
        for predicate in &step.predicates {
            items = self.filtered(items, predicate);
        }
        items
    }

    fn filtered(&self, items: Vec<NodeItem>, predicate: &Expression) -> Vec<NodeItem> {
        let last = items.len();
        let holds = |(at, item): &(usize, NodeItem)| {
            let here = Here {
                item: *item,
                position: at + 1,
                last,
            };
            match self.value(predicate, here) {
                XPathValue::Number(n) => n == (at + 1) as f64,
                other => self.truth(&other),
            }
        };
        let matching = items.into_iter().enumerate().filter(holds);
        matching.map(|(_, item)| item).collect()
    }

    fn passes(&self, test: &NodeTest, axis: Axis, item: NodeItem) -> bool {
        let kind = &self.tree.nodes[item.node].kind;
        let named = item.attribute.is_some() || matches!(kind, NodeKind::Element { .. });
        let principal = (axis == Axis::Attribute) == item.attribute.is_some();
        match test {
            NodeTest::Node => true,
            NodeTest::Any => named && principal,
            NodeTest::Prefix(prefix) => named && principal && self.name(item).starts_with(prefix),
            NodeTest::Name(name) => named && principal && self.name(item) == name,
            NodeTest::Text => item.attribute.is_none() && matches!(kind, NodeKind::Text(_)),
            NodeTest::Comment => item.attribute.is_none() && matches!(kind, NodeKind::Comment(_)),
        }
    }

    fn along(&self, axis: Axis, from: NodeItem) -> Vec<NodeItem> {
        let tree = self.tree;
        let items = |nodes: Vec<NodeId>| nodes.into_iter().map(|node| self.item(node)).collect();
        if from.attribute.is_some() {
            let mut above = self.along(Axis::AncestorOrSelf, self.item(from.node));
            return match axis {
                Axis::Myself => vec![from],
                Axis::Parent => {
                    above.truncate(1);
                    above
                }
                Axis::Ancestor => above,
                Axis::AncestorOrSelf => {
                    above.insert(0, from);
                    above
                }
                _ => Vec::new(),
            };
        }
        let node = from.node;
        match axis {
            Axis::Myself => vec![from],
            Axis::Child => items(tree.children(node).to_vec()),
            Axis::Descendant => items(tree.below(node)),
            Axis::DescendantOrSelf => {
                let mut all = vec![node];
                all.extend(tree.below(node));
                items(all)
            }
            Axis::Parent => items(tree.parent(node).into_iter().collect()),
            Axis::Ancestor => items(self.above(node)),
            Axis::AncestorOrSelf => {
                let mut all = vec![node];
                all.extend(self.above(node));
                items(all)
            }
            Axis::FollowingSibling => items(self.siblings(node, false)),
            Axis::PrecedingSibling => items(self.siblings(node, true)),
            Axis::Following => {
                let mut all = Vec::new();
                for base in std::iter::once(node).chain(self.above(node)) {
                    for sibling in self.siblings(base, false) {
                        all.push(sibling);
                        all.extend(tree.below(sibling));
                    }
                }
                items(all)
            }
            Axis::Preceding => {
                let mut all = Vec::new();
                for base in std::iter::once(node).chain(self.above(node)) {
                    for sibling in self.siblings(base, true) {
                        let mut below = tree.below(sibling);
                        below.reverse();
                        all.extend(below);
                        all.push(sibling);
                    }
                }
                items(all)
            }
            Axis::Attribute => (0..tree.attributes(node).len())
                .map(|index| NodeItem {
                    attribute: Some(index),
                    ..from
                })
                .collect(),
        }
    }

    fn above(&self, node: NodeId) -> Vec<NodeId> {
        std::iter::successors(self.tree.parent(node), |node| self.tree.parent(*node)).collect()
    }

    fn siblings(&self, node: NodeId, before: bool) -> Vec<NodeId> {
        let Some(parent) = self.tree.parent(node) else {
            return Vec::new();
        };
        let all = self.tree.children(parent);
        let at = all.iter().position(|other| *other == node).unwrap_or(0);
        if before {
            all[..at].iter().rev().copied().collect()
        } else {
            all[at + 1..].to_vec()
        }
    }

    fn call(&self, function: XPathFunction, arguments: &[Expression], here: Here) -> XPathValue {
        let value = |index: usize| arguments.get(index).map(|a| self.value(a, here));
        let myself = || XPathValue::Nodes(vec![here.item]);
        let subject = || value(0).unwrap_or_else(myself);
        let text = |index: usize| value(index).map_or_else(String::new, |v| self.string(&v));
        let number = |index: usize| value(index).map_or(f64::NAN, |v| self.number(&v));
        let first_name = || match subject() {
            XPathValue::Nodes(items) => items.first().map_or("", |item| self.name(*item)),
            _ => "",
        };
        match function {
            XPathFunction::Last => XPathValue::Number(here.last as f64),
            XPathFunction::Position => XPathValue::Number(here.position as f64),
            XPathFunction::Count => {
                XPathValue::Number(value(0).map_or(0, |v| nodes(v).len()) as f64)
            }
            XPathFunction::Name => XPathValue::Text(first_name().to_owned()),
            XPathFunction::LocalName => {
                let name = first_name();
                XPathValue::Text(
                    name.rsplit_once(':')
                        .map_or(name, |(_, name)| name)
                        .to_owned(),
                )
            }
            XPathFunction::Text => XPathValue::Text(self.string(&subject())),
            XPathFunction::Concat => XPathValue::Text((0..arguments.len()).map(text).collect()),
            XPathFunction::StartsWith => XPathValue::Bool(text(0).starts_with(&text(1))),
            XPathFunction::Contains => XPathValue::Bool(text(0).contains(&text(1))),
            XPathFunction::Before | XPathFunction::After => {
                let (whole, part) = (text(0), text(1));
                let sides = whole.split_once(&part);
                let side = |(before, after): (&str, &str)| {
                    if function == XPathFunction::Before {
                        before.to_owned()
                    } else {
                        after.to_owned()
                    }
                };
                XPathValue::Text(sides.map_or_else(String::new, side))
            }
            XPathFunction::Substring => {
                let length = (arguments.len() > 2).then(|| number(2));
                XPathValue::Text(substring(&text(0), number(1), length))
            }
            XPathFunction::Length => {
                XPathValue::Number(self.string(&subject()).chars().count() as f64)
            }
            XPathFunction::Normalize => {
                let text = self.string(&subject());
                XPathValue::Text(text.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            XPathFunction::Translate => XPathValue::Text(translate(&text(0), &text(1), &text(2))),
            XPathFunction::Boolean => XPathValue::Bool(value(0).is_some_and(|v| self.truth(&v))),
            XPathFunction::Not => XPathValue::Bool(!value(0).is_some_and(|v| self.truth(&v))),
            XPathFunction::True => XPathValue::Bool(true),
            XPathFunction::False => XPathValue::Bool(false),
            XPathFunction::Number => XPathValue::Number(self.number(&subject())),
            XPathFunction::Sum => {
                let items = value(0).map(nodes).unwrap_or_default();
                let number = |item: &NodeItem| self.number(&XPathValue::Text(self.text(*item)));
                XPathValue::Number(items.iter().map(number).sum())
            }
            XPathFunction::Floor => XPathValue::Number(number(0).floor()),
            XPathFunction::Ceiling => XPathValue::Number(number(0).ceil()),
            XPathFunction::Round => XPathValue::Number((number(0) + 0.5).floor()),
        }
    }
}

fn nodes(value: XPathValue) -> Vec<NodeItem> {
    match value {
        XPathValue::Nodes(items) => items,
        _ => Vec::new(),
    }
}

/// Returns the characters at the positions p, counted from 1, with round(start) ≤ p < round(start)
/// + round(length).
fn substring(text: &str, start: f64, length: Option<f64>) -> String {
    let round = |n: f64| (n + 0.5).floor();
    let begin = round(start);
    let end = length.map_or(f64::INFINITY, |length| begin + round(length));
    let inside = |at: usize| {
        let place = (at + 1) as f64;
        place >= begin && place < end
    };
    let chars = text.chars().enumerate();
    chars
        .filter(|(at, _)| inside(*at))
        .map(|(_, c)| c)
        .collect()
}

fn translate(text: &str, from: &str, to: &str) -> String {
    let to: Vec<char> = to.chars().collect();
    text.chars()
        .filter_map(|c| match from.chars().position(|known| known == c) {
            None => Some(c),
            Some(at) => to.get(at).copied(),
        })
        .collect()
}
