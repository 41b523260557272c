//! Extractors: JSON, regular expressions and boundaries.

use query::{jsonpath::JsonPath, regexp::Regexp};
use serde_json::{Value, json};

use super::{JmeterDraft, tree::JmxElement};
use crate::draft::DraftRequest;

const KINDS: [&str; 3] = ["JSONPostProcessor", "RegexExtractor", "BoundaryExtractor"];

pub(super) fn is_extractor(kind: &str) -> bool {
    KINDS.contains(&kind)
}

/// Returns the variables that an element sets, if it is an extractor.
pub(super) fn names_of(element: &JmxElement<'_>) -> Vec<String> {
    if is_extractor(element.kind) {
        names(element)
    } else {
        Vec::new()
    }
}

fn names(element: &JmxElement<'_>) -> Vec<String> {
    let names = match element.kind {
        "JSONPostProcessor" => element.property("JSONPostProcessor.referenceNames"),
        kind => element.property(&format!("{kind}.refname")),
    };
    let names = names.split(';').map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// One variable that an extractor sets.
struct Extraction {
    name: String,
    source: Source,
    number: String,
    default: String,
}

enum Source {
    Json(String),
    Regexp {
        pattern: String,
        group: u32,
    },
    /// A plan cannot express the extraction, for this reason.
    None(&'static str),
}

/// Adds the captures of an extractor to a request.
pub(super) fn add(
    element: &JmxElement<'_>,
    request: &mut DraftRequest,
    context: &mut JmeterDraft<'_>,
) {
    if !is_extractor(element.kind) {
        return;
    }
    for extraction in extractions(element, context) {
        let name = extraction.name.clone();
        let mut comment = |text: &str| {
            request.comments.push(element.comment(context.file, text));
        };
        let number = match extraction.number.trim() {
            "" => "1",
            number => number,
        };
        let source = match (&extraction.source, number) {
            (Source::None(reason), _) => {
                comment(&format!(
                    "TO FILL IN: the value of {name}. Plans do not support {reason}"
                ));
                continue;
            }
            (Source::Json(path), "1" | "0") => json!({"json": path, "optional": true}),
            (Source::Json(path), "-1") => json!({"json": path, "all": true, "optional": true}),
            (Source::Regexp { pattern, group }, "1") => {
                json!({"regexp": pattern, "group": group, "optional": true})
            }
            (_, number) => {
                let number = number.replace(char::is_control, " ");
                comment(&format!(
                    "TO FILL IN: the value of {name}. Plans cannot capture match {number}"
                ));
                continue;
            }
        };
        comment(&difference(&extraction));
        capture(&extraction, number, source, request, context);
    }
}

/// Describes what happens if the response does not contain the value.
fn difference(extraction: &Extraction) -> String {
    let name = &extraction.name;
    let missing = match extraction.source {
        Source::Json(_) => "undefined",
        _ => "empty",
    };
    let default = extraction.default.replace(char::is_control, " ");
    match default.trim() {
        "" => format!(
            "without a match, the iteration continues as in JMeter, but {name} is then \
            {missing} here. JMeter keeps its old value"
        ),
        default => format!(
            "without a match, the iteration continues as in JMeter, but {name} is then \
            {missing} here. JMeter sets it to `{default}`"
        ),
    }
}

fn capture(
    extraction: &Extraction,
    number: &str,
    source: Value,
    request: &mut DraftRequest,
    context: &mut JmeterDraft<'_>,
) {
    let own = context
        .scope
        .capture(&extraction.name, &mut context.unknowns);
    let own = own.trim_end_matches("[0]").to_owned();
    let mut source = source;
    if let Source::Json(path) = &extraction.source
        && number == "1"
        && !is_definite(path)
    {
        // A plan picks one of several results at random, while JMeter uses the first.
        source["all"] = Value::Bool(true);
        context.scope.provide(&extraction.name, format!("{own}[0]"));
    } else {
        context.scope.provide(&extraction.name, own.clone());
    }
    if number == "-1" {
        for index in 0..10 {
            let name = format!("{}_{}", extraction.name, index + 1);
            context.scope.provide(&name, format!("{own}[{index}]"));
        }
    }
    request.captures.retain(|(known, _)| *known != own);
    request.captures.push((own, source));
}

/// Returns whether a path has at most one result.
fn is_definite(path: &str) -> bool {
    !["*", "..", "?", ":", ","]
        .iter()
        .any(|part| path.contains(part))
}

fn extractions(element: &JmxElement<'_>, context: &JmeterDraft<'_>) -> Vec<Extraction> {
    let expanded = |name: &str| context.scope.expand(&element.property(name));
    let is_of_variable = element.property("Sample.scope") == "variable";
    if element.kind == "JSONPostProcessor" {
        let list = |name: &str| -> Vec<String> {
            let text = expanded(&format!("JSONPostProcessor.{name}"));
            text.split(';').map(|part| part.trim().to_owned()).collect()
        };
        let paths = list("jsonPathExprs");
        let (numbers, defaults) = (list("match_numbers"), list("defaultValues"));
        let extraction = |(index, name): (usize, String)| {
            let path = paths.get(index).cloned().unwrap_or_default();
            Extraction {
                name,
                source: if is_of_variable {
                    Source::None("extracting from a variable")
                } else if JsonPath::parse(&path).is_ok() && path.starts_with('$') {
                    Source::Json(path)
                } else {
                    Source::None("this JSONPath")
                },
                number: numbers.get(index).cloned().unwrap_or_default(),
                default: defaults.get(index).cloned().unwrap_or_default(),
            }
        };
        return names(element)
            .into_iter()
            .enumerate()
            .map(extraction)
            .collect();
    }
    let kind = element.kind;
    let field = element.property(&format!("{kind}.useHeaders"));
    let source = if is_of_variable {
        Source::None("extracting from a variable")
    } else if !matches!(field.trim(), "" | "false") {
        Source::None("extracting from other parts than the body")
    } else if kind == "RegexExtractor" {
        regexp(
            &expanded("RegexExtractor.regex"),
            &expanded("RegexExtractor.template"),
        )
    } else {
        let pattern = format!(
            "{}([\\s\\S]*?){}",
            escaped(&expanded("BoundaryExtractor.lboundary")),
            escaped(&expanded("BoundaryExtractor.rboundary"))
        );
        regexp(&pattern, "$1$")
    };
    let mut source = Some(source);
    let extraction = |name: String| Extraction {
        name,
        source: source.take().unwrap_or(Source::None("several names")),
        number: expanded(&format!("{kind}.match_number")),
        default: expanded(&format!("{kind}.default")),
    };
    names(element).into_iter().map(extraction).collect()
}

fn regexp(pattern: &str, template: &str) -> Source {
    let group = match template.trim() {
        "" => Some(1),
        template => template
            .strip_prefix('$')
            .and_then(|rest| rest.strip_suffix('$'))
            .and_then(|number| number.parse().ok()),
    };
    let Some(group) = group else {
        return Source::None("this template of a regular expression");
    };
    if !is_regexp(pattern) {
        return Source::None("this regular expression");
    }
    Source::Regexp {
        pattern: pattern.to_owned(),
        group,
    }
}

pub(super) fn is_regexp(pattern: &str) -> bool {
    !pattern.is_empty() && Regexp::new(pattern, "").is_ok()
}

/// Escapes the characters that are special in regular expressions.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if "\\^$.|?*+()[]{}/-".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}
