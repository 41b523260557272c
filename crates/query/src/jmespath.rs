//! JMESPath expressions, as far as checks need them: parsed before the run, and asked whether they find something that
//! JavaScript calls true. The language is the library's; this file only keeps it apart from everybody else.

use jmespath::{Expression, Variable};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct JmesPath(Expression<'static>);

/// What is wrong with an expression, and at which byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JmesPathError {
    /// Bytes from the start.
    pub offset: usize,
    /// One line.
    pub message: String,
}

impl JmesPath {
    /// Reads an expression.
    ///
    /// # Errors
    /// When it is none, or calls a function that does not exist.
    pub fn parse(text: &str) -> Result<JmesPath, JmesPathError> {
        // The library reads by recursion: what is nested deeper than anybody writes would exhaust the stack.
        const DEEPEST: usize = 100;
        const LONGEST: usize = 500;
        let opened = text.matches(['(', '[', '{', '!', '&']).count();
        let joined = text.matches(['.', '|', '=', '<', '>']).count();
        let message = if opened > DEEPEST {
            Some(format!("more than {DEEPEST} brackets"))
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

    /// As written.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.as_str()
    }

    /// Whether it finds something true in a document. What cannot be evaluated (a function of the wrong type) is not.
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
            // In JavaScript every list and every object is true, the empty ones too.
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
    fn finds_what_javascript_calls_true() {
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
    fn faults_have_places() {
        assert_eq!(JmesPath::parse("a.").unwrap_err().offset, 2);
        assert!(JmesPath::parse("][").is_err());
        assert!(JmesPath::parse(&"(".repeat(100_000)).is_err());
        assert!(JmesPath::parse(&"!".repeat(100_000)).is_err());
        assert!(JmesPath::parse(&format!("a{}", ".a".repeat(100_000))).is_err());
        assert!(JmesPath::parse(&format!("a{}", "||a".repeat(100_000))).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-c.*@|&!()\\[\\]{}:,?=<>`'\"0-9 -]|\\PC)*") {
            if let Ok(path) = JmesPath::parse(&text) {
                let _ = path.finds_truth(&json!({"a": [1, {"b": "c"}], "b": {"c": null}}));
            }
        }
    }
}
