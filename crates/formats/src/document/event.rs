//! A scanned scalar with its style, tag and value.

use saphyr_parser::{ScalarStyle, Span, Tag};
use serde_json::Value;

use super::{Dialect, Mark, SyntaxError, scalar};

pub(super) struct Scalar<'a> {
    pub text: &'a str,
    pub style: ScalarStyle,
    pub tag: Option<&'a Tag>,
    pub span: Span,
}

impl Scalar<'_> {
    pub fn is_plain(&self) -> bool {
        self.style == ScalarStyle::Plain && self.tag.is_none()
    }

    pub fn inset(&self) -> Option<usize> {
        if self.tag.is_some() || self.span.start.line() != self.span.end.line() {
            return None;
        }
        match self.style {
            ScalarStyle::Plain => Some(0),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Some(1),
            ScalarStyle::Literal | ScalarStyle::Folded => None,
        }
    }

    pub fn resolve(&self, dialect: Dialect, mark: Mark) -> Result<Value, SyntaxError> {
        let refused = |message: String| SyntaxError { mark, message };
        let text = self.text;
        let resolved = || scalar::resolve(text, dialect).map_err(refused);
        match self.tag {
            None if self.style == ScalarStyle::Plain => resolved(),
            None => Ok(text.into()),
            Some(tag) if tag.handle == "!" && tag.suffix.is_empty() => Ok(text.into()),
            Some(tag) if tag.is_yaml_core_schema() => match (tag.suffix.as_str(), resolved()?) {
                ("str", _) => Ok(text.into()),
                ("null", value) if value.is_null() => Ok(value),
                ("bool", value) if value.is_boolean() => Ok(value),
                ("int", value) if value.is_i64() || value.is_u64() => Ok(value),
                ("float", value) if value.is_number() => Ok(value),
                (suffix, _) => Err(refused(format!("`{text}` is not a !!{suffix}"))),
            },
            Some(tag) => Err(refused(format!("unknown tag {tag}"))),
        }
    }
}

/// Checks the tag of a list or mapping. Accepts only the standard tag of the collection.
pub(super) fn collection_tag(
    tag: Option<&Tag>,
    expected: &str,
    mark: Mark,
) -> Result<(), SyntaxError> {
    match tag {
        None => Ok(()),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == expected => Ok(()),
        Some(tag) => Err(SyntaxError {
            mark,
            message: format!("unknown tag {tag}"),
        }),
    }
}
