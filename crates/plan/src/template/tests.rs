use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::rng::{Purpose, Rng};

fn rng() -> Rng {
    Rng::keyed(1, Purpose::User, 0, 0)
}

fn vars() -> Map<String, Value> {
    let vars = json!({"n": 5, "s": "hi", "o": {"a": [1, {"b": "x"}]}, "z": 0, "nul": null, "again": "<{{ s }}>", "me": "+{{ me }}"});
    vars.as_object().unwrap().clone()
}

fn eval(value: Value) -> Option<Value> {
    let template = Template::parse(&value).unwrap();
    let evaluated = template.eval(&vars(), &mut rng());
    let mut text = String::new();
    let written = template.write_text(&vars(), &mut rng(), &mut text);
    let mut body = String::new();
    assert_eq!(
        template.write_json(&vars(), &mut rng(), &mut body).is_ok(),
        evaluated.is_some()
    );
    match &evaluated {
        Some(value) => {
            assert_eq!(written, Ok(()));
            assert_eq!(text, value::text(Some(value)));
            assert_eq!(body, value::json(value));
        }
        None => {
            assert_eq!(written, Err(Undefined));
            assert!(text.is_empty() && body.is_empty());
        }
    }
    evaluated
}

fn text(template: &str) -> Option<Value> {
    eval(json!(template))
}

#[test]
fn golden_vectors_match() {
    assert_eq!(text("{{ n }}"), Some(json!(5)));
    assert_eq!(text("{{n}} "), Some(json!("5 ")));
    assert_eq!(text(" {{ n }}"), Some(json!(" 5")));
    assert_eq!(text("{{ o.a[1].b }}"), Some(json!("x")));
    assert_eq!(text("{{ o }}"), Some(json!({"a": [1, {"b": "x"}]})));
    assert_eq!(text("v={{ o }}"), Some(json!(r#"v={"a":[1,{"b":"x"}]}"#)));
    assert_eq!(text("{{ z }}"), Some(json!(0)));
    assert_eq!(text("{{ u }}"), None);
    assert_eq!(text("/x/{{ u }}"), Some(json!("/x/undefined")));
    assert_eq!(text("{{ $randomNumber(3,3) }}"), Some(json!("3")));
    assert_eq!(text("{{ n + 1 }}"), Some(json!("{{ n + 1 }}")));
}

#[test]
fn braces_are_parsed() {
    assert_eq!(text("{{{ n }}}"), Some(json!(5)));
    assert_eq!(text("{{{ n }}"), Some(json!(5)));
    assert_eq!(text("{{{{ n }}}}"), Some(json!("{5}")));
    assert_eq!(text("{{ nul }}/{{ nul }}"), Some(json!("null/null")));
    assert_eq!(text("{{ n"), Some(json!("{{ n")));
    assert_eq!(text("{{}}"), Some(json!("{{}}")));
    assert_eq!(text("é{{ s }}é"), Some(json!("éhié")));
    assert_eq!(text("{{ s | upper }}"), Some(json!("{{ s | upper }}")));
    assert_eq!(
        unread_braces("a {{ n }} {{ n + 1 }} b"),
        Some("{{ n + 1 }}")
    );
    assert_eq!(unread_braces("a {{ n }} {{ $f(1) }} {b}"), None);
}

#[test]
fn embedded_values_are_expanded() {
    assert_eq!(text("{{ again }}"), Some(json!("<{{ s }}>")));
    assert_eq!(text("a {{ again }}"), Some(json!("a <hi>")));
    assert_eq!(
        text("a {{ me }}"),
        Some(json!(format!("a {}{{{{ me }}}}", "+".repeat(9))))
    );
}

#[test]
fn objects_are_evaluated() {
    let value = json!({"a": "{{ u }}", "{{ s }}": ["{{ u }}", "{{ n }}", true, 1.5], "c": {"d": "-{{ s }}-"}});
    assert_eq!(
        eval(value),
        Some(json!({"hi": [null, 5, true, 1.5], "c": {"d": "-hi-"}}))
    );
    let value = json!({"a": "{{ u }}", "b": "{{ u }}", "c": 1, "d": "{{ u }}", "e": "{{ n }}"});
    assert_eq!(eval(value), Some(json!({"c": 1, "e": 5})));
    assert_eq!(
        Template::parse(&json!({"a": [1, "x"]}))
            .unwrap()
            .as_literal(),
        Some(&json!({"a": [1, "x"]}))
    );
}

#[test]
fn functions_are_evaluated() {
    let drawn = |template: &str| text(template).unwrap().as_str().unwrap().to_owned();
    assert_eq!(drawn("{{ $randomString() }}").len(), 10);
    assert_eq!(drawn("{{$randomString(8)}}").len(), 8);
    assert_eq!(drawn("{{ $randomString(0) }}"), "");
    assert!(
        drawn("{{ $randomString( 40 ) }}")
            .bytes()
            .all(|b| b.is_ascii_alphanumeric())
    );
    assert!(["0", "1"].contains(&drawn("{{ $randomNumber() }}").as_str()));
    assert_eq!(drawn("a{{ $randomNumber(7,7) }}{{ s }}"), "a7hi");
    let mut rng = rng();
    let template = Template::parse_text("{{ $randomNumber(5, 1) }}").unwrap();
    let seen: std::collections::BTreeSet<String> = (0..500)
        .map(|_| template.to_text(&vars(), &mut rng))
        .collect();
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        ["1", "2", "3", "4", "5"]
    );
}

#[test]
fn unknown_functions_are_reported() {
    let error = Template::parse(&json!({"x": ["ab {{ $randomInt(1,5) }}"]})).unwrap_err();
    assert_eq!((error.offset, error.function.as_str()), (3, "$randomInt"));
    assert!(
        error.message.contains(
            "$randomInt (write $randomNumber(min, max)): available functions are $randomNumber(min, max) and $randomString(length)"
        ),
        "{error}"
    );
    assert!(Template::parse_text("{{ $randomString(99999999999) }}").is_err());
    for (call, word) in [
        ("$randomNumber(nan,1e400)", "`nan`"),
        ("$randomNumber(1,1e400)", "`1e400`"),
        (
            "$randomNumber(1,99999999999999999999)",
            "`99999999999999999999`",
        ),
        ("$randomString(ten)", "`ten`"),
    ] {
        let error = Template::parse_text(&format!("a {{{{ {call} }}}}")).unwrap_err();
        assert!(error.offset == 2 && error.message.contains(word), "{error}");
    }
    assert!(Template::parse_text("{{ $randomNumber(1,) }}").is_ok());
}

#[test]
fn variables_are_listed() {
    let template = Template::parse(
        &json!({"{{ k }}": ["{{ a.b }}", "x{{ c }}{{ $randomString() }}"], "l": 1}),
    )
    .unwrap();
    assert_eq!(
        template.variables().map(Path::text).collect::<Vec<_>>(),
        ["k", "a.b", "c"]
    );
    assert_eq!(
        template.variables().map(Path::root).collect::<Vec<_>>(),
        ["k", "a", "c"]
    );
}

proptest! {
    #[test]
    fn any_text_is_parsed(text in r#"[a-c{}$(), .\[\]'"0-9é\n-]{0,40}"#) {
        if let Ok(template) = Template::parse_text(&text) {
            let _ = (template.eval(&vars(), &mut rng()), unread_braces(&text), template.variables().count());
        }
    }

    #[test]
    fn text_without_braces_is_unchanged(text in "[^{]*") {
        let template = Template::parse_text(&text).unwrap();
        prop_assert_eq!(template.as_literal(), Some(&Value::String(text)));
    }

    #[test]
    fn single_variable_keeps_its_type(n in any::<i32>(), before in "[a-z ]{1,5}", spaces in " {0,3}") {
        let scope = json!({"v": n}).as_object().unwrap().clone();
        let of = |text: String| Template::parse_text(&text).unwrap().eval(&scope, &mut rng());
        let alone = format!("{{{{{spaces}v{spaces}}}}}");
        prop_assert_eq!(of(alone.clone()), Some(json!(n)));
        prop_assert_eq!(of(format!("{before}{alone}")), Some(json!(format!("{before}{n}"))));
    }

    #[test]
    fn written_json_equals_evaluated_value(key in "[a-z]{1,4}", n in any::<i32>(), text in "[a-z\"\\\\ ]{0,6}") {
        let scope = json!({"v": n, "t": text}).as_object().unwrap().clone();
        let template = Template::parse(&json!({key: ["{{ v }}", "x{{ t }}", {"u": "{{ none }}"}]})).unwrap();
        let mut written = String::new();
        prop_assert!(template.write_json(&scope, &mut rng(), &mut written).is_ok());
        let read: Value = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(Some(read), template.eval(&scope, &mut rng()));
    }
}

#[test]
fn single_function_keeps_its_type_if_typed() {
    let value = json!({
        "n": "{{ $randomNumber(3, 3) }}",
        "list": ["{{ $randomNumber(4, 4) }}", " {{ $randomNumber(3, 3) }}"],
        "text": "B{{ $randomNumber(3, 3) }}",
        "word": "{{ $randomString(0) }}",
        "yes": "{{ yes }}",
        "{{ $randomNumber(3, 3) }}": true,
    });
    let template = Template::parse(&value).unwrap();
    let scope: Map<String, Value> = serde_json::from_value(json!({ "yes": true })).unwrap();
    let mut rng = rng();
    let expected =
        json!({ "n": 3, "list": [4, " 3"], "text": "B3", "word": "", "yes": true, "3": true });
    let typed = template.clone().typed();
    assert_eq!(typed.eval(&scope, &mut rng), Some(expected.clone()));
    let mut written = String::new();
    typed.write_json(&scope, &mut rng, &mut written).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected);
    let as_text = template.eval(&scope, &mut rng).unwrap();
    assert_eq!(
        (&as_text["n"], &as_text["list"][0]),
        (&json!("3"), &json!("4"))
    );
    let plain = Template::parse(&json!({ "a": ["{{ yes }}", 1, "x {{ yes }}"] })).unwrap();
    assert_eq!(plain.clone().typed(), plain);
}
