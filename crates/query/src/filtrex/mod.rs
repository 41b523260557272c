//! Expressions in the language that Artillery's conditions are written in (filtrex 2): arithmetic, comparisons, `and or not`,
//! `x in (a, b)`, `prop of object`, `? :`, and a few functions. `parse` reads them into a tree once; here they get a value,
//! with JavaScript's conversions ([`operand`]). Comparisons give 1 and 0.

mod operand;
mod parse;

use std::{borrow::Cow, cell::Cell};

use serde_json::Value;

use crate::{Chance, Misread, Scope, regexp::Regexp};
use operand::Operand;
pub use parse::Names;

/// An expression, read.
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
    /// A call of a function that does not exist.
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

/// Whether an expression over figures holds: whether its value is 1, which is how Artillery's
/// `ensure` judges it. The caller resolves the names of figures, which may hold any characters.
/// Any other name is undefined.
///
/// # Errors
/// Where and why the expression cannot be read.
pub fn holds(text: &str, figures: parse::Figures<'_>) -> Result<bool, Misread> {
    let expression = Expression::parse(text, Names::Figures(figures))?;
    let scope = NoVariables::default();
    let value = expression.root.value(&scope, &mut Middle);
    let is_one = matches!(value, Operand::Number(n) if n == 1.0);
    Ok(is_one && !scope.has_failed.get())
}

/// The scope of expressions over figures.
#[derive(Default)]
struct NoVariables {
    /// Whether a function was called that does not exist.
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

/// Figures are judged alike each time: their conditions leave nothing to chance.
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
    /// Reads an expression.
    ///
    /// # Errors
    /// Where and why it cannot be read.
    pub fn parse(text: &str, names: Names<'_>) -> Result<Expression, Misread> {
        parse::parse(text, names).map(|root| Expression {
            text: text.to_owned(),
            root,
        })
    }

    /// As written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the value is one that JavaScript takes for true.
    pub fn is_true(&self, scope: &dyn Scope, rng: &mut dyn Chance) -> bool {
        self.root.value(scope, rng).is_truthy()
    }

    /// The same where the sides of `and`, `or` and `not` are taken as true or not, each for itself: to filtrex they are numbers, and a
    /// text, which is none, is never true behind `and`.
    pub fn holds(&self, scope: &dyn Scope, rng: &mut dyn Chance) -> bool {
        self.root.holds(scope, rng)
    }

    /// Every variable that the expression names.
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
                scope.gave_up(format!("there is no function `{name}`"));
                Operand::Undefined
            }
        }
    }
}

/// Whether a text matches an expression that another text holds; one that is no expression matches nothing.
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
        // JavaScript's `||` and `&&` return one of their sides, and filtrex makes a number of it. The
        // left side has decided already where it can.
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
        // As JavaScript's: one that is no number makes the result none.
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
