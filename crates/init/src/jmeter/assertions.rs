//! Assertions: status, text, duration and JSON.

use query::{jsonpath::JsonPath, regexp::Regexp};
use serde_json::{Value, json};

use super::{JmeterDraft, extractors::is_regexp, tree::JmxElement};
use crate::draft::DraftRequest;

/// Bits of `Assertion.test_type`.
const MATCH: i64 = 1;
const CONTAINS: i64 = 2;
const NOT: i64 = 4;
const EQUALS: i64 = 8;
const SUBSTRING: i64 = 16;
const OR: i64 = 32;

/// Statuses that servers commonly return. Patterns such as `2..` become a list of them.
const STATUSES: [u16; 38] = [
    200, 201, 202, 203, 204, 205, 206, 207, 208, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403,
    404, 405, 406, 408, 409, 410, 411, 412, 413, 415, 422, 423, 429, 451, 500, 501, 502, 503, 504,
];

pub(super) fn is_assertion(kind: &str) -> bool {
    [
        "ResponseAssertion",
        "DurationAssertion",
        "JSONPathAssertion",
    ]
    .contains(&kind)
}

/// Adds the checks of an assertion to a request, or a comment about what cannot be expressed.
pub(super) fn add(
    element: &JmxElement<'_>,
    request: &mut DraftRequest,
    context: &mut JmeterDraft<'_>,
) {
    let added = match element.kind {
        "ResponseAssertion" => response(element, request, context),
        "DurationAssertion" => duration(element, request, context),
        "JSONPathAssertion" => json_path(element, request, context),
        _ => return,
    };
    if let Err(reason) = added {
        let text = format!("not checked: {reason}");
        request.comments.push(element.comment(context.file, &text));
    }
}

fn duration(
    element: &JmxElement<'_>,
    request: &mut DraftRequest,
    context: &mut JmeterDraft<'_>,
) -> Result<(), String> {
    let written = element.property("DurationAssertion.duration");
    match context.scope.expand(&written).trim().parse::<f64>() {
        Ok(limit) if limit > 0.0 && limit < 1e9 => {
            let least = request.limit_ms.map_or(limit, |known| known.min(limit));
            request.limit_ms = Some(least);
            Ok(())
        }
        Ok(0.0) => Ok(()),
        _ => Err("the duration, which has no known value".to_owned()),
    }
}

fn response(
    element: &JmxElement<'_>,
    request: &mut DraftRequest,
    context: &mut JmeterDraft<'_>,
) -> Result<(), String> {
    // JMeter's own files use this misspelling.
    let strings = ["Asserion.test_strings", "Assertion.test_strings"];
    let strings = strings.iter().flat_map(|name| element.list(name));
    let strings: Vec<String> = strings.map(|one| one.text()).collect();
    let kind: i64 = element
        .property("Assertion.test_type")
        .trim()
        .parse()
        .unwrap_or(CONTAINS);
    let scope = element.property("Assertion.scope");
    if kind & NOT != 0 {
        return Err("that the text does not occur".to_owned());
    }
    if !matches!(scope.trim(), "" | "all" | "parent" | "main") {
        return Err("a variable or a part of the sample".to_owned());
    }
    let is_any = kind & OR != 0 && strings.len() > 1;
    match element.property("Assertion.test_field").trim() {
        "Assertion.response_code" => {
            let statuses = statuses(&strings, kind, is_any, context)?;
            request.checks.push(json!({"status": statuses}));
            Ok(())
        }
        "Assertion.response_data" | "Assertion.response_data_as_document" | "" => {
            if is_any {
                return Err("that one of several texts occurs".to_owned());
            }
            let texts = strings.iter();
            let checks: Result<Vec<TextCheck>, String> =
                texts.map(|text| text_check(text, kind, context)).collect();
            for check in checks? {
                match check {
                    TextCheck::Contains(text) => request.checks.push(json!({"body": text})),
                    TextCheck::Regexp(pattern) => {
                        let own = context.unknowns.reserve("matched");
                        request.captures.push((own, json!({"regexp": pattern})));
                        let text = "the capture checks the regular expression";
                        request.comments.push(element.comment(context.file, text));
                    }
                }
            }
            Ok(())
        }
        field => {
            let field = field.trim_start_matches("Assertion.").replace('_', " ");
            Err(format!("the {}", field.replace(char::is_control, " ")))
        }
    }
}

enum TextCheck {
    Contains(String),
    Regexp(String),
}

fn text_check(text: &str, kind: i64, context: &mut JmeterDraft<'_>) -> Result<TextCheck, String> {
    let is_plain = !text.contains(['\\', '^', '.', '|', '?', '*', '+', '(', '[']);
    if kind & SUBSTRING != 0 || kind & CONTAINS != 0 && is_plain && !text.contains("${") {
        return Ok(TextCheck::Contains(context.resolve(text)));
    }
    if kind & CONTAINS != 0 {
        let pattern = context.scope.expand(text);
        if is_regexp(&pattern) && !pattern.contains("${") {
            return Ok(TextCheck::Regexp(pattern));
        }
        return Err("a regular expression that plans do not support".to_owned());
    }
    Err(if kind & MATCH != 0 {
        "that an expression matches the whole text".to_owned()
    } else {
        "that the text is equal".to_owned()
    })
}

fn statuses(
    strings: &[String],
    kind: i64,
    is_any: bool,
    context: &JmeterDraft<'_>,
) -> Result<Vec<u16>, String> {
    let mut allowed: Option<Vec<u16>> = None;
    for text in strings {
        let text = context.scope.expand(text);
        let fits = matching(text.trim(), kind)
            .ok_or_else(|| "a status that plans cannot name".to_owned())?;
        allowed = Some(match allowed {
            None => fits,
            Some(before) if is_any => [before, fits].concat(),
            Some(before) => before
                .into_iter()
                .filter(|one| fits.contains(one))
                .collect(),
        });
    }
    let mut allowed = allowed.unwrap_or_default();
    allowed.sort_unstable();
    allowed.dedup();
    if allowed.is_empty() {
        return Err("a status that cannot occur".to_owned());
    }
    Ok(allowed)
}

/// Returns the statuses that the pattern of an assertion allows.
fn matching(text: &str, kind: i64) -> Option<Vec<u16>> {
    if let Ok(status @ 100..=599) = text.parse::<u16>() {
        return Some(vec![status]);
    }
    if kind & (EQUALS | SUBSTRING) != 0 {
        return None;
    }
    let pattern = if kind & MATCH != 0 {
        format!("^(?:{text})$")
    } else {
        text.to_owned()
    };
    let regexp = Regexp::new(&pattern, "").ok()?;
    let fits = |status: &u16| matches!(regexp.find(&status.to_string()), Ok(Some(_)));
    Some(STATUSES.into_iter().filter(fits).collect())
}

fn json_path(
    element: &JmxElement<'_>,
    request: &mut DraftRequest,
    context: &mut JmeterDraft<'_>,
) -> Result<(), String> {
    let path = context.scope.expand(&element.property("JSON_PATH"));
    let path = path.trim();
    if !path.starts_with('$') || JsonPath::parse(path).is_err() {
        return Err("a JSONPath that plans do not support".to_owned());
    }
    if element.flag("INVERT") {
        return Err("that the JSON value is missing or different".to_owned());
    }
    if !element.flag("JSONVALIDATION") {
        request.checks.push(json!({"json": path}));
        return Ok(());
    }
    let wanted = element.property("EXPECTED_VALUE");
    let is_expression = element.property("ISREGEX").trim() != "false"
        && wanted.contains(['\\', '^', '.', '|', '?', '*', '+', '(', '[']);
    if is_expression {
        request.checks.push(json!({"json": path}));
        return Err(
            "the regular expression for the value. The plan checks that it exists".to_owned(),
        );
    }
    let wanted = if element.flag("EXPECT_NULL") {
        Value::Null
    } else {
        // JMeter compares text, while a plan compares values.
        let text = context.resolve(&wanted);
        let plain = serde_json::from_str::<Value>(&text).ok();
        let plain = plain.filter(|value| value.is_number() || value.is_boolean());
        plain.unwrap_or(Value::String(text))
    };
    request.checks.push(json!({"json": {path: wanted}}));
    Ok(())
}
