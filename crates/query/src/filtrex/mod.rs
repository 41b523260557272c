//! Expressions of filtrex 2, used by Artillery's conditions: arithmetic, comparisons, `and or not`,
//! `x in (a, b)`, `prop of object`, `? :`, and a few functions. Values convert as in JavaScript
//! ([`operand`]). Comparisons yield 1 and 0.

mod operand;
mod parse;

use std::{borrow::Cow, cell::Cell};

use serde_json::Value;

use crate::{Chance, Misread, Scope, regexp::Regexp};
use operand::Operand;
pub use parse::Names;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

impl serde::Serialize for Expression {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.text)
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Number(f64),
    Text(String),
    Variable(String),
    List(Vec<Node>),
    Minus(Box<Node>),
    Not(Box<Node>),
    Binary(Operator, Box<(Node, Node)>),
    Member {
        item: Box<Node>,
        list: Box<Node>,
        negated: bool,
    },
    /// Condition, then, else.
    Choice(Box<(Node, Node, Node)>),
    Property(String, Box<Node>),
    Call(Function, Vec<Node>),
    /// A call of an unknown function.
    UnknownCall(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Matches,
    Less,
    AtMost,
    More,
    AtLeast,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Abs,
    Ceil,
    Floor,
    Log,
    Max,
    Min,
    Random,
    Round,
    Sqrt,
}

const FUNCTIONS: [(&str, Function); 9] = [
    ("abs", Function::Abs),
    ("ceil", Function::Ceil),
    ("floor", Function::Floor),
    ("log", Function::Log),
    ("max", Function::Max),
    ("min", Function::Min),
    ("random", Function::Random),
    ("round", Function::Round),
    ("sqrt", Function::Sqrt),
];

/// Whether an expression over metrics is 1, as evaluated by Artillery's `ensure`. The caller
/// resolves names of metrics, which may contain any characters. Other names are undefined.
///
/// Fails with the position of a parse error.
pub fn holds(text: &str, figures: parse::Figures<'_>) -> Result<bool, Misread> {
    let expression = Expression::parse(text, Names::Figures(figures))?;
    let scope = NoVariables::default();
    let value = expression.root.value(&scope, &mut Middle);
    let is_one = matches!(value, Operand::Number(n) if n == 1.0);
    Ok(is_one && !scope.has_failed.get())
}

#[derive(Default)]
struct NoVariables {
    /// Whether an unknown function was called.
    has_failed: Cell<bool>,
}

impl Scope for NoVariables {
    fn get(&self, _name: &str) -> Option<&Value> {
        None
    }

    fn gave_up(&self, _what: String) {
        self.has_failed.set(true);
    }
}

/// Constant random numbers, so that metrics are evaluated deterministically.
struct Middle;

impl Chance for Middle {
    fn unit(&mut self) -> f64 {
        0.5
    }

    fn below(&mut self, n: u64) -> u64 {
        n / 2
    }
}

impl Expression {
    /// Parses an expression. Fails with the position of the error.
    pub fn parse(text: &str, names: Names<'_>) -> Result<Expression, Misread> {
        parse::parse(text, names).map(|root| Expression {
            text: text.to_owned(),
            root,
        })
    }

    /// The expression as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the value is true in JavaScript.
    pub fn is_true(&self, scope: &dyn Scope, rng: &mut dyn Chance) -> bool {
        self.root.value(scope, rng).is_truthy()
    }

    /// Like `is_true`, but converts each side of `and`, `or` and `not` to a boolean. Filtrex
    /// converts them to numbers, so that a text is never true after `and`.
    pub fn holds(&self, scope: &dyn Scope, rng: &mut dyn Chance) -> bool {
        self.root.holds(scope, rng)
    }

    /// All variables used.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.visit(&mut |node| {
            if let Node::Variable(name) = node {
                names.push(name.as_str());
            }
        });
        names
    }
}

impl Node {
    fn visit<'n>(&'n self, see: &mut dyn FnMut(&'n Node)) {
        see(self);
        match self {
            Node::Number(_) | Node::Text(_) | Node::Variable(_) | Node::UnknownCall(_) => {}
            Node::List(items) | Node::Call(_, items) => {
                items.iter().for_each(|item| item.visit(see));
            }
            Node::Minus(inner) | Node::Not(inner) | Node::Property(_, inner) => inner.visit(see),
            Node::Binary(_, sides) => {
                sides.0.visit(see);
                sides.1.visit(see);
            }
            Node::Member { item, list, .. } => {
                item.visit(see);
                list.visit(see);
            }
            Node::Choice(parts) => {
                parts.0.visit(see);
                parts.1.visit(see);
                parts.2.visit(see);
            }
        }
    }

    fn holds(&self, scope: &dyn Scope, rng: &mut dyn Chance) -> bool {
        match self {
            Node::Not(inner) => !inner.holds(scope, rng),
            Node::Binary(Operator::And, sides) => {
                sides.0.holds(scope, rng) && sides.1.holds(scope, rng)
            }
            Node::Binary(Operator::Or, sides) => {
                sides.0.holds(scope, rng) || sides.1.holds(scope, rng)
            }
            other => other.value(scope, rng).is_truthy(),
        }
    }

    fn value<'v>(&'v self, scope: &'v dyn Scope, rng: &mut dyn Chance) -> Operand<'v> {
        match self {
            Node::Number(n) => Operand::Number(*n),
            Node::Text(text) => Operand::Text(Cow::Borrowed(text)),
            Node::Variable(name) => Operand::of(scope.get(name)),
            Node::List(items) => {
                Operand::List(items.iter().map(|item| item.value(scope, rng)).collect())
            }
            Node::Minus(inner) => Operand::Number(-inner.value(scope, rng).number()),
            Node::Not(inner) => Operand::truth(!inner.value(scope, rng).is_truthy()),
            Node::Binary(operator, sides) => {
                let left = sides.0.value(scope, rng);
                let is_decided = match operator {
                    Operator::Or => left.is_truthy(),
                    Operator::And => !left.is_truthy(),
                    _ => false,
                };
                if is_decided {
                    return Operand::Number(left.number());
                }
                let right = sides.1.value(scope, rng);
                binary(*operator, left, right, scope)
            }
            Node::Member {
                item,
                list,
                negated,
            } => {
                let item = item.value(scope, rng);
                let found = list
                    .value(scope, rng)
                    .into_items()
                    .iter()
                    .any(|other| item.is_same(other));
                Operand::truth(found != *negated)
            }
            Node::Choice(parts) => {
                if parts.0.value(scope, rng).is_truthy() {
                    parts.1.value(scope, rng)
                } else {
                    parts.2.value(scope, rng)
                }
            }
            Node::Property(name, object) => object.value(scope, rng).property(name),
            Node::Call(function, arguments) => {
                let numbers = arguments
                    .iter()
                    .map(|argument| argument.value(scope, rng).number())
                    .collect::<Vec<_>>();
                Operand::Number(call(*function, &numbers, rng))
            }
            Node::UnknownCall(name) => {
                scope.gave_up(format!("unknown function `{name}`"));
                Operand::Undefined
            }
        }
    }
}

/// Whether a text matches a regular expression. An invalid one matches nothing.
fn matches(text: &str, pattern: &str, scope: &dyn Scope) -> bool {
    let Ok(regex) = Regexp::new(pattern, "") else {
        return false;
    };
    match regex.find(text) {
        Ok(found) => found.is_some(),
        Err(why) => {
            scope.gave_up(why.to_string());
            false
        }
    }
}

fn binary<'v>(
    operator: Operator,
    left: Operand<'v>,
    right: Operand<'v>,
    scope: &dyn Scope,
) -> Operand<'v> {
    let (a, b) = (&left, &right);
    match operator {
        // JavaScript's `
        //
        //
        // ` and `&&` return one side, which filtrex converts to a number. The left side was decided
        // before.
        Operator::Or | Operator::And => Operand::Number(b.number()),
        Operator::Equal => Operand::truth(a.equals(b)),
        Operator::Unequal => Operand::truth(!a.equals(b)),
        Operator::Matches => Operand::truth(matches(&a.text(), &b.text(), scope)),
        Operator::Less => Operand::truth(a.order(b).is_some_and(std::cmp::Ordering::is_lt)),
        Operator::AtMost => Operand::truth(a.order(b).is_some_and(std::cmp::Ordering::is_le)),
        Operator::More => Operand::truth(a.order(b).is_some_and(std::cmp::Ordering::is_gt)),
        Operator::AtLeast => Operand::truth(a.order(b).is_some_and(std::cmp::Ordering::is_ge)),
        Operator::Add => left.plus(&right),
        Operator::Subtract => Operand::Number(a.number() - b.number()),
        Operator::Multiply => Operand::Number(a.number() * b.number()),
        Operator::Divide => Operand::Number(a.number() / b.number()),
        Operator::Remainder => Operand::Number(a.number() % b.number()),
        Operator::Power => Operand::Number(a.number().powf(b.number())),
    }
}

fn call(function: Function, numbers: &[f64], rng: &mut dyn Chance) -> f64 {
    let first = numbers.first().copied().unwrap_or(f64::NAN);
    let extreme = |start: f64, pick: fn(f64, f64) -> f64| {
        // As in JavaScript, NaN makes the result NaN.
        numbers.iter().fold(start, |best, &n| {
            if best.is_nan() || n.is_nan() {
                f64::NAN
            } else {
                pick(best, n)
            }
        })
    };
    match function {
        Function::Abs => first.abs(),
        Function::Ceil => first.ceil(),
        Function::Floor => first.floor(),
        Function::Log => first.ln(),
        Function::Max => extreme(f64::NEG_INFINITY, f64::max),
        Function::Min => extreme(f64::INFINITY, f64::min),
        Function::Random => rng.unit(),
        Function::Round => (first + 0.5).floor(),
        Function::Sqrt => first.sqrt(),
    }
}

#[cfg(test)]
mod tests;
