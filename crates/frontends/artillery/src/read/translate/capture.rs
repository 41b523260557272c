//! Translates `capture` and `match`.

use plan::{
    Template,
    scenario::{Capture, CaptureSource, Index, RegexGroup},
};
use query::{
    jsonpath::JsonPath,
    markup::{Selector, XPath},
    path::{MAX_INDEX, Path},
    value,
};
use regress::Regex;
use serde_json::Value;

use super::Translator;
use crate::read::keys::KeyLevel;
use formats::document::Node;

impl Translator<'_> {
    pub(super) fn captures(&mut self, request: &Node) -> Vec<Capture> {
        let mut captures = Vec::new();
        for (key, level) in [("capture", KeyLevel::Capture), ("match", KeyLevel::Match)] {
            let Some(node) = request.get(key).filter(|node| node.is_truthy()) else {
                continue;
            };
            for spec in node.as_list().unwrap_or(std::slice::from_ref(node)) {
                if !spec.is_map() {
                    let text = format!(
                        "`{key}` must be a mapping like {{ json: $.id, as: id }}, not {}",
                        spec.kind()
                    );
                    self.findings.problem(spec.mark, text);
                    continue;
                }
                self.check_keys(spec, level);
                if let Some(entry) = spec.entry("expect") {
                    let text = format!("`expect` must be next to `{key}`, not inside it");
                    self.findings.note(entry.key_mark, text);
                }
                captures.extend(self.capture(spec, key));
            }
        }
        captures
    }

    fn capture(&mut self, spec: &Node, key: &str) -> Option<Capture> {
        let equals = spec.get("value").map(|value| self.template(value));
        let name = spec
            .get("as")
            .filter(|name| name.is_truthy())
            .map(Node::text);
        if equals.is_none() && (name.is_none() || key == "match") {
            let what = if key == "match" {
                "a `match` without `value`"
            } else {
                "a `capture` without `as`"
            };
            self.findings
                .note(spec.mark, format!("{what} has no effect"));
            return None;
        }
        let from = self.source(spec)?;
        let says_no = spec.get("strict").and_then(Node::as_bool) == Some(false);
        // The default of `strict` applies only to captures. A match is strict unless the script
        // sets `strict`.
        let strict = if equals.is_some() || spec.get("strict").is_some() {
            !says_no
        } else {
            !self.defaults.lenient_captures
        };
        let store = if equals.is_some() { None } else { name };
        if let Some(name) = &store {
            if Path::parse(name)
                .highest_index()
                .is_some_and(|index| index > MAX_INDEX)
            {
                let mark = spec.get("as").map_or(spec.mark, |node| node.mark);
                self.findings
                    .problem(mark, format!("`{name}` has a list index above {MAX_INDEX}"));
            }
            self.templates.sets(name);
            self.captured
                .insert(query::path::Path::parse(name).root().to_owned());
        }
        Some(Capture {
            from,
            store,
            strict,
            equals,
        })
    }

    fn source(&mut self, spec: &Node) -> Option<CaptureSource> {
        let truthy = |key: &str| spec.get(key).filter(|node| node.is_truthy());
        if let Some(path) = truthy("json") {
            let template = self.template(path);
            if let Some(text) = template.as_literal() {
                let checked = text
                    .as_str()
                    .ok_or(None)
                    .and_then(|text| JsonPath::parse(text).map_err(Some));
                match checked {
                    Ok(_) => {}
                    Err(Some(error)) => {
                        self.failing_path(path, error.offset, &format!("JSONPath: {error}"));
                    }
                    Err(None) => self.findings.problem(
                        path.mark,
                        format!("a JSONPath must be text like $.id, not {}", path.kind()),
                    ),
                }
            }
            let pick = spec.get("multiple").and_then(Node::as_bool) != Some(false);
            return Some(CaptureSource::Json {
                path: template,
                pick,
            });
        }
        if let Some(pattern) = truthy("regexp") {
            return self.regexp(pattern, spec);
        }
        if let Some(header) = truthy("header") {
            return Some(CaptureSource::Header(self.template(header)));
        }
        if let Some(selector) = truthy("selector") {
            return self.selector(selector, spec);
        }
        if let Some(path) = truthy("xpath") {
            let template = self.template(path);
            let literal = template.as_literal().map(|value| value::text(Some(value)));
            if let Some(Err(error)) = literal.as_deref().map(XPath::parse) {
                self.failing_path(path, error.offset, &format!("XPath: {}", error.message));
            }
            let pick = spec.get("multiple").and_then(Node::as_bool) != Some(false);
            return Some(CaptureSource::XPath {
                path: template,
                pick,
            });
        }
        self.findings.problem(
            spec.mark,
            "the source of the value is missing: add `json`, `header`, `regexp`, `selector` or `xpath`",
        );
        None
    }

    fn failing_path(&mut self, path: &Node, offset: usize, reason: &str) {
        let text = format!(
            "`{}` is not a valid {reason}; the capture fails, as in Artillery",
            path.text()
        );
        self.findings.note(path.mark_at(offset), text);
    }

    fn checked(
        &mut self,
        node: &Node,
        what: &str,
        read: impl FnOnce(&str) -> Result<(), (usize, String)>,
    ) -> Template {
        let template = self.template(node);
        if let Some(text) = template.as_literal().map(|value| value::text(Some(value)))
            && let Err((offset, message)) = read(&text)
        {
            let text = format!("`{text}` is not a valid {what}: {message}");
            self.findings.problem(node.mark_at(offset), text);
        }
        template
    }

    fn selector(&mut self, node: &Node, spec: &Node) -> Option<CaptureSource> {
        let selector = self.checked(node, "CSS selector", |text| {
            Selector::parse(text)
                .map(|_| ())
                .map_err(|e| (e.offset, e.message))
        });
        let attribute = spec.get("attr").filter(|attr| attr.is_truthy());
        let attribute = attribute.map(|attr| self.template(attr));
        let index = spec.get("index").filter(|index| !index.is_null());
        let index = match index.map(|index| (index, index.text())) {
            None => Index::At(0),
            Some((_, text)) if text == "last" => Index::Last,
            Some((_, text)) if text == "random" => Index::Random,
            Some((index, text)) => match text.parse() {
                Ok(at) => Index::At(at),
                Err(_) => {
                    let text = format!(
                        "`index: {text}` is not an index: use a number from 0, last or random"
                    );
                    self.findings.problem(index.mark, text);
                    return None;
                }
            },
        };
        Some(CaptureSource::Selector {
            selector,
            attribute,
            index,
        })
    }

    fn regexp(&mut self, node: &Node, spec: &Node) -> Option<CaptureSource> {
        let Template::Literal(Value::String(pattern)) = self.template(node) else {
            self.findings.problem(
                node.mark,
                "a regular expression must be plain text: variables in it are not supported yet",
            );
            return None;
        };
        let flags = spec
            .get("flags")
            .filter(|flags| flags.is_truthy())
            .map(Node::text)
            .unwrap_or_default();
        if let Err(error) = Regex::with_flags(&pattern, flags.as_str()) {
            self.findings.problem(
                node.mark,
                format!("`{pattern}` is not a valid regular expression: {error}"),
            );
            return None;
        }
        let group = match spec
            .get("group")
            .filter(|group| group.is_truthy())
            .map(Node::text)
        {
            None => RegexGroup::Index(0),
            Some(text) => text
                .parse()
                .map_or(RegexGroup::Name(text), RegexGroup::Index),
        };
        Some(CaptureSource::Regexp {
            pattern,
            flags,
            group,
        })
    }
}
