//! The checks of the plugin `expect` and their messages. Templates have already been expanded.

use engine::hook::Inspection;
use query::{
    jmespath::JmesPath,
    path,
    regexp::Regexp,
    value::{number_of, string_of},
};
use serde_json::Value;

use super::{JmesWord, results::ExpectedCheck};

const CACHE_HEADERS: [&str; 3] = ["cf-cache-status", "x-cache", "x-vercel-cache"];
const JSON_TYPES: [&str; 3] = [
    "application/json",
    "application/problem+json",
    "application/ld+json",
];

pub enum ExpectBody {
    Json(Value),
    Broken,
    Text,
}

const NO_OBJECT: &str = "response body is not an object";

pub fn finding(
    kind: &str,
    ok: bool,
    expected: Option<Value>,
    actual: Option<Value>,
) -> ExpectedCheck {
    ExpectedCheck {
        kind: kind.to_owned(),
        ok,
        expected,
        actual,
    }
}

fn is_one_of(status: u16, wanted: Option<&Value>) -> bool {
    let status = f64::from(status);
    let same = |value: &Value| match value {
        Value::Number(n) => n.as_f64() == Some(status),
        Value::String(text) => number_of(text) == status,
        _ => false,
    };
    match wanted {
        Some(Value::Array(list)) => list.iter().any(same),
        Some(one) => same(one),
        None => false,
    }
}

pub fn status(wanted: bool, codes: Option<Value>, actual: u16) -> ExpectedCheck {
    let ok = is_one_of(actual, codes.as_ref()) == wanted;
    if wanted {
        return finding("statusCode", ok, codes, Some(actual.into()));
    }
    let expected = format!("Status code different than {}", string_of(codes.as_ref()));
    finding(
        "notStatusCode",
        ok,
        Some(expected.into()),
        Some(actual.into()),
    )
}

pub fn equals(texts: &[String]) -> ExpectedCheck {
    let ok = !texts.is_empty() && texts.iter().all(|text| *text == texts[0]);
    let actual = texts.join(", ");
    finding(
        "equals",
        ok,
        Some("all values to be equal".into()),
        Some(actual.into()),
    )
}

pub fn matches_regexp(pattern: &str, inspection: &mut Inspection<'_>) -> ExpectedCheck {
    let actual = match Regexp::new(pattern, "") {
        Ok(regex) => match inspection.text().map(|text| regex.find(text)) {
            Some(Err(reason)) => reason.to_string().into(),
            found => Value::Bool(matches!(found, Some(Ok(Some(_))))),
        },
        Err(error) => {
            format!("SyntaxError: Invalid regular expression: /{pattern}/: {error}").into()
        }
    };
    finding(
        "matchesRegexp",
        actual == Value::Bool(true),
        Some(true.into()),
        Some(actual),
    )
}

pub fn jmespath(
    word: JmesWord,
    path: &JmesPath,
    description: Option<&str>,
    body: &ExpectBody,
) -> ExpectedCheck {
    let expected = Some(description.unwrap_or(path.text()).into());
    let (kind, actual) = match word {
        JmesWord::Jmespath => ("jmespath", Some(path.text().into())),
        // For this name, the plugin omits the expression from messages.
        JmesWord::Jpath => ("jpath", None),
    };
    match body {
        ExpectBody::Json(document) if document.is_object() || document.is_array() => {
            finding(kind, path.finds_truth(document), expected, actual)
        }
        _ => finding(kind, false, expected, Some(NO_OBJECT.into())),
    }
}

pub fn body_of(inspection: &mut Inspection<'_>) -> ExpectBody {
    let is_json = node_header(inspection, "content-type")
        .is_some_and(|kind| JSON_TYPES.iter().any(|json| kind.contains(json)));
    match inspection.json() {
        _ if !is_json => ExpectBody::Text,
        Some(value) => ExpectBody::Json(value.clone()),
        None => ExpectBody::Broken,
    }
}

pub fn content_type(
    wanted: Option<Value>,
    body: &ExpectBody,
    inspection: &Inspection<'_>,
) -> ExpectedCheck {
    let header = node_header(inspection, "content-type");
    let text = string_of(wanted.as_ref());
    if text != "json" {
        let ok = header
            .as_deref()
            .is_some_and(|header| header.to_lowercase() == text.to_lowercase());
        let actual = header.unwrap_or_else(|| "content-type header not set".to_owned());
        return finding("contentType", ok, wanted, Some(actual.into()));
    }
    let actual = match body {
        ExpectBody::Json(value) if value.is_object() || value.is_array() => {
            return finding("contentType", true, wanted, Some("json".into()));
        }
        ExpectBody::Broken | ExpectBody::Json(Value::Null) => {
            "could not parse response body as JSON".to_owned()
        }
        ExpectBody::Json(_) | ExpectBody::Text => format!(
            "content-type is {}",
            header.as_deref().unwrap_or("undefined")
        ),
    };
    finding("contentType", false, wanted, Some(actual.into()))
}

pub fn property(kind: &str, wanted: bool, path: Option<Value>, body: &ExpectBody) -> ExpectedCheck {
    let name = string_of(path.as_ref());
    let document = match body {
        ExpectBody::Json(document) if document.is_object() || document.is_array() => document,
        _ => return finding(kind, false, path, Some(NO_OBJECT.into())),
    };
    if path::has(document, &name) == wanted {
        return finding(kind, true, path.clone(), path);
    }
    let no = if wanted { " no" } else { "" };
    let actual = format!("response body has{no} {name} property");
    finding(kind, false, path, Some(actual.into()))
}

pub fn has_header(wanted: Option<Value>, inspection: &Inspection<'_>) -> ExpectedCheck {
    let name = string_of(wanted.as_ref());
    if node_header(inspection, &name).is_some_and(|value| !value.is_empty()) {
        return finding("hasHeader", true, wanted.clone(), wanted);
    }
    let actual = format!("response has no {name} header");
    finding("hasHeader", false, wanted, Some(actual.into()))
}

pub fn header_equals(
    name: &str,
    wanted: Option<Value>,
    inspection: &Inspection<'_>,
) -> ExpectedCheck {
    let kind = format!("header {name} values equals");
    match node_header(inspection, name).filter(|value| !value.is_empty()) {
        Some(value) => {
            let text = wanted.as_ref().map(|wanted| string_of(Some(wanted)));
            let ok = value == text.unwrap_or_default();
            finding(&kind, ok, wanted, Some(value.into()))
        }
        None => finding(
            &kind,
            false,
            Some(format!("response to have {name} header").into()),
            Some(format!("response has no {name} header").into()),
        ),
    }
}

pub fn cdn(hit: bool, inspection: &Inspection<'_>) -> ExpectedCheck {
    let (words, expected): (&[&str], _) = if hit {
        (&["hit", "stale"], "a cache header indicating a cache hit")
    } else {
        (&["miss"], "a cache header indicating a cache miss")
    };
    let says = CACHE_HEADERS.iter().rev().find_map(|name| {
        let value = node_header(inspection, name)?;
        let lower = value.to_lowercase();
        words
            .iter()
            .any(|word| lower.starts_with(word))
            .then(|| format!("{name} is {value}"))
    });
    let ok = says.is_some();
    let actual = says.unwrap_or_else(|| "cache status header not found".to_owned());
    finding("cdnHit", ok, Some(expected.into()), Some(actual.into()))
}

/// Returns headers as Node.js does: names are in lower case, and repeated values are joined.
pub fn node_headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    let mut joined: Vec<(String, String)> = Vec::new();
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        match joined.iter_mut().find(|(known, _)| *known == name) {
            None => joined.push((name, value.clone())),
            Some((name, known)) => join(name, known, value),
        }
    }
    joined
}

fn join(name: &str, known: &mut String, value: &str) {
    if !script::js::NODE.is_single(name) {
        // JavaScript prints lists with commas and no spaces.
        known.push_str(if name == "set-cookie" { "," } else { ", " });
        known.push_str(value);
    }
}

fn node_header(inspection: &Inspection<'_>, name: &str) -> Option<String> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let headers = inspection.answer().headers.iter();
    let mut values = headers.filter(|(known, _)| known.eq_ignore_ascii_case(name));
    let mut joined = values.next()?.1.clone();
    values.for_each(|(_, value)| join(name, &mut joined, value));
    Some(joined)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use codec::Response;

    fn answer(headers: &[(&str, &str)], body: &str) -> Response {
        let headers = headers
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        Response {
            status: 200,
            headers: headers.collect(),
            body: body.into(),
            ..Response::default()
        }
    }

    fn body(answer: &Response) -> ExpectBody {
        body_of(&mut Inspection::new(
            answer,
            u64::MAX,
            codec::content::Unpacking::Lenient,
        ))
    }

    fn actual(finding: &ExpectedCheck) -> (bool, String) {
        (finding.ok, string_of(finding.actual.as_ref()))
    }

    #[test]
    fn statuses_are_compared_as_numbers() {
        for (wanted, is) in [
            (json!(200), true),
            (json!("200"), true),
            (json!([404, "200"]), true),
            (json!([404]), false),
            (json!([]), false),
            (json!("OK"), false),
            (json!(null), false),
        ] {
            assert_eq!(is_one_of(200, Some(&wanted)), is, "{wanted}");
        }
        assert!(!is_one_of(200, None));
    }

    #[test]
    fn content_types() {
        let plain = answer(&[("content-type", "text/html; charset=utf-8")], "[1]");
        let json = answer(
            &[("content-type", "application/json; charset=utf-8")],
            "[1]",
        );
        let check = |wanted: &str, answer: &Response| {
            let wanted = Some(Value::from(wanted));
            actual(&content_type(
                wanted,
                &body(answer),
                &Inspection::new(answer, u64::MAX, codec::content::Unpacking::Lenient),
            ))
        };
        assert_eq!(check("json", &json), (true, "json".into()));
        assert_eq!(
            check("json", &plain),
            (false, "content-type is text/html; charset=utf-8".into())
        );
        let broken = answer(&[("content-type", "application/ld+json")], "{");
        let unreadable = "could not parse response body as JSON";
        assert_eq!(check("json", &broken), (false, unreadable.into()));
        assert!(check("TEXT/html; charset=utf-8", &plain).0);
        assert!(!check("text/html", &plain).0);
        let nothing = answer(&[], "[1]");
        assert_eq!(
            check("text/html", &nothing),
            (false, "content-type header not set".into())
        );
        assert_eq!(
            check("json", &nothing),
            (false, "content-type is undefined".into())
        );
    }

    #[test]
    fn properties() {
        let json = answer(
            &[("content-type", "application/json")],
            r#"{"a": {"b": [null]}}"#,
        );
        let text = answer(&[("content-type", "text/plain")], r#"{"a": 1}"#);
        let check = |wanted, path: &str, answer: &Response| {
            actual(&property("kind", wanted, Some(path.into()), &body(answer)))
        };
        assert_eq!(check(true, "a.b[0]", &json), (true, "a.b[0]".into()));
        assert_eq!(
            check(true, "z", &json),
            (false, "response body has no z property".into())
        );
        assert_eq!(
            check(false, "a", &json),
            (false, "response body has a property".into())
        );
        assert!(check(false, "z", &json).0);
        assert_eq!(check(true, "a", &text), (false, NO_OBJECT.into()));
        assert_eq!(check(false, "z", &text), (false, NO_OBJECT.into()));
    }

    #[test]
    fn headers_are_nodes() {
        let answer = answer(
            &[
                ("X-Cache", "Stale"),
                ("Set-Cookie", "a=1"),
                ("Via", "x"),
                ("set-cookie", "b=2"),
                ("via", "y"),
                ("Server", "one"),
                ("Server", "two"),
            ],
            "",
        );
        let inspection = Inspection::new(&answer, u64::MAX, codec::content::Unpacking::Lenient);
        assert_eq!(
            node_header(&inspection, "set-cookie").as_deref(),
            Some("a=1,b=2")
        );
        assert_eq!(node_header(&inspection, "via").as_deref(), Some("x, y"));
        assert_eq!(node_header(&inspection, "server").as_deref(), Some("one"));
        assert_eq!(node_header(&inspection, "Via"), None);
        assert_eq!(
            actual(&cdn(true, &inspection)),
            (true, "x-cache is Stale".into())
        );
        assert_eq!(
            actual(&cdn(false, &inspection)),
            (false, "cache status header not found".into())
        );
        let equals = |name, wanted: Value| header_equals(name, Some(wanted), &inspection);
        assert!(equals("via", "x, y".into()).ok);
        assert_eq!(equals("via", 5.into()).kind, "header via values equals");
        assert_eq!(
            actual(&equals("none", "x".into())),
            (false, "response has no none header".into())
        );
    }
}
