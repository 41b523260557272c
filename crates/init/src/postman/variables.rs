//! Variables of Postman: `{{name}}`, and dynamic ones such as `{{$guid}}`.

use formats::document::Node;

use crate::{
    placeholders,
    scope::{ComputedValue, Definition, VariableScope, VariableSyntax, VariableUse},
    unknowns::is_secret,
};

const NAMES: [&str; 13] = [
    "randomFirstName",
    "randomLastName",
    "randomFullName",
    "randomUserName",
    "randomPassword",
    "randomWord",
    "randomLoremWord",
    "randomCity",
    "randomCompanyName",
    "randomProductName",
    "randomJobTitle",
    "randomNoun",
    "randomColor",
];

#[derive(Debug)]
pub struct PostmanSyntax;

impl VariableSyntax for PostmanSyntax {
    const SOURCE: &'static str = "collection";

    fn find(text: &str) -> Option<VariableUse<'_>> {
        let mut from = 0;
        loop {
            let open = from + text.get(from..)?.find("{{")?;
            let inside = &text[open + 2..];
            let end = inside.find("}}")?;
            let name = inside[..end].trim();
            if !name.is_empty() && !name.contains(['{', '}', '"', '\n']) {
                return Some(VariableUse {
                    before: &text[..open],
                    name,
                    after: &inside[end + 2..],
                });
            }
            from = open + 1;
        }
    }

    fn computed(name: &str) -> Option<ComputedValue> {
        let name = name.strip_prefix('$')?;
        let similar = |text: String, what: &str| ComputedValue::Similar {
            text,
            remark: format!("`${name}` is {what}."),
        };
        Some(match name {
            "randomInt" => ComputedValue::Same(placeholders::variable("$randomNumber(0, 1000)")),
            "randomAlphaNumeric" => ComputedValue::Same(placeholders::variable("$randomString(1)")),
            "guid" | "randomUUID" => similar(
                placeholders::variable("$uuid"),
                "one value per virtual user, but one per use in Postman",
            ),
            "randomEmail" | "randomExampleEmail" => similar(
                format!(
                    "{}@example.com",
                    placeholders::variable("$randomString(10)")
                ),
                "ten random characters at example.com",
            ),
            name if NAMES.contains(&name) => similar(
                placeholders::variable("$randomString(10)"),
                "ten random characters",
            ),
            name => ComputedValue::Unknown {
                hint: name.to_owned(),
            },
        })
    }

    fn write(name: &str) -> String {
        format!("{{{{{name}}}}}")
    }
}

pub type PostmanScope = VariableScope<PostmanSyntax>;

/// Adds `variable` of a collection or a folder, or `values` of an environment.
pub fn define_list(scope: &mut PostmanScope, list: Option<&Node>, origin: &'static str) {
    for item in list.and_then(Node::as_list).unwrap_or_default() {
        let name = item.get("key").or_else(|| item.get("id"));
        let Some(name) = name.and_then(Node::as_str) else {
            continue;
        };
        let is_off = item.get("enabled").and_then(Node::as_bool) == Some(false)
            || item.get("disabled").and_then(Node::as_bool) == Some(true);
        if is_off {
            continue;
        }
        let kind = item.get("type").and_then(Node::as_str);
        let definition = Definition {
            value: item.get("value").map(Node::text).unwrap_or_default(),
            is_secret: kind == Some("secret") || is_secret(name),
            origin,
        };
        scope.define(name, definition);
    }
}

#[cfg(test)]
mod tests {
    use formats::document::{self, Dialect};
    use serde_json::Value;

    use super::*;
    use crate::unknowns::Unknowns;

    fn scope(json: &str) -> PostmanScope {
        let document = document::parse(0, json, Dialect::Core).unwrap();
        let mut scope = PostmanScope::default();
        define_list(&mut scope, document.root.as_ref(), "the collection");
        scope
    }

    #[test]
    fn values_of_variables_may_contain_variables() {
        let mut scope = scope(
            r#"[{"key": "base", "value": "http://{{host}}/v1"}, {"key": "host", "value": "a.example"}, {"key": "again", "value": "{{again}}"}]"#,
        );
        assert_eq!(scope.expand("{{base}}/x"), "http://a.example/v1/x");
        let mut unknowns = Unknowns::default();
        let text = scope.resolve("{{ base }}/{{{x}}}", &mut unknowns).text;
        assert_eq!(placeholders::replaced(&text, "V"), "http://V/v1/{V}");
        assert_eq!(scope.expand("{{again}}"), "{{again}}");
        assert_eq!(scope.resolve("{{again}}", &mut unknowns).text, "{{again}}");
    }

    #[test]
    fn secrets_are_read_from_the_environment() {
        let mut scope = scope(
            r#"[{"key": "api_key", "value": "k-123"}, {"key": "pin", "value": "9", "type": "secret"}, {"key": "max_tokens", "value": "5"}]"#,
        );
        let mut unknowns = Unknowns::default();
        let text = scope.resolve("{{api_key}} {{pin}} {{max_tokens}}", &mut unknowns);
        assert!(!text.is_unset);
        let secret: Vec<_> = unknowns.list().iter().map(|one| one.env.as_str()).collect();
        assert_eq!(secret, ["API_KEY", "PIN"]);
        assert_eq!(
            scope.values(),
            [("max_tokens".to_owned(), Value::from("5"))]
        );
    }
}
