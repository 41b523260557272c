//! Reads `capture` and `check`.

use plan::{
    Request, Template,
    scenario::{Capture, CaptureSource, RegexGroup, ResponseCheck},
};
use query::{
    jsonpath::JsonPath,
    path::{MAX_INDEX, Path},
};
use regress::Regex;
use serde_json::Value;

use super::{Translator, model};
use crate::{
    document::{Entry, Node},
    native::read::{self, entries},
};

impl Translator<'_> {
    pub(super) fn captures(&mut self, node: &Node) -> Vec<Capture> {
        let mut captures = Vec::new();
        for entry in read::map(node, "capture", self.findings) {
            if Path::parse(&entry.key)
                .highest_index()
                .is_some_and(|index| index > MAX_INDEX)
            {
                self.findings.problem(
                    entry.key_mark,
                    format!("`{}` has a list index above {MAX_INDEX}", entry.key),
                );
            }
            self.templates.sets(&entry.key);
            self.later.remove(Path::parse(&entry.key).root());
            captures.extend(self.capture(entry));
        }
        captures
    }

    fn capture(&mut self, entry: &Entry) -> Option<Capture> {
        let (name, node) = (&entry.key, &entry.value);
        let flag = |t: &mut Self, key: &str| {
            node.get(key)
                .and_then(|flag| read::boolean(flag, key, t.findings))
                .unwrap_or(false)
        };
        let from = if node.as_str().is_some() {
            CaptureSource::Json {
                path: self.json_path(node)?,
                pick: true,
            }
        } else {
            entries(node, "capture", model::CAPTURE, self.findings);
            let sources: Vec<&Entry> = ["json", "header", "regexp", "stream"]
                .iter()
                .filter_map(|key| node.entry(key))
                .collect();
            match sources.as_slice() {
                [Entry { key, value, .. }] if key == "json" => CaptureSource::Json {
                    path: self.json_path(value)?,
                    pick: !flag(self, "all"),
                },
                [Entry { key, value, .. }] if key == "header" => {
                    CaptureSource::Header(self.template(value))
                }
                [Entry { key, value, .. }] if key == "stream" => self.stream_capture(value)?,
                [Entry { value, .. }] => self.regexp(value, node)?,
                _ => {
                    let text = format!(
                        "`{name}` must be captured from one of: a JSONPath like $.id, {{ header: etag }}, {{ regexp: 'x(.*)' }}, {{ stream: text }}"
                    );
                    self.findings.problem(node.mark, text);
                    return None;
                }
            }
        };
        let strict = !flag(self, "optional");
        Some(Capture {
            from,
            store: Some(name.clone()),
            strict,
            equals: None,
        })
    }

    fn json_path(&mut self, node: &Node) -> Option<Template> {
        let text = read::text(node, "json", self.findings)?;
        let template = self.template(node);
        if template.as_literal().is_some() {
            if !text.starts_with('$') {
                self.findings.problem(
                    node.mark,
                    format!("`{text}` is not a JSONPath: start it with $, for example $.id"),
                );
                return None;
            }
            if let Err(error) = JsonPath::parse(&text) {
                self.findings.problem(
                    node.mark_at(error.offset),
                    format!("`{text}` is not a JSONPath: {error}"),
                );
                return None;
            }
        }
        Some(template)
    }

    fn regexp(&mut self, node: &Node, spec: &Node) -> Option<CaptureSource> {
        let pattern = read::text(node, "regexp", self.findings)?;
        let flags = spec.get("flags").map(Node::text).unwrap_or_default();
        if let Err(error) = Regex::with_flags(&pattern, flags.as_str()) {
            self.findings.problem(
                node.mark,
                format!("`{pattern}` is not a valid regular expression: {error}"),
            );
            return None;
        }
        let group = spec.get("group").map(Node::text);
        let group = group.map_or(RegexGroup::Index(0), |text| {
            text.parse()
                .map_or(RegexGroup::Name(text), RegexGroup::Index)
        });
        Some(CaptureSource::Regexp {
            pattern,
            flags,
            group,
        })
    }

    pub(super) fn checks(&mut self, node: &Node, request: &mut Request) {
        for item in node.as_list().unwrap_or(std::slice::from_ref(node)) {
            for entry in entries(item, "check", model::CHECK, self.findings) {
                self.check(entry, request);
            }
        }
    }

    fn check(&mut self, entry: &Entry, request: &mut Request) {
        let node = &entry.value;
        match entry.key.as_str() {
            "status" => {
                let statuses = self.statuses(node, "status");
                // A step that checks for a 404 expects this status.
                request
                    .expected_status
                    .extend(statuses.iter().filter(|status| **status >= 400));
                request.checks.push(ResponseCheck::Status(statuses));
            }
            "header" => {
                for pair in read::map(node, "header", self.findings) {
                    request.checks.push(ResponseCheck::Header(
                        pair.key.clone(),
                        self.template(&pair.value),
                    ));
                }
            }
            "json" => self.json_conditions(node, &mut request.checks),
            "body" => {
                let text = read::text(node, "body", self.findings).map(|_| self.template(node));
                request.checks.extend(text.map(ResponseCheck::BodyContains));
            }
            _ => {}
        }
    }

    /// Reads conditions on JSON: a path that must have a value, or paths with their expected
    /// values.
    pub(super) fn json_conditions(&mut self, node: &Node, checks: &mut Vec<ResponseCheck>) {
        if !node.is_map() {
            checks.extend(self.json_path(node).map(ResponseCheck::JsonExists));
            return;
        }
        for pair in node.entries() {
            let path = Node {
                mark: pair.key_mark,
                inset: Some(0),
                data: crate::document::NodeData::Scalar(Value::from(pair.key.as_str())),
            };
            if let Some(path) = self.json_path(&path) {
                checks.push(ResponseCheck::JsonEquals(path, self.template(&pair.value)));
            }
        }
    }

    /// Reads a regular expression that must match.
    pub(super) fn matching(&mut self, pattern: &Node, spec: &Node) -> Option<ResponseCheck> {
        match self.regexp(pattern, spec)? {
            CaptureSource::Regexp { pattern, flags, .. } => {
                Some(ResponseCheck::BodyMatches { pattern, flags })
            }
            _ => None,
        }
    }
}
