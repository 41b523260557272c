//! Output of the plugin `expect`: a block that includes the exchange on failure, or a line of JSON.
//! It contains secrets, so it is never recorded.

use query::value::{self, string_of};
use serde_json::{Map, Value, json};

use crate::expect::{
    Print,
    results::{Exchange, ExpectedAnswer},
};

#[must_use]
pub fn judged_text(judged: &ExpectedAnswer, print: Print) -> String {
    let mut text = String::new();
    for name in &judged.unsupported {
        text.push_str(&format!(
            "Expect Plugin: Expectation '{name}' is not supported\n"
        ));
    }
    match print {
        Print::Silent => {}
        Print::Json => text.push_str(&line(judged)),
        Print::PrettyError if !judged.failed() => {}
        Print::Pretty | Print::PrettyError => block(judged, &mut text),
    }
    text
}

#[must_use]
pub fn error_text(error: &str, print: Print) -> String {
    match print {
        Print::Json => format!("{}\n", value::json(&json!({"ok": false, "error": error}))),
        _ => format!("Error: {error}\n"),
    }
}

fn line(judged: &ExpectedAnswer) -> String {
    let mut object = Map::new();
    let set = |name: &str, value: Option<Value>, object: &mut Map<String, Value>| {
        object.extend(value.map(|value| (name.to_owned(), value)));
    };
    set("name", judged.name.clone().map(Value::from), &mut object);
    set("url", Some(judged.path.clone().into()), &mut object);
    let results = judged.findings.iter().map(|finding| {
        let mut result = Map::new();
        set("ok", Some(finding.ok.into()), &mut result);
        set("expected", finding.expected.clone(), &mut result);
        set("type", Some(finding.kind.clone().into()), &mut result);
        set("got", finding.actual.clone(), &mut result);
        Value::Object(result)
    });
    let results = results.collect();
    object.insert("results".into(), results);
    format!("{}\n", value::json(&Value::Object(object)))
}

fn block(judged: &ExpectedAnswer, text: &mut String) {
    if judged.findings.is_empty() {
        return;
    }
    let name = judged
        .name
        .as_ref()
        .map_or_else(String::new, |name| format!("- {name}"));
    text.push_str(&format!("* {} {} {name}\n\n", judged.method, judged.path));
    for finding in &judged.findings {
        let word = if finding.ok { "ok" } else { "not ok" };
        let actual = string_of(finding.actual.as_ref());
        text.push_str(&format!("  {word} {} {actual} \n", finding.kind));
        if !finding.ok {
            let expected = string_of(finding.expected.as_ref());
            text.push_str(&format!("  expected: {expected}\n       got: {actual}\n"));
        }
    }
    if let Some(exchange) = &judged.exchange {
        render(exchange, text);
    }
}

fn render(exchange: &Exchange, text: &mut String) {
    text.push_str("  Request params:\n");
    indented(&exchange.url, text);
    let json = exchange.json.as_ref().map_or_else(
        || "\"\"".to_owned(),
        |json| serde_json::to_string_pretty(json).unwrap_or_default(),
    );
    indented(&json, text);
    text.push_str("  Headers:\n");
    for (name, value) in &exchange.headers {
        text.push_str(&format!("  {name}: {value}\n"));
    }
    text.push_str(&format!("  Body:\n{}\n", exchange.body));
    text.push_str("  User variables:\n");
    for (name, value) in &exchange.variables {
        text.push_str(&format!("    {name}: {}\n", string_of(value.as_ref())));
    }
}

fn indented(lines: &str, text: &mut String) {
    for line in lines.split('\n') {
        text.push_str(&format!("    {line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expect::results::ExpectedCheck;

    fn judged(ok: bool) -> ExpectedAnswer {
        ExpectedAnswer {
            method: "GET".into(),
            path: "/x?y".into(),
            name: Some("named".into()),
            unsupported: Vec::new(),
            findings: vec![ExpectedCheck {
                kind: "statusCode".into(),
                ok,
                expected: Some(json!([200, 404])),
                actual: Some(json!(500)),
            }],
            exchange: (!ok).then(|| {
                Box::new(Exchange {
                    url: "http://h/x?y".into(),
                    json: Some(json!({"a": 1})),
                    headers: vec![("a".into(), "b".into())],
                    body: "text".into(),
                    variables: vec![("v".into(), Some(json!({}))), ("u".into(), None)],
                })
            }),
        }
    }

    #[test]
    fn blocks() {
        let text = "* GET /x?y - named\n\n  ok statusCode 500 \n";
        assert_eq!(judged_text(&judged(true), Print::Pretty), text);
        assert_eq!(judged_text(&judged(true), Print::PrettyError), "");
        let text = "* GET /x?y - named\n\n  not ok statusCode 500 \n  expected: 200,404\n       got: 500\n  Request params:\n    \
                    http://h/x?y\n    {\n      \"a\": 1\n    }\n  Headers:\n  a: b\n  Body:\ntext\n  User variables:\n    \
                    v: [object Object]\n    u: undefined\n";
        assert_eq!(judged_text(&judged(false), Print::PrettyError), text);
        assert_eq!(judged_text(&judged(false), Print::Silent), "");
    }

    #[test]
    fn lines() {
        let text = r#"{"name":"named","url":"/x?y","results":[{"ok":false,"expected":[200,404],"type":"statusCode","got":500}]}"#;
        assert_eq!(
            judged_text(&judged(false), Print::Json),
            format!("{text}\n")
        );
        let odd = ExpectedAnswer {
            name: None,
            findings: Vec::new(),
            unsupported: vec!["odd".into()],
            ..judged(true)
        };
        let text = "Expect Plugin: Expectation 'odd' is not supported\n";
        assert_eq!(judged_text(&odd, Print::Pretty), text);
        assert_eq!(
            judged_text(&odd, Print::Json),
            format!("{text}{{\"url\":\"/x?y\",\"results\":[]}}\n")
        );
        assert_eq!(
            error_text("ECONNRESET", Print::Json),
            "{\"ok\":false,\"error\":\"ECONNRESET\"}\n"
        );
        assert_eq!(error_text("x", Print::Silent), "Error: x\n");
    }
}
