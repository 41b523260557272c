//! Expressions of filtrex 2, which Artillery uses in conditions: arithmetic, comparisons, `and or
//! not`, `x in (a, b)`, `prop of object`, `? :`, and a few functions. Values are converted as in
//! JavaScript ([`operand`]). Comparisons yield 1 or 0.

mod operand;
mod parse;

use std::{borrow::Cow, cell::Cell};

use serde_json::Value;

use crate::{Chance, Misread, Scope, regexp::Regexp};
use operand::Operand;
pub use parse::NameSource;

#[derive(Debug, Clone, PartialEq)]
pub struct Filtrex {
    text: String,
    root: ExpressionNode,
}

impl serde::Serialize for Filtrex {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.text)
    }
}

#[derive(Debug, Clone, PartialEq)]
enum ExpressionNode {
    Number(f64),
    Text(String),
    Variable(String),
    List(Vec<ExpressionNode>),
    Minus(Box<ExpressionNode>),
    Not(Box<ExpressionNode>),
    Binary(FiltrexOperator, Box<(ExpressionNode, ExpressionNode)>),
    Member {
        item: Box<ExpressionNode>,
        list: Box<ExpressionNode>,
        negated: bool,
    },
    Choice(Box<(ExpressionNode, ExpressionNode, ExpressionNode)>),
    Property(String, Box<ExpressionNode>),
    Call(FiltrexFunction, Vec<ExpressionNode>),
    UnknownCall(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FiltrexOperator {
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
enum FiltrexFunction {
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

const FUNCTIONS: [(&str, FiltrexFunction); 9] = [
    ("abs", FiltrexFunction::Abs),
    ("ceil", FiltrexFunction::Ceil),
    ("floor", FiltrexFunction::Floor),
    ("log", FiltrexFunction::Log),
    ("max", FiltrexFunction::Max),
    ("min", FiltrexFunction::Min),
    ("random", FiltrexFunction::Random),
    ("round", FiltrexFunction::Round),
    ("sqrt", FiltrexFunction::Sqrt),
];

/// Returns whether an expression over metrics evaluates to 1, as Artillery's `ensure` requires. The
/// caller resolves metric names, which may contain any characters. Other names are undefined.
///
/// On failure, the error contains the position of the syntax error.
pub fn holds(text: &str, figures: parse::FigureResolver<'_>) -> Result<bool, Misread> {
    let expression = Filtrex::parse(text, NameSource::Figures(figures))?;
    let scope = NoVariables::default();
    let value = expression.root.value(&scope, &mut Middle);
    let is_one = matches!(value, Operand::Number(n) if n == 1.0);
    Ok(is_one && !scope.has_failed.get())
}

#[derive(Default)]
struct NoVariables {
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

struct Middle;

impl Chance for Middle {
    fn unit(&mut self) -> f64 {
        0.5
    }

    fn below(&mut self, n: u64) -> u64 {
        n / 2
    }
}

impl Filtrex {
    pub fn parse(text: &str, names: NameSource<'_>) -> Result<Filtrex, Misread> {
        parse::parse(text, names).map(|root| Filtrex {
            text: text.to_owned(),
            root,
        })
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_true(&self, scope: &dyn Scope, rng: &mut dyn Chance) -> bool {
        self.root.value(scope, rng).is_truthy()
    }

    /// Returns whether the condition is true. Unlike `is_true`, converts the operands of `and`,
    /// `or` and `not` to booleans. Filtrex converts them to numbers, so a string after `and` is
    /// never true.
    pub fn holds(&self, scope: &dyn Scope, rng: &mut dyn Chance) -> bool {
        self.root.holds(scope, rng)
    }

    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.visit(&mut |node| {
            if let ExpressionNode::Variable(name) = node {
                names.push(name.as_str());
            }
        });
        names
    }
}

impl ExpressionNode {
    fn visit<'n>(&'n self, see: &mut dyn FnMut(&'n ExpressionNode)) {
        see(self);
        match self {
            ExpressionNode::Number(_)
            | ExpressionNode::Text(_)
            | ExpressionNode::Variable(_)
            | ExpressionNode::UnknownCall(_) => {}
            ExpressionNode::List(items) | ExpressionNode::Call(_, items) => {
                items.iter().for_each(|item| item.visit(see));
            }
            ExpressionNode::Minus(inner)
            | ExpressionNode::Not(inner)
            | ExpressionNode::Property(_, inner) => inner.visit(see),
            ExpressionNode::Binary(_, sides) => {
                sides.0.visit(see);
                sides.1.visit(see);
            }
            ExpressionNode::Member { item, list, .. } => {
                item.visit(see);
                list.visit(see);
            }
            ExpressionNode::Choice(parts) => {
                parts.0.visit(see);
                parts.1.visit(see);
                parts.2.visit(see);
            }
        }
    }

    fn holds(&self, scope: &dyn Scope, rng: &mut dyn Chance) -> bool {
        match self {
            ExpressionNode::Not(inner) => !inner.holds(scope, rng),
            ExpressionNode::Binary(FiltrexOperator::And, sides) => {
                sides.0.holds(scope, rng) && sides.1.holds(scope, rng)
            }
            ExpressionNode::Binary(FiltrexOperator::Or, sides) => {
                sides.0.holds(scope, rng) || sides.1.holds(scope, rng)
            }
            other => other.value(scope, rng).is_truthy(),
        }
    }

    fn value<'v>(&'v self, scope: &'v dyn Scope, rng: &mut dyn Chance) -> Operand<'v> {
        match self {
            ExpressionNode::Number(n) => Operand::Number(*n),
            ExpressionNode::Text(text) => Operand::Text(Cow::Borrowed(text)),
            ExpressionNode::Variable(name) => Operand::from_value(scope.get(name)),
            ExpressionNode::List(items) => {
                Operand::List(items.iter().map(|item| item.value(scope, rng)).collect())
            }
            ExpressionNode::Minus(inner) => Operand::Number(-inner.value(scope, rng).number()),
            ExpressionNode::Not(inner) => Operand::truth(!inner.value(scope, rng).is_truthy()),
            ExpressionNode::Binary(operator, sides) => {
                let left = sides.0.value(scope, rng);
                let is_decided = match operator {
                    FiltrexOperator::Or => left.is_truthy(),
                    FiltrexOperator::And => !left.is_truthy(),
                    _ => false,
                };
                if is_decided {
                    return Operand::Number(left.number());
                }
                let right = sides.1.value(scope, rng);
                binary(*operator, left, right, scope)
            }
            ExpressionNode::Member {
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
            ExpressionNode::Choice(parts) => {
                if parts.0.value(scope, rng).is_truthy() {
                    parts.1.value(scope, rng)
                } else {
                    parts.2.value(scope, rng)
                }
            }
            ExpressionNode::Property(name, object) => object.value(scope, rng).property(name),
            ExpressionNode::Call(function, arguments) => {
                let numbers = arguments
                    .iter()
                    .map(|argument| argument.value(scope, rng).number())
                    .collect::<Vec<_>>();
                Operand::Number(call(*function, &numbers, rng))
            }
            ExpressionNode::UnknownCall(name) => {
                scope.gave_up(format!("unknown function `{name}`"));
                Operand::Undefined
            }
        }
    }
}

fn matches(text: &str, pattern: &str, scope: &dyn Scope) -> bool {
    let Ok(regex) = Regexp::new(pattern, "") else {
        return false;
    };
    match regex.find(text) {
        Ok(found) => found.is_some(),
        Err(reason) => {
            scope.gave_up(reason.to_string());
            false
        }
    }
}

fn binary<'v>(
    operator: FiltrexOperator,
    left: Operand<'v>,
    right: Operand<'v>,
    scope: &dyn Scope,
) -> Operand<'v> {
    let (a, b) = (&left, &right);
    match operator {
        // In JavaScript, `||` and `&&` return one of the operands. Filtrex converts it to a number.
        FiltrexOperator::Or | FiltrexOperator::And => Operand::Number(b.number()),
        FiltrexOperator::Equal => Operand::truth(a.equals(b)),
        FiltrexOperator::Unequal => Operand::truth(!a.equals(b)),
        FiltrexOperator::Matches => Operand::truth(matches(&a.text(), &b.text(), scope)),
        FiltrexOperator::Less => Operand::truth(a.order(b).is_some_and(std::cmp::Ordering::is_lt)),
        FiltrexOperator::AtMost => {
            Operand::truth(a.order(b).is_some_and(std::cmp::Ordering::is_le))
        }
        FiltrexOperator::More => Operand::truth(a.order(b).is_some_and(std::cmp::Ordering::is_gt)),
        FiltrexOperator::AtLeast => {
            Operand::truth(a.order(b).is_some_and(std::cmp::Ordering::is_ge))
        }
        FiltrexOperator::Add => left.plus(&right),
        FiltrexOperator::Subtract => Operand::Number(a.number() - b.number()),
        FiltrexOperator::Multiply => Operand::Number(a.number() * b.number()),
        FiltrexOperator::Divide => Operand::Number(a.number() / b.number()),
        FiltrexOperator::Remainder => Operand::Number(a.number() % b.number()),
        FiltrexOperator::Power => Operand::Number(a.number().powf(b.number())),
    }
}

fn call(function: FiltrexFunction, numbers: &[f64], rng: &mut dyn Chance) -> f64 {
    let first = numbers.first().copied().unwrap_or(f64::NAN);
    let extreme = |start: f64, pick: fn(f64, f64) -> f64| {
        numbers.iter().fold(start, |best, &n| {
            if best.is_nan() || n.is_nan() {
                f64::NAN
            } else {
                pick(best, n)
            }
        })
    };
    match function {
        FiltrexFunction::Abs => first.abs(),
        FiltrexFunction::Ceil => first.ceil(),
        FiltrexFunction::Floor => first.floor(),
        FiltrexFunction::Log => first.ln(),
        FiltrexFunction::Max => extreme(f64::NEG_INFINITY, f64::max),
        FiltrexFunction::Min => extreme(f64::INFINITY, f64::min),
        FiltrexFunction::Random => rng.unit(),
        FiltrexFunction::Round => (first + 0.5).floor(),
        FiltrexFunction::Sqrt => first.sqrt(),
    }
}

#[cfg(test)]
mod tests;
