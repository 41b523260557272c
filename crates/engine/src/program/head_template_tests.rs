use measure::LabelId;
use plan::{
    Load, Plan, Shape,
    rng::{Purpose, Rng},
    scenario::{Request, RequestBody},
    template::Template,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::program::{Interest, RequestStep};

const BASE: &str = "http://127.0.0.1:8080/api";

fn step(spec: &Request, latin1: bool) -> RequestStep {
    let phase = plan::Phase::new(1, Shape::Pause);
    let load = Load::Open {
        phases: vec![phase],
        first: plan::FirstArrival::AtStart,
    };
    let mut plan = Plan::new(
        "t".into(),
        plan::Format::NATIVE,
        BASE.into(),
        load,
        Vec::new(),
    );
    plan.http.dialect.latin1 = latin1;
    let label = LabelId::default();
    RequestStep::compile(spec, 0, label, &plan, Interest::default(), &mut Vec::new()).unwrap()
}

fn request(method: &str, url: &str, headers: &[(&str, &str)], body: RequestBody) -> Request {
    let template = |text: &str| Template::parse_text(text).unwrap();
    Request {
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), template(value)))
            .collect(),
        body,
        ..Request::new(method, template(url), url)
    }
}

fn drawn() -> Rng {
    Rng::keyed(7, Purpose::User, 3, 0)
}

/// Builds a request twice, the second time in reused memory. Compares the bytes and the random
/// numbers with those of `build`, and returns the bytes.
fn same(step: &RequestStep, scope: &Map<String, Value>) -> Option<Vec<u8>> {
    let mut built_from = drawn();
    let built = step.build(BASE, scope, &mut built_from, None, None);
    let next = built_from.next_u64();
    for _ in 0..3 {
        let mut made_from = drawn();
        let made = step.make(BASE, scope, &mut made_from, None);
        assert_eq!(made_from.next_u64(), next);
        match (&built, made) {
            (Ok(built), Ok(made)) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                assert_eq!(text(&made.bytes), text(&built.bytes));
                assert_eq!(
                    (&made.bytes, &made.target, made.cookie_at),
                    (&built.bytes, &built.target, built.cookie_at)
                );
                step.take_back(made.into_owned());
            }
            (built, made) => assert_eq!(made.err(), built.clone().err()),
        }
    }
    built.ok().map(|built| built.bytes)
}

fn scope(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn common_request_is_filled_in() {
    let body = Template::parse(&json!({"name": [{"family": "{{ $randomString(4) }}"}], "n": 1}));
    let spec = request(
        "POST",
        "/Patient/{{ id }}?q={{ $randomNumber(1, 9) }}",
        &[("Authorization", "Bearer {{ token }}"), ("x-a", "b")],
        RequestBody::Json(body.unwrap()),
    );
    let step = step(&spec, false);
    let user = scope(json!({"id": "p1", "token": "t"}));
    assert!(
        step.head_template
            .as_ref()
            .unwrap()
            .fill(&user, &mut drawn())
            .is_some()
    );
    let bytes = String::from_utf8(same(&step, &user).unwrap()).unwrap();
    let begins = "POST /api/Patient/p1?q=";
    assert!(bytes.starts_with(begins), "{bytes}");
    let head = " HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAuthorization: Bearer t\r\nx-a: b\r\ncontent-length: 34\r\n\r\n{\"name\":[{\"family\":\"";
    assert_eq!(
        &bytes[begins.len() + 1..begins.len() + 1 + head.len()],
        head
    );
}

#[test]
fn unusual_request_falls_back_to_build() {
    let step = step(
        &request("GET", "/a/{{ v }}", &[("x", "{{ h }}")], RequestBody::None),
        false,
    );
    for (v, h, is_filled) in [
        (json!("plain"), json!("x"), true),
        (json!("a b"), json!("x"), false),
        (json!("é"), json!("x"), false),
        (json!(".."), json!("x"), false),
        (json!("a#b"), json!("x"), false),
        (json!("a"), json!("x\r\nInjected: 1"), false),
        (json!("a"), json!("é"), true),
        (json!({"x": 1}), json!("x"), false),
    ] {
        let user = scope(json!({"v": v, "h": h}));
        let filled = step
            .head_template
            .as_ref()
            .unwrap()
            .fill(&user, &mut drawn());
        assert_eq!(filled.is_some(), is_filled, "{v} {h}");
        same(&step, &user);
    }
    let bytes = same(&step, &scope(json!({"v": 1}))).unwrap();
    assert_eq!(
        bytes,
        b"GET /api/a/1 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"
    );
}

#[test]
fn request_for_another_host_keeps_it() {
    for (url, is_known) in [
        ("http://localhost/x/{{ v }}", true),
        ("http://h:81{{ v }}", false),
        ("{{ v }}/x", false),
        ("http://u:p@h/{{ v }}", false),
        ("https://h/{{ v }}?a=b", true),
    ] {
        let step = step(&request("PUT", url, &[], RequestBody::None), false);
        assert_eq!(step.head_template.is_some(), is_known, "{url}");
        assert!(!step.goes_to_target);
        for v in ["a", "/a", "@other/a", "http://other/a", "a b"] {
            same(&step, &scope(json!({"v": v})));
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-z0-9/?=&.-]{0,6}",
        1 => Just(" é".to_owned()),
        1 => Just("\"\\".to_owned()),
        3 => Just("{{ a }}".to_owned()),
        2 => Just("{{ o.b[0] }}".to_owned()),
        1 => Just("{{ missing }}".to_owned()),
        2 => Just("{{ $randomNumber(1, 99) }}".to_owned()),
    ];
    proptest::collection::vec(part, 0..4).prop_map(|parts| parts.concat())
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-z0-9]{0,5}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(json!(false)),
        Just(json!(["x", {"y": null}])),
        Just(json!("{{ b }}")),
    ]
}

proptest! {
    #[test]
    fn filled_request_equals_built_one(
        (method, latin1, slash) in (proptest::sample::select(vec!["GET", "POST", "HEAD"]), any::<bool>(), any::<bool>()),
        url in text(),
        headers in proptest::collection::vec((proptest::sample::select(vec!["x-a", "Content-Type", "Host", "Cookie", "odd name"]), text()), 0..3),
        (kind, body) in (0..4, text()),
        (a, b) in (value(), value()),
    ) {
        let template = |text: &str| Template::parse_text(text).unwrap();
        let body = match kind {
            0 => RequestBody::None,
            1 => RequestBody::Json(Template::map(vec![(template("k"), template(&body)), (template(&body), template("v"))])),
            2 => RequestBody::Json(template(&body)),
            _ => RequestBody::Text(template(&body)),
        };
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let url = if slash { format!("/{url}") } else { url };
        let step = step(&request(method, &url, &headers, body), latin1);
        same(&step, &scope(json!({"a": a, "o": {"b": [b]}})));
    }
}
