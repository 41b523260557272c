//! Expressions in filters and computed names: a subset of JavaScript without calls, assignments and
//! regular expressions.

use std::{borrow::Cow, cmp::Ordering};

use serde_json::Value;

use super::{JsonPathError, cursor::Cursor, trace::TracedValue};
use crate::value;

const MAX_DEPTH: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Literal(Option<Value>),
    This,
    Root,
    Parent,
    Property,
    ParentProperty,
    Member(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Negated(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Same,
    NotSame,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

const LEVELS: &[&[(&str, Operator)]] = &[
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("===", Operator::Same),
        ("!==", Operator::NotSame),
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
    ],
    &[
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[
        ("*", Operator::Multiply),
        ("/", Operator::Divide),
        ("%", Operator::Remainder),
    ],
];

pub(super) fn parse(cursor: &mut Cursor<'_>, depth: usize) -> Result<Expression, JsonPathError> {
    if depth > MAX_DEPTH {
        return cursor.error("this expression is nested too deeply");
    }
    binary(cursor, 0, depth)
}

fn binary(
    cursor: &mut Cursor<'_>,
    level: usize,
    depth: usize,
) -> Result<Expression, JsonPathError> {
    let Some(operators) = LEVELS.get(level) else {
        return unary(cursor, depth);
    };
    let mut left = binary(cursor, level + 1, depth)?;
    let mut chained = 0;
    loop {
        cursor.space();
        if cursor.rest().starts_with("=~") {
            return cursor.error("=~ is not supported");
        }
        let Some((_, operator)) = operators.iter().find(|(token, _)| cursor.eat(token)) else {
            return Ok(left);
        };
        chained += 1;
        if chained > MAX_DEPTH {
            return cursor.error("this expression is too long");
        }
        let right = binary(cursor, level + 1, depth)?;
        left = Expression::Binary(*operator, Box::new(left), Box::new(right));
    }
}

fn unary(cursor: &mut Cursor<'_>, depth: usize) -> Result<Expression, JsonPathError> {
    if depth > MAX_DEPTH {
        return cursor.error("this expression is nested too deeply");
    }
    cursor.space();
    if cursor.eat("!") {
        return Ok(Expression::Not(Box::new(unary(cursor, depth + 1)?)));
    }
    if cursor.eat("-") {
        return Ok(Expression::Negated(Box::new(unary(cursor, depth + 1)?)));
    }
    let mut operand = primary(cursor, depth)?;
    let mut members = 0;
    loop {
        cursor.space();
        let member = if cursor.eat(".") {
            Expression::Literal(Some(word(cursor)?.into()))
        } else if cursor.eat("[") {
            let index = parse(cursor, depth + 1)?;
            cursor.space();
            if !cursor.eat("]") {
                return cursor.error("a bracket is not closed");
            }
            index
        } else if cursor.peek() == Some('(') {
            return cursor.error("function calls are not supported in filters");
        } else {
            return Ok(operand);
        };
        members += 1;
        if members > MAX_DEPTH {
            return cursor.error("this expression is too long");
        }
        operand = Expression::Member(Box::new(operand), Box::new(member));
    }
}

fn word(cursor: &mut Cursor<'_>) -> Result<String, JsonPathError> {
    let rest = cursor.rest();
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
        .unwrap_or(rest.len());
    if end == 0 {
        return cursor.error("a name is missing here");
    }
    cursor.at += end;
    Ok(rest[..end].to_owned())
}

fn primary(cursor: &mut Cursor<'_>, depth: usize) -> Result<Expression, JsonPathError> {
    let start = cursor.at;
    match cursor.peek() {
        Some('(') => {
            cursor.at += 1;
            let inner = parse(cursor, depth + 1)?;
            cursor.space();
            if cursor.eat(")") {
                Ok(inner)
            } else {
                cursor.error("a parenthesis is not closed")
            }
        }
        Some(quote @ ('\'' | '"')) => {
            cursor.at += 1;
            Ok(Expression::Literal(Some(cursor.quoted(quote)?.into())))
        }
        Some('@') => {
            cursor.at += 1;
            let named = if cursor.peek().is_some_and(char::is_alphabetic) {
                word(cursor)?
            } else {
                String::new()
            };
            match named.as_str() {
                "" => Ok(Expression::This),
                "root" => Ok(Expression::Root),
                "parent" => Ok(Expression::Parent),
                "property" => Ok(Expression::Property),
                "parentProperty" => Ok(Expression::ParentProperty),
                _ => {
                    cursor.at = start;
                    cursor.error(format!(
                        "@{named} is unknown: use @, @root, @parent, @property"
                    ))
                }
            }
        }
        Some('$') => cursor.error("write @root for the whole document"),
        Some(c) if c.is_ascii_digit() || c == '.' => {
            let rest = cursor.rest();
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '.')
                .unwrap_or(rest.len());
            match value::number(value::number_of(&rest[..end])) {
                Some(number) => {
                    cursor.at += end;
                    Ok(Expression::Literal(Some(Value::Number(number))))
                }
                None => cursor.error(format!("`{}` is not a number", &rest[..end])),
            }
        }
        Some(c) if c.is_alphabetic() || c == '_' => match word(cursor)?.as_str() {
            "true" => Ok(Expression::Literal(Some(Value::Bool(true)))),
            "false" => Ok(Expression::Literal(Some(Value::Bool(false)))),
            "null" => Ok(Expression::Literal(Some(Value::Null))),
            "undefined" => Ok(Expression::Literal(None)),
            other => {
                cursor.at = start;
                cursor.error(format!(
                    "`{other}` is unknown: put texts in quotes, and write @. before a property"
                ))
            }
        },
        Some(c) => cursor.error(format!("`{c}` is not expected here")),
        None => cursor.error("the expression ends too early"),
    }
}

/// A JavaScript value, where `None` is `undefined`. NaN and infinities are also `undefined`,
/// because they equal no JSON value.
type Js<'a> = Option<Cow<'a, Value>>;

impl Expression {
    pub fn eval<'a>(&'a self, place: &TracedValue<'a, '_>) -> Js<'a> {
        match self {
            Expression::Literal(literal) => literal.as_ref().map(Cow::Borrowed),
            Expression::This => Some(place.value.clone()),
            Expression::Root => Some(Cow::Borrowed(place.root())),
            Expression::Parent => place.parent.map(|parent| parent.value.clone()),
            Expression::Property => place.name_value().map(Cow::Owned),
            Expression::ParentProperty => place
                .parent
                .and_then(TracedValue::name_value)
                .map(Cow::Owned),
            Expression::Member(of, key) => {
                let key = value::text(key.eval(place).as_deref());
                super::trace::child(&of.eval(place)?, &key)
            }
            Expression::Not(inner) => boolean(!truthy(inner.eval(place).as_deref())),
            Expression::Negated(inner) => number(-to_number(inner.eval(place).as_deref())),
            Expression::Binary(operator, left, right) => {
                binary_value(*operator, left, right, place)
            }
        }
    }

    pub fn holds<'a>(&'a self, place: &TracedValue<'a, '_>) -> bool {
        truthy(self.eval(place).as_deref())
    }
}

fn binary_value<'a>(
    operator: Operator,
    left: &'a Expression,
    right: &'a Expression,
    place: &TracedValue<'a, '_>,
) -> Js<'a> {
    let left = left.eval(place);
    match operator {
        Operator::Or if truthy(left.as_deref()) => return left,
        Operator::And if !truthy(left.as_deref()) => return left,
        Operator::Or | Operator::And => return right.eval(place),
        _ => {}
    }
    let right = right.eval(place);
    let (a, b) = (left.as_deref(), right.as_deref());
    let numbers = || (to_number(a), to_number(b));
    match operator {
        Operator::Or | Operator::And => None,
        Operator::Same => boolean(same(a, b)),
        Operator::NotSame => boolean(!same(a, b)),
        Operator::Equal => boolean(equal(a, b)),
        Operator::NotEqual => boolean(!equal(a, b)),
        Operator::Less => boolean(order(a, b) == Some(Ordering::Less)),
        Operator::Greater => boolean(order(a, b) == Some(Ordering::Greater)),
        Operator::LessOrEqual => boolean(matches!(
            order(a, b),
            Some(Ordering::Less | Ordering::Equal)
        )),
        Operator::GreaterOrEqual => boolean(matches!(
            order(a, b),
            Some(Ordering::Greater | Ordering::Equal)
        )),
        Operator::Add => match (a, b) {
            (Some(Value::String(_)), _) | (_, Some(Value::String(_))) => {
                Some(Cow::Owned(Value::String(value::text(a) + &value::text(b))))
            }
            _ => number(numbers().0 + numbers().1),
        },
        Operator::Subtract => number(numbers().0 - numbers().1),
        Operator::Multiply => number(numbers().0 * numbers().1),
        Operator::Divide => number(numbers().0 / numbers().1),
        Operator::Remainder => number(numbers().0 % numbers().1),
    }
}

fn boolean<'a>(yes: bool) -> Js<'a> {
    Some(Cow::Owned(Value::Bool(yes)))
}

fn number<'a>(n: f64) -> Js<'a> {
    value::number(n).map(|n| Cow::Owned(Value::Number(n)))
}

fn truthy(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Number(n)) => n.as_f64() != Some(0.0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    }
}

fn to_number(value: Option<&Value>) -> f64 {
    match value {
        Some(Value::Null | Value::Bool(false)) => 0.0,
        Some(Value::Bool(true)) => 1.0,
        Some(Value::Number(n)) => n.as_f64().unwrap_or(f64::NAN),
        Some(Value::String(text)) => value::number_of(text),
        None | Some(Value::Array(_) | Value::Object(_)) => f64::NAN,
    }
}

/// Compares like JavaScript's `===`. Lists and mappings are never equal, like two distinct objects
/// in JavaScript.
fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => a.as_f64() == b.as_f64(),
        (Some(Value::Array(_) | Value::Object(_)), _) => false,
        (a, b) => a == b,
    }
}

fn equal(a: Option<&Value>, b: Option<&Value>) -> bool {
    let nothing = |value: Option<&Value>| matches!(value, None | Some(Value::Null));
    let object = |value: Option<&Value>| matches!(value, Some(Value::Array(_) | Value::Object(_)));
    match (a, b) {
        _ if nothing(a) || nothing(b) => nothing(a) && nothing(b),
        _ if object(a) || object(b) => false,
        (Some(Value::String(a)), Some(Value::String(b))) => a == b,
        _ => to_number(a) == to_number(b),
    }
}

fn order(a: Option<&Value>, b: Option<&Value>) -> Option<Ordering> {
    match (a, b) {
        (Some(Value::String(a)), Some(Value::String(b))) => {
            Some(a.encode_utf16().cmp(b.encode_utf16()))
        }
        _ => to_number(a).partial_cmp(&to_number(b)),
    }
}
