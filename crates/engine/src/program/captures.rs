//! Compiled captures and checks.

use plan::{
    scenario::{Capture, CaptureSource, Index, RegexGroup, ResponseCheck},
    template::Template,
};
use query::{
    jsonpath::{JsonPath, pick},
    markup::{Selector, XPath},
    regexp::Regexp,
};
use serde_json::Value;

use super::Interest;
use codec::events;

/// A compiled capture.
#[derive(Debug, Clone)]
pub struct Capturing {
    /// Source of the captured value.
    pub from: CaptureFrom,
    /// Variable to store the value in. `None` if the value is only compared.
    pub store: Option<query::path::Path>,
    /// Whether a failed capture fails the iteration.
    pub strict: bool,
    /// Expected value. `None` accepts any value.
    pub equals: Option<Template>,
}

/// Compiled source of a capture.
#[derive(Debug, Clone)]
pub enum CaptureFrom {
    /// A JSONPath, and whether to choose one of several results at random.
    Json(PathSource, bool),
    /// The name of a header.
    Header(Template),
    /// The text of a streamed response.
    StreamText,
    /// A value in the events of a streamed response, by the index of its path.
    StreamEvent(usize),
    /// A CSS selector, an attribute, and which of several matching elements to use.
    Selector(SelectorSource, Option<Template>, Index),
    /// An XPath, and whether to choose one of several nodes at random.
    XPath(XPathSource, bool),
    /// A regular expression, and the group to capture.
    Regexp(Box<Regexp>, RegexGroup),
}

/// A query that is compiled before the run, unless it contains template variables.
#[derive(Debug, Clone)]
pub enum Compiled<T> {
    /// A compiled query.
    Ready(T),
    /// A template, which is expanded and parsed for each response.
    Templated(Template),
}

/// A JSONPath.
pub type PathSource = Compiled<JsonPath>;
/// A CSS selector.
pub type SelectorSource = Compiled<Selector>;
/// An XPath.
pub type XPathSource = Compiled<XPath>;

/// A compiled check.
#[derive(Debug, Clone)]
pub enum Checking {
    /// A check that is evaluated as written in the plan.
    Plain(ResponseCheck),
    /// A JSONPath that must yield this value. `None` accepts any value.
    Json(PathSource, Option<Template>),
    /// A regular expression that must match.
    Regexp(Box<Regexp>),
}

/// The values to extract from a response or message, and the conditions it must meet.
#[derive(Debug, Clone, Default)]
pub struct ContentRules {
    /// Compiled captures.
    pub captures: Vec<Capturing>,
    /// Indexes of the captures that are extracted in one pass.
    pub picked: Vec<usize>,
    /// Compiled checks.
    pub checks: Vec<Checking>,
}

impl ContentRules {
    /// Compiles captures and checks. Appends the paths of values in events to `paths`.
    pub(super) fn compile(
        captures: &[Capture],
        checks: &[ResponseCheck],
        looks: Interest,
        paths: &mut Vec<events::JsonPath>,
    ) -> Result<ContentRules, String> {
        let captures = captures
            .iter()
            .map(|capture| capturing(capture, paths))
            .collect::<Result<Vec<_>, _>>()?;
        let checks = checks.iter().map(checking).collect::<Result<Vec<_>, _>>()?;
        Ok(ContentRules {
            picked: picked(&captures, &checks, looks),
            captures,
            checks,
        })
    }

    /// Returns whether the rules need nothing of the content.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.captures.is_empty() && self.checks.is_empty()
    }
}

/// Compiles a capture. Appends the path of a value in events to `paths`.
fn capturing(capture: &Capture, paths: &mut Vec<events::JsonPath>) -> Result<Capturing, String> {
    let from = match &capture.from {
        CaptureSource::Json { path, pick } => {
            let read = |text: &str| JsonPath::parse(text).map_err(|e| e.to_string());
            CaptureFrom::Json(compiled_or_failing(path, read), *pick)
        }
        CaptureSource::Header(name) => CaptureFrom::Header(name.clone()),
        CaptureSource::StreamText => CaptureFrom::StreamText,
        CaptureSource::StreamEvent(path) => {
            paths.push(event_path(path)?);
            CaptureFrom::StreamEvent(paths.len() - 1)
        }
        CaptureSource::Selector {
            selector,
            attribute,
            index,
        } => {
            let read = |text: &str| Selector::parse(text).map_err(|e| e.to_string());
            let selector = compiled(selector, "CSS selector", read)?;
            CaptureFrom::Selector(selector, attribute.clone(), *index)
        }
        CaptureSource::XPath { path, pick } => {
            let read = |text: &str| XPath::parse(text).map_err(|e| e.to_string());
            CaptureFrom::XPath(compiled_or_failing(path, read), *pick)
        }
        CaptureSource::Regexp {
            pattern,
            flags,
            group,
        } => CaptureFrom::Regexp(Box::new(regexp(pattern, flags)?), group.clone()),
    };
    let store = capture.store.as_deref().map(query::path::Path::parse);
    Ok(Capturing {
        from,
        store,
        strict: capture.strict,
        equals: capture.equals.clone(),
    })
}

/// Parses the path of a value in an event.
pub(super) fn event_path(text: &str) -> Result<events::JsonPath, String> {
    let help = "use names and indices, for example $.choices[0].text";
    events::JsonPath::parse(text)
        .map_err(|_| format!("`{text}` is not a path into an event: {help}"))
}

/// Returns the indexes of captures that can be extracted in one pass over the text.
fn picked(captures: &[Capturing], checks: &[Checking], looks: Interest) -> Vec<usize> {
    let is_of_json = |from: &CaptureFrom| matches!(from, CaptureFrom::Json(..));
    let is_read = looks.answers || checks.iter().any(|c| matches!(c, Checking::Json(..)));
    let of_json = captures.iter().enumerate();
    let of_json = of_json.filter(|(_, capture)| is_of_json(&capture.from));
    let plain = of_json
        .clone()
        .filter(|(_, c)| c.from.plain_path().is_some());
    let plain: Vec<usize> = plain.map(|(index, _)| index).collect();
    if is_read || plain.len() < of_json.count() || plain.len() > pick::MOST {
        return Vec::new();
    }
    plain
}

impl CaptureFrom {
    /// Returns the JSONPath if it has no templates and no expressions.
    #[must_use]
    pub fn plain_path(&self) -> Option<&JsonPath> {
        match self {
            CaptureFrom::Json(Compiled::Ready(path), _) => {
                Some(path).filter(|path| path.is_plain())
            }
            _ => None,
        }
    }
}

fn checking(check: &ResponseCheck) -> Result<Checking, String> {
    Ok(match check {
        ResponseCheck::JsonEquals(path, value) => {
            Checking::Json(path_source(path)?, Some(value.clone()))
        }
        ResponseCheck::JsonExists(path) => Checking::Json(path_source(path)?, None),
        ResponseCheck::BodyMatches { pattern, flags } => {
            Checking::Regexp(Box::new(regexp(pattern, flags)?))
        }
        other => Checking::Plain(other.clone()),
    })
}

fn regexp(pattern: &str, flags: &str) -> Result<Regexp, String> {
    Regexp::new(pattern, flags)
        .map_err(|e| format!("`{pattern}` is not a valid regular expression: {e}"))
}

fn path_source(template: &Template) -> Result<PathSource, String> {
    let read = |text: &str| JsonPath::parse(text).map_err(|e| e.to_string());
    compiled(template, "JSONPath", read)
}

/// Keeps an invalid query as a template, so that each capture fails. Strict readers have rejected
/// such a query before.
fn compiled_or_failing<T>(
    template: &Template,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Compiled<T> {
    compiled(template, "path", read).unwrap_or_else(|_| Compiled::Templated(template.clone()))
}

fn compiled<T>(
    template: &Template,
    what: &str,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Compiled<T>, String> {
    match template.as_literal() {
        Some(Value::String(text)) => read(text)
            .map(Compiled::Ready)
            .map_err(|e| format!("`{text}` is not a {what}: {e}")),
        Some(other) => Err(format!("`{other}` is not a {what}")),
        None => Ok(Compiled::Templated(template.clone())),
    }
}
