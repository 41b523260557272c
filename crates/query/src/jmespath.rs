//! JMESPath expressions for checks. A check passes if the result is true in JavaScript. A library
//! evaluates the expressions.

use jmespath::{Expression, Variable};
use serde::{Serialize, Serializer};
use serde_json::Value;

#[derive(Debug, Clone)]
pub struct JmesPath(Expression<'static>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JmesPathError {
    pub offset: usize,
    pub message: String,
}

impl JmesPath {
    pub fn parse(text: &str) -> Result<JmesPath, JmesPathError> {
        // The library parses recursively, so limit the depth to protect the stack.
        const DEEPEST: usize = 100;
        const LONGEST: usize = 500;
        let opened = text.matches(['(', '[', '{', '!', '&']).count();
        let joined = text.matches(['.', '|', '=', '<', '>']).count();
        let message = if opened > DEEPEST {
            Some(format!(
                "brackets are nested more than {DEEPEST} levels deep"
            ))
        } else if joined > LONGEST {
            Some(format!("more than {LONGEST} parts"))
        } else {
            None
        };
        if let Some(message) = message {
            return Err(JmesPathError { offset: 0, message });
        }
        match jmespath::compile(text) {
            Ok(expression) => Ok(JmesPath(expression)),
            Err(error) => Err(JmesPathError {
                offset: error.offset,
                message: error
                    .reason
                    .to_string()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            }),
        }
    }

    #[must_use]
    pub fn text(&self) -> &str {
        self.0.as_str()
    }

    /// Returns whether the result for a document is true in JavaScript. Returns `false` if the
    /// expression cannot be evaluated.
    #[must_use]
    pub fn finds_truth(&self, document: &Value) -> bool {
        let Ok(found) = self.0.search(document) else {
            return false;
        };
        match found.as_ref() {
            Variable::Null | Variable::Expref(_) => false,
            Variable::Bool(yes) => *yes,
            Variable::Number(n) => n.as_f64() != Some(0.0),
            Variable::String(text) => !text.is_empty(),
            // Every list and object is true in JavaScript, even if it is empty.
            Variable::Array(_) | Variable::Object(_) => true,
        }
    }
}

impl Serialize for JmesPath {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn truth_matches_javascript() {
        let document = json!({"id": 7, "zero": 0, "no": false, "empty": "", "list": [], "name": "x", "a": [{"b": 1}, {"b": 5}]});
        for (path, wanted) in [
            ("id", true),
            ("zero", false),
            ("no", false),
            ("empty", false),
            ("list", true),
            ("nothing", false),
            ("id > `5`", true),
            ("id > `9`", false),
            ("length(a) == `2`", true),
            ("a[?b > `3`] | [0].b", true),
            ("a[?b > `9`]", true),
            ("length(id)", false),
        ] {
            let path = JmesPath::parse(path).unwrap();
            assert_eq!(path.finds_truth(&document), wanted, "{}", path.text());
        }
    }

    #[test]
    fn errors_have_positions() {
        assert_eq!(JmesPath::parse("a.").unwrap_err().offset, 2);
        assert!(JmesPath::parse("][").is_err());
        assert!(JmesPath::parse(&"(".repeat(100_000)).is_err());
        assert!(JmesPath::parse(&"!".repeat(100_000)).is_err());
        assert!(JmesPath::parse(&format!("a{}", ".a".repeat(100_000))).is_err());
        assert!(JmesPath::parse(&format!("a{}", "||a".repeat(100_000))).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in "([a-c.*@|&!()\\[\\]{}:,?=<>`'\"0-9 -]|\\PC)*") {
            if let Ok(path) = JmesPath::parse(&text) {
                let _ = path.finds_truth(&json!({"a": [1, {"b": "c"}], "b": {"c": null}}));
            }
        }
    }
}
