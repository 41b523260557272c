//! Conditions of If and While controllers, as far as expressions in plans can represent them.

use super::{JmeterDraft, variables::JmeterSyntax};
use crate::{
    placeholders,
    scope::{ComputedValue, VariableSyntax},
};

const OPERATORS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];

/// Translates a condition such as `${__jexl3("${status}" == "OK")}`. `None` if it contains anything
/// except comparisons joined by `&&` or `||`.
pub(super) fn translate(condition: &str, context: &mut JmeterDraft<'_>) -> Option<String> {
    let condition = without_function(condition.trim());
    let mut out = String::new();
    let mut rest = condition;
    loop {
        let next = ["&&", "||"]
            .iter()
            .filter_map(|join| Some((rest.find(join)?, *join)))
            .min();
        let (term, join) = match next {
            Some((at, join)) => (&rest[..at], Some((at, join))),
            None => (rest, None),
        };
        out.push_str(&comparison(term.trim(), context)?);
        let Some((at, join)) = join else {
            return Some(out);
        };
        out.push_str(if join == "&&" { " and " } else { " or " });
        rest = &rest[at + 2..];
    }
}

fn without_function(condition: &str) -> &str {
    let functions = ["${__jexl3(", "${__jexl2(", "${__groovy(", "${__javaScript("];
    let inside = functions
        .iter()
        .find_map(|function| condition.strip_prefix(function)?.strip_suffix(")}"));
    let inside = inside.map(|inside| inside.trim().trim_end_matches(',').trim());
    inside.unwrap_or(condition)
}

fn comparison(term: &str, context: &mut JmeterDraft<'_>) -> Option<String> {
    let term = term
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
        .unwrap_or(term);
    let (at, operator) = OPERATORS
        .iter()
        .filter_map(|operator| Some((term.find(operator)?, *operator)))
        .min_by_key(|(at, operator)| (*at, usize::MAX - operator.len()))?;
    let left = operand(term[..at].trim(), context)?;
    let right = operand(term[at + operator.len()..].trim(), context)?;
    Some(format!("{left} {operator} {right}"))
}

fn operand(text: &str, context: &mut JmeterDraft<'_>) -> Option<String> {
    if text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Some(text.to_owned());
    }
    let vars = text
        .strip_prefix("vars.get(")
        .and_then(|rest| rest.strip_suffix(')'));
    if let Some(name) = vars.and_then(unquoted) {
        return variable(name, context);
    }
    let inner = unquoted(text).unwrap_or(text);
    if let Some(found) = JmeterSyntax::find(inner) {
        let is_alone = found.before.is_empty() && found.after.is_empty();
        return is_alone.then(|| variable(found.name, context))?;
    }
    let is_text = unquoted(text).is_some() && !inner.contains(['"', '\\', '\n']);
    is_text.then(|| format!("\"{inner}\""))
}

fn unquoted(text: &str) -> Option<&str> {
    ['"', '\'']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
}

/// Returns a variable's name in the plan, in quotes if an expression needs them.
fn variable(name: &str, context: &mut JmeterDraft<'_>) -> Option<String> {
    let computed = JmeterSyntax::computed(name);
    if computed.is_some_and(|value| !matches!(value, ComputedValue::Setting { .. })) {
        return None;
    }
    let resolved = context.resolve(&JmeterSyntax::write(name));
    let own = placeholders::only_variable(&resolved)?;
    let is_plain = own.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    Some(if is_plain {
        own.to_owned()
    } else {
        format!("'{own}'")
    })
}
