//! Translates `ifTrue`, `probability`, and the limit on redirects.

use query::{
    filtrex::{Filtrex, NameSource},
    path::Path,
};
use serde_json::Value;

use super::{Translator, to_number};
use formats::document::Node;

impl Translator<'_> {
    /// Reads a condition. As in the original, an invalid expression never skips the request.
    pub(super) fn condition(&mut self, node: &Node) -> Option<Filtrex> {
        let Some(text) = node.as_str() else {
            let text = format!(
                "`ifTrue` must be an expression in quotes, not {}: the request is always sent, as in Artillery",
                node.kind()
            );
            self.findings.note(node.mark, text);
            return None;
        };
        match Filtrex::parse(text, NameSource::Variables) {
            Ok(expression) => {
                for name in expression.variables() {
                    let mark = node.mark_at(text.find(name).unwrap_or(0));
                    if matches!(name, "true" | "false" | "null") {
                        let hint = format!(
                            "`{name}` is read as a variable here and is undefined: use 1 or 0, or only the variable"
                        );
                        self.findings.note(mark, hint);
                    } else {
                        self.templates.uses.push((Path::parse(name), mark));
                    }
                }
                Some(expression)
            }
            Err(error) => {
                let text = format!(
                    "`ifTrue`: {}: the request is always sent, as in Artillery",
                    error.message
                );
                self.findings.note(node.mark_at(error.offset), text);
                None
            }
        }
    }

    pub(super) fn probability(&mut self, node: &Node) -> Option<f64> {
        let percent = to_number(node);
        let is_number = node
            .as_scalar()
            .is_some_and(|value| matches!(value, Value::Number(_) | Value::String(_)));
        if !is_number || !(0.0..=100.0).contains(&percent) {
            let text = format!(
                "`probability: {}` is not a percentage: use 0 to 100",
                node.text()
            );
            self.findings.problem(node.mark, text);
            return None;
        }
        Some(percent)
    }

    pub(super) fn max_redirects(&mut self, node: &Node) -> Option<u32> {
        let n = to_number(node);
        if n.fract() == 0.0 && (0.0..=1000.0).contains(&n) {
            return Some(n as u32);
        }
        let text = format!(
            "`maxRedirects: {}` is not valid: use a whole number from 0 to 1000",
            node.text()
        );
        self.findings.problem(node.mark, text);
        None
    }
}
