//! Names of metrics and sub-metrics: `metric` and `metric{tag:value,tag2:value2}`.

use crate::tags::Tags;

/// Selects all samples of a metric, or those with certain tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Name as written by the user.
    pub name: String,
    /// Name of the metric.
    pub metric: String,
    /// Tags that the samples must have. Empty means all samples.
    pub tags: Vec<(String, String)>,
}

impl Selection {
    /// Parses a name.
    ///
    /// # Errors
    ///
    /// Returns k6's text if the braces do not match or do not contain tags with values.
    pub fn parse(name: &str) -> Result<Selection, String> {
        let unmatched = || {
            format!(
                "metric {} has unmatched opening/close curly brace",
                crate::text::go_quote(name)
            )
        };
        let Some((metric, rest)) = name.split_once('{') else {
            return match name.contains('}') {
                true => Err(unmatched()),
                false => Ok(Selection {
                    name: name.to_owned(),
                    metric: name.to_owned(),
                    tags: Vec::new(),
                }),
            };
        };
        let inner = rest.strip_suffix('}').ok_or_else(unmatched)?;
        if metric.contains('}') {
            return Err(unmatched());
        }
        let tags = inner.split(',').map(|pair| match pair.split_once(':') {
            Some((tag, value)) if !tag.trim().is_empty() => {
                Ok((tag.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(format!(
                "sub-metric {} needs tags as `tag:value`",
                crate::text::go_quote(name)
            )),
        });
        Ok(Selection {
            name: name.to_owned(),
            metric: metric.trim().to_owned(),
            tags: tags.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the text between the braces, or `None` for a whole metric.
    #[must_use]
    pub fn suffix(&self) -> Option<&str> {
        let (_, rest) = self.name.split_once('{')?;
        rest.strip_suffix('}')
    }

    /// Returns whether samples with these tags belong to the selection. A missing tag only equals
    /// an empty value.
    #[must_use]
    pub fn matches(&self, tags: &Tags) -> bool {
        let mut pairs = self.tags.iter();
        pairs.all(|(name, value)| tags.get(name).unwrap_or_default() == value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tags_are_trimmed_and_all_must_match() {
        let selection = Selection::parse("m{ a : b , url:http://x}").unwrap();
        assert_eq!(selection.suffix(), Some(" a : b , url:http://x"));
        let tags = Tags::default().with("a", "b");
        assert!(!selection.matches(&tags));
        assert!(selection.matches(&tags.with("url", "http://x")));
        assert!(Selection::parse("m").unwrap().matches(&tags));
        assert_eq!(
            Selection::parse("m{a:b").unwrap_err(),
            "metric \"m{a:b\" has unmatched opening/close curly brace"
        );
        assert!(Selection::parse("m}").is_err());
        assert!(Selection::parse("m{}").is_err());
    }

    proptest! {
        #[test]
        fn no_name_makes_the_parser_panic(name in "[a-z{}:, é]{0,12}") {
            let _ = Selection::parse(&name);
        }
    }
}
