//! XPath 1.0, without variables, `id()` and the namespace axis. Names are compared as written,
//! including prefixes.

mod evaluate;
mod parse;

use super::Tree;
use crate::Misread;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub struct XPath(Expression);

/// Result of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Texts of nodes in document order.
    Nodes(Vec<String>),
    /// A text.
    Text(String),
    /// A number, possibly NaN.
    Number(f64),
    /// A boolean.
    Bool(bool),
}

impl XPath {
    /// Parses an expression. Fails with the position of the error.
    pub fn parse(text: &str) -> Result<XPath, Misread> {
        parse::parse(text).map(XPath)
    }

    /// Evaluates in a document.
    #[must_use]
    pub fn find(&self, tree: &Tree) -> Found {
        evaluate::found(&self.0, tree)
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Expression {
    Number(f64),
    Text(String),
    Negative(Box<Expression>),
    Binary(Operator, Box<(Expression, Expression)>),
    Call(Function, Vec<Expression>),
    Path(Box<Path>),
}

#[derive(Debug, Clone, PartialEq)]
struct Path {
    start: Start,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Start {
    Document,
    Here,
    /// Nodes of an expression with filters.
    Of(Expression, Vec<Expression>),
}

#[derive(Debug, Clone, PartialEq)]
struct Step {
    axis: Axis,
    test: Test,
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
enum Test {
    /// `*`
    Any,
    /// `prefix:*`
    Prefix(String),
    Name(String),
    /// `node()`
    Node,
    /// `text()`
    Text,
    /// `comment()`
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
enum Function {
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

/// Name, function, minimum and maximum number of arguments.
const FUNCTIONS: [(&str, Function, usize, usize); 24] = [
    ("last", Function::Last, 0, 0),
    ("position", Function::Position, 0, 0),
    ("count", Function::Count, 1, 1),
    ("local-name", Function::LocalName, 0, 1),
    ("name", Function::Name, 0, 1),
    ("string", Function::Text, 0, 1),
    ("concat", Function::Concat, 2, usize::MAX),
    ("starts-with", Function::StartsWith, 2, 2),
    ("contains", Function::Contains, 2, 2),
    ("substring-before", Function::Before, 2, 2),
    ("substring-after", Function::After, 2, 2),
    ("substring", Function::Substring, 2, 3),
    ("string-length", Function::Length, 0, 1),
    ("normalize-space", Function::Normalize, 0, 1),
    ("translate", Function::Translate, 3, 3),
    ("boolean", Function::Boolean, 1, 1),
    ("not", Function::Not, 1, 1),
    ("true", Function::True, 0, 0),
    ("false", Function::False, 0, 0),
    ("number", Function::Number, 0, 1),
    ("sum", Function::Sum, 1, 1),
    ("floor", Function::Floor, 1, 1),
    ("ceiling", Function::Ceiling, 1, 1),
    ("round", Function::Round, 1, 1),
];

#[cfg(test)]
mod tests;
