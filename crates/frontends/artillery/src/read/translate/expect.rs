//! Translates `config.plugins.expect`, and `expect` of requests.

use plan::{Extension, Template};
use query::jmespath::JmesPath;
use serde_json::Value;

use super::Translator;
use crate::expect::{self, CHECKS, Expect, Expectation, JmesWord, OnFailure, Print};
use formats::{
    document::{Entry, Node},
    nearest::hint,
};

#[derive(Debug, Clone, Copy)]
pub(super) struct ExpectPlugin {
    pub options: Expect,
    pub default_200: bool,
}

const OPTIONS: [&str; 6] = [
    "outputFormat",
    "formatter",
    "reportFailuresAsErrors",
    "useOnlyRequestNames",
    "expectDefault200",
    "suppressOutput",
];

impl Translator<'_> {
    pub(super) fn expect_plugin(&mut self, entry: &Entry) -> ExpectPlugin {
        for option in entry.value.entries() {
            if !OPTIONS.contains(&option.key.as_str()) {
                let hint = hint(&option.key, OPTIONS);
                let text = format!(
                    "`{}` has no effect: the plugin expect has no such option{hint}",
                    option.key
                );
                self.findings.note(option.key_mark, text);
            }
        }
        let option = |name: &str| entry.value.get(name).filter(|node| node.is_truthy());
        let yes = |name: &str| {
            option(name)
                .is_some_and(|node| node.as_bool() == Some(true) || node.as_str() == Some("true"))
        };
        let format = option("formatter").or_else(|| option("outputFormat"));
        let print = format.map_or(Print::Pretty, |node| self.print(node));
        let on_failure = match option("reportFailuresAsErrors") {
            _ if self.inputs.native => OnFailure::FailsRequest,
            Some(_) => OnFailure::FailsUser,
            None => OnFailure::Counted,
        };
        ExpectPlugin {
            options: Expect {
                print: (!self.inputs.native).then_some(print),
                on_failure,
                names_only: yes("useOnlyRequestNames"),
            },
            default_200: yes("expectDefault200"),
        }
    }

    fn print(&mut self, node: &Node) -> Print {
        match node.as_str() {
            Some("pretty") => Print::Pretty,
            Some("prettyError") => Print::PrettyError,
            Some("json") => Print::Json,
            Some("silent") => Print::Silent,
            _ => {
                let text = node.text();
                let hint = hint(&text, ["pretty", "prettyError", "json", "silent"]);
                self.findings.problem(
                    node.mark,
                    format!("`{text}` is not an output format: use pretty, prettyError, json or silent{hint}"),
                );
                Print::Silent
            }
        }
    }

    pub(super) fn extension(&mut self, request: &Node) -> Option<Extension> {
        let found = self.expectations(request);
        expect::keep(found).unwrap_or_else(|reason| {
            let text = format!("these expectations cannot be kept: {reason}");
            self.findings.problem(request.mark, text);
            None
        })
    }

    fn expectations(&mut self, request: &Node) -> Vec<Expectation> {
        let entry = request.entry("expect");
        let Some(plugin) = self.expect else {
            if let Some(entry) = entry {
                let text = "`expect` has no effect without an entry in `config.plugins`";
                self.findings.note(entry.key_mark, text);
            }
            return Vec::new();
        };
        let mut found = Vec::new();
        match entry.map(|entry| &entry.value) {
            Some(node) if node.as_list().is_some() => {
                for item in node.as_list().unwrap_or_default() {
                    found.extend(self.listed(item));
                }
            }
            Some(node) if node.is_map() => {
                for entry in node.entries() {
                    found.extend(self.expectation(entry, None));
                }
            }
            Some(node) if node.is_truthy() => {
                let text = format!(
                    "`expect` must be a list of checks like [ {{ statusCode: 200 }} ], not {}",
                    node.kind()
                );
                self.findings.problem(node.mark, text);
            }
            _ => {}
        }
        if found.is_empty() && plugin.default_200 {
            found.push(Expectation::StatusCode(Template::Literal(200.into())));
        }
        found
    }

    fn listed(&mut self, item: &Node) -> Option<Expectation> {
        let Some(first) = item.entries().first() else {
            let text = format!(
                "a check must be a mapping like {{ statusCode: 200 }}, not {}",
                item.kind()
            );
            self.findings.problem(item.mark, text);
            return None;
        };
        let is_jmespath = ["jmespath", "jpath"].contains(&first.key.as_str());
        for other in &item.entries()[1..] {
            if !(is_jmespath && other.key == "description") {
                let text = format!(
                    "`{}` has no effect together with `{}`: write only one check in each list item",
                    other.key, first.key
                );
                self.findings.note(other.key_mark, text);
            }
        }
        let description = item.get("description").filter(|text| text.is_truthy());
        self.expectation(first, description.map(Node::text))
    }

    fn expectation(&mut self, entry: &Entry, description: Option<String>) -> Option<Expectation> {
        let node = &entry.value;
        Some(match entry.key.as_str() {
            "statusCode" => Expectation::StatusCode(self.statuses(node)),
            "notStatusCode" => Expectation::NotStatusCode(self.statuses(node)),
            "contentType" => Expectation::ContentType(self.template(node)),
            "hasProperty" => Expectation::HasProperty(self.template(node)),
            "notHasProperty" => Expectation::NotHasProperty(self.template(node)),
            "hasHeader" => Expectation::HasHeader(self.header_name(node)),
            "headerEquals" => match node.as_list() {
                Some([name, value]) => {
                    Expectation::HeaderEquals(self.header_name(name), self.template(value))
                }
                _ => {
                    let text = "`headerEquals` must be a list of a header name and its value, like [content-type, text/html]";
                    self.findings.problem(node.mark, text);
                    return None;
                }
            },
            "equals" => match node.as_list() {
                Some(items) if !items.is_empty() => {
                    Expectation::Equals(items.iter().map(|item| self.template(item)).collect())
                }
                _ => {
                    let text = "`equals` must be a list of values that should be equal, like [\"{{ a }}\", \"{{ b }}\"]";
                    self.findings.problem(node.mark, text);
                    return None;
                }
            },
            "matchesRegexp" => Expectation::MatchesRegexp(self.pattern(node)),
            "cdnHit" => Expectation::CdnHit(node.is_truthy()),
            "jmespath" => self.jmespath(JmesWord::Jmespath, node, description)?,
            "jpath" => self.jmespath(JmesWord::Jpath, node, description)?,
            unknown => {
                let hint = hint(unknown, CHECKS);
                self.findings.note(
                    entry.key_mark,
                    format!("Expect Plugin: Expectation '{unknown}' is not supported{hint}"),
                );
                Expectation::Unsupported(unknown.to_owned())
            }
        })
    }

    /// Returns the expected statuses. Values that are not numbers never match.
    fn statuses(&mut self, node: &Node) -> Template {
        for one in node.as_list().unwrap_or(std::slice::from_ref(node)) {
            let text = one.text();
            if !text.contains("{{") && !super::to_number(one).is_finite() {
                let text = format!(
                    "`{text}` is not a status, so no answer matches it: use a number like 200, or a list"
                );
                self.findings.note(one.mark, text);
            }
        }
        self.template(node)
    }

    fn header_name(&mut self, node: &Node) -> Template {
        let name = self.template(node);
        if let Some(text) = name.as_literal().and_then(Value::as_str)
            && text.bytes().any(|byte| byte.is_ascii_uppercase())
        {
            self.findings.note(
                node.mark,
                format!(
                    "`{text}` never matches, because Artillery has header names in lower case: use `{}`",
                    text.to_lowercase()
                ),
            );
        }
        name
    }

    fn pattern(&mut self, node: &Node) -> Template {
        let pattern = self.template(node);
        if let Some(text) = pattern.as_literal().and_then(Value::as_str)
            && let Err(error) = regress::Regex::new(text)
        {
            self.findings.problem(
                node.mark,
                format!("`{text}` is not a valid regular expression: {error}"),
            );
        }
        pattern
    }

    fn jmespath(
        &mut self,
        word: JmesWord,
        node: &Node,
        description: Option<String>,
    ) -> Option<Expectation> {
        let Some(text) = node.as_str() else {
            let text = format!(
                "a JMESPath must be text like items[0].name, not {}",
                node.kind()
            );
            self.findings.problem(node.mark, text);
            return None;
        };
        match JmesPath::parse(text) {
            Ok(path) => Some(Expectation::JmesPath {
                word,
                path,
                description,
            }),
            Err(error) => {
                self.findings.problem(
                    node.mark_at(error.offset),
                    format!("`{text}` is not a JMESPath: {}", error.message),
                );
                None
            }
        }
    }
}
