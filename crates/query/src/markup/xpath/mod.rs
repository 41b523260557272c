//! XPath 1.0 without variables, `id()` and the namespace axis. Names are compared as written,
//! including prefixes.

mod evaluate;
mod parse;

use super::Tree;
use crate::Misread;

#[derive(Debug, Clone, PartialEq)]
pub struct XPath(Expression);

#[derive(Debug, Clone, PartialEq)]
pub enum XPathResult {
    Nodes(Vec<String>),
    Text(String),
    Number(f64),
    Bool(bool),
}

impl XPath {
    pub fn parse(text: &str) -> Result<XPath, Misread> {
        parse::parse(text).map(XPath)
    }

    #[must_use]
    pub fn find(&self, tree: &Tree) -> XPathResult {
        evaluate::found(&self.0, tree)
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Expression {
    Number(f64),
    Text(String),
    Negative(Box<Expression>),
    Binary(Operator, Box<(Expression, Expression)>),
    Call(XPathFunction, Vec<Expression>),
    Path(Box<Path>),
}

#[derive(Debug, Clone, PartialEq)]
struct Path {
    start: Start,
    steps: Vec<LocationStep>,
}

#[derive(Debug, Clone, PartialEq)]
enum Start {
    Document,
    Here,
    Of(Expression, Vec<Expression>),
}

#[derive(Debug, Clone, PartialEq)]
struct LocationStep {
    axis: Axis,
    test: NodeTest,
    predicates: Vec<Expression>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    Parent,
    Ancestor,
    AncestorOrSelf,
    FollowingSibling,
    PrecedingSibling,
    Following,
    Preceding,
    Attribute,
    Myself,
}

const AXES: [(&str, Axis); 12] = [
    ("child", Axis::Child),
    ("descendant", Axis::Descendant),
    ("descendant-or-self", Axis::DescendantOrSelf),
    ("parent", Axis::Parent),
    ("ancestor", Axis::Ancestor),
    ("ancestor-or-self", Axis::AncestorOrSelf),
    ("following-sibling", Axis::FollowingSibling),
    ("preceding-sibling", Axis::PrecedingSibling),
    ("following", Axis::Following),
    ("preceding", Axis::Preceding),
    ("attribute", Axis::Attribute),
    ("self", Axis::Myself),
];

#[derive(Debug, Clone, PartialEq)]
enum NodeTest {
    Any,
    Prefix(String),
    Name(String),
    Node,
    Text,
    Comment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Union,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum XPathFunction {
    Last,
    Position,
    Count,
    LocalName,
    Name,
    Text,
    Concat,
    StartsWith,
    Contains,
    Before,
    After,
    Substring,
    Length,
    Normalize,
    Translate,
    Boolean,
    Not,
    True,
    False,
    Number,
    Sum,
    Floor,
    Ceiling,
    Round,
}

const FUNCTIONS: [(&str, XPathFunction, usize, usize); 24] = [
    ("last", XPathFunction::Last, 0, 0),
    ("position", XPathFunction::Position, 0, 0),
    ("count", XPathFunction::Count, 1, 1),
    ("local-name", XPathFunction::LocalName, 0, 1),
    ("name", XPathFunction::Name, 0, 1),
    ("string", XPathFunction::Text, 0, 1),
    ("concat", XPathFunction::Concat, 2, usize::MAX),
    ("starts-with", XPathFunction::StartsWith, 2, 2),
    ("contains", XPathFunction::Contains, 2, 2),
    ("substring-before", XPathFunction::Before, 2, 2),
    ("substring-after", XPathFunction::After, 2, 2),
    ("substring", XPathFunction::Substring, 2, 3),
    ("string-length", XPathFunction::Length, 0, 1),
    ("normalize-space", XPathFunction::Normalize, 0, 1),
    ("translate", XPathFunction::Translate, 3, 3),
    ("boolean", XPathFunction::Boolean, 1, 1),
    ("not", XPathFunction::Not, 1, 1),
    ("true", XPathFunction::True, 0, 0),
    ("false", XPathFunction::False, 0, 0),
    ("number", XPathFunction::Number, 0, 1),
    ("sum", XPathFunction::Sum, 1, 1),
    ("floor", XPathFunction::Floor, 1, 1),
    ("ceiling", XPathFunction::Ceiling, 1, 1),
    ("round", XPathFunction::Round, 1, 1),
];

#[cfg(test)]
mod tests;
