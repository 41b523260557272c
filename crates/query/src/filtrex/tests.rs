use proptest::proptest;
use serde_json::{Map, Value, json};

use super::*;
use crate::chance::Dealt;

fn figures(text: &str) -> Option<(usize, f64)> {
    let names = [
        ("http.requests", 20.0),
        ("vusers.created_by_name.My scenario (a)", 3.0),
        ("x", 2.0),
    ];
    names
        .into_iter()
        .filter(|(name, _)| text.starts_with(name))
        .max_by_key(|(name, _)| name.len())
        .map(|(name, value)| (name.len(), value))
}

fn variables() -> Map<String, Value> {
    json!({
        "a": 1, "s": "hi", "n": "5", "z": 0, "e": "", "o": {"k": 2, "p": {"q": 3}}, "l": ["5", 2], "t": true,
        "nul": null, "$x": 7, "a.b": 9, "one": "1",
    })
    .as_object()
    .unwrap()
    .clone()
}

fn value(text: &str) -> Value {
    let vars = variables();
    let expression = Filtrex::parse(text, NameSource::Variables).unwrap();
    let mut rng = Dealt(0);
    match expression.root.value(&vars, &mut rng) {
        Operand::Number(n) => {
            crate::value::number(n).map_or_else(|| json!(n.to_string()), Value::Number)
        }
        Operand::Json(value) => value.clone(),
        Operand::Undefined => json!("undefined"),
        Operand::Null => Value::Null,
        Operand::Bool(yes) => json!(yes),
        other => json!(other.text()),
    }
}

#[test]
fn values_match_filtrex() {
    // The expected values were produced by filtrex 2.2.3 in Node.js.
    for (text, wanted) in [
        ("a", json!(1)),
        ("a == \"1\"", json!(1)),
        ("n == 5", json!(1)),
        ("n > 4", json!(1)),
        ("s == \"hi\"", json!(1)),
        ("s ~= \"^h\"", json!(1)),
        ("s + 1", json!("hi1")),
        ("n + 1", json!("51")),
        ("not a", json!(0)),
        ("not e", json!(1)),
        ("t", json!(true)),
        ("t == true", json!(0)),
        ("missing", json!("undefined")),
        ("missing == 1", json!(0)),
        ("not missing", json!(1)),
        ("missing > 1", json!(0)),
        ("k of o", json!(2)),
        ("q of p of o", json!(3)),
        ("k of o + 1", json!(3)),
        ("k of missing", json!("undefined")),
        ("a in (1,2)", json!(1)),
        ("n in (5)", json!(0)),
        ("a in (\"1\")", json!(0)),
        ("n in l", json!(1)),
        ("5 in l", json!(0)),
        ("s not in (\"hi\")", json!(0)),
        ("s in \"hi there\"", json!(0)),
        ("a ? 5 : 6", json!(5)),
        ("a<1?2:3", json!(3)),
        ("1 ? 2 ? 3 : 4 : 5", json!(3)),
        ("z or s", json!("NaN")),
        ("a or 0 and 0", json!(1)),
        ("\"\" or 0", json!(0)),
        ("1 < 2 < 3", json!(1)),
        ("1 < 2 == 1", json!(1)),
        ("not a == 2", json!(0)),
        ("not 1 in (2)", json!(0)),
        ("-2 ^ 2", json!(4)),
        ("2 ^ 3 ^ 2", json!(64)),
        ("-7 % 4", json!(-3)),
        ("2%3*2", json!(4)),
        ("8/4/2", json!(1)),
        ("a+-1", json!(0)),
        ("- - a", json!(1)),
        ("'a.b'", json!(9)),
        ("a.b", json!(9)),
        ("o.k", json!("undefined")),
        ("$x", json!(7)),
        ("'s'", json!("hi")),
        ("o == \"[object Object]\"", json!(1)),
        ("l == \"5,2\"", json!(1)),
        ("s * 2", json!("NaN")),
        ("one * 2", json!(2)),
        ("\"x\" + \"y\"", json!("xy")),
        ("\"it's\"", json!("it's")),
        ("s == \"\\\"\"", json!(0)),
        ("s < \"i\"", json!(1)),
        ("a > s", json!(0)),
        ("nul == 1", json!(0)),
        ("abs(\"-4\")", json!(4)),
        ("round(2.5)", json!(3)),
        ("round(-2.5)", json!(-2)),
        ("max(\"a\", 1)", json!("NaN")),
        ("random() < 2", json!(1)),
        ("a\t==\n1", json!(1)),
    ] {
        assert_eq!(value(text), wanted, "{text}");
    }
}

#[test]
fn invalid_expressions_are_rejected_with_position() {
    for (text, offset) in [
        ("a === 1", 4),
        ("a && 1", 2),
        ("exists(a)", 0),
        ("1e3", 1),
        ("s = \"hi\"", 2),
        ("a, s", 1),
        ("!a", 0),
        ("été", 0),
        ("5 mod 3", 2),
        ("\"a", 0),
        ("(a", 2),
        ("", 0),
        ("a ?", 3),
    ] {
        let error = Filtrex::parse(text, NameSource::Variables).map_err(|e| e.offset);
        assert_eq!(error.err(), Some(offset), "{text}");
    }
    assert!(Filtrex::parse(&"(".repeat(500), NameSource::Variables).is_err());
    assert!(Filtrex::parse(&"-".repeat(500), NameSource::Variables).is_err());
    for more in ["+1", " or 1", " == 1", " in (1)"] {
        let chain = |times: usize| format!("1{}", more.repeat(times));
        assert!(Filtrex::parse(&chain(100_000), NameSource::Variables).is_err());
        let longest = Filtrex::parse(&chain(250), NameSource::Variables).unwrap();
        assert!(longest.is_true(&Map::new(), &mut Dealt(0)));
    }
}

#[test]
fn metrics_may_have_any_name() {
    for (text, wanted) in [
        ("http.requests >= 10", Ok(true)),
        ("http.requests > 20 or x == 2", Ok(true)),
        ("http.requests > 20 and x == 2", Ok(false)),
        ("vusers.created_by_name.My scenario (a) == 3", Ok(true)),
        ("max(1, x, 3) == 3", Ok(true)),
        ("http.nothing > 1", Ok(false)),
        ("http.nothing < 1", Ok(false)),
        ("http.nothing == 0", Ok(false)),
        ("http.nothing != 0", Ok(true)),
        ("http.nothing == http.none", Ok(true)),
        ("http.nothing in (1, 2)", Ok(false)),
        ("http.nothing not in (1, 2)", Ok(true)),
        ("http.nothing ? 0 : 1", Ok(true)),
        ("max(http.nothing, 1) == 1", Ok(false)),
        ("http.nothing", Ok(false)),
        ("not http.nothing", Ok(true)),
        ("not (http.nothing > 0)", Ok(true)),
        ("http.nothing > 0 or x == 2", Ok(true)),
        ("x == 2 or http.nothing > 0", Ok(true)),
        ("x == 2 and http.nothing > 0", Ok(false)),
        ("x == 2 and not (http.nothing > 0)", Ok(true)),
        ("x == 2 or missing(1)", Ok(true)),
        ("missing(1)", Ok(false)),
        ("not missing(1)", Ok(false)),
        ("x", Ok(false)),
        ("x - 1", Ok(true)),
        ("x or 0", Ok(false)),
        ("x and 1", Ok(true)),
        ("2", Ok(false)),
        ("true", Ok(false)),
        ("x >", Err(3)),
        ("x 1", Err(2)),
    ] {
        assert_eq!(
            holds(text, &figures).map_err(|e| e.offset),
            wanted,
            "{text}"
        );
    }
}

#[test]
fn variables_are_listed() {
    let expression =
        Filtrex::parse("a > 1 and k of o in (b, 'c d')", NameSource::Variables).unwrap();
    assert_eq!(expression.variables(), ["a", "o", "b", "c d"]);
}

proptest! {
    #[test]
    fn any_text_is_handled(text in "(x|a|s|http.requests|and|or|not|in|of|max|\"[a-z]\"|[0-9.]|[-+*/%^<>=!?:(), ])*|\\PC*") {
        let _ = holds(&text, &figures);
        if let Ok(expression) = Filtrex::parse(&text, NameSource::Variables) {
            expression.is_true(&variables(), &mut Dealt(0));
        }
    }
}

#[test]
fn logical_operators_accept_texts_in_plans() {
    let scope: Map<String, Value> =
        serde_json::from_str(r#"{ "n": 2, "url": "http://x", "none": "" }"#).unwrap();
    let holds = |text: &str| {
        let expression = Filtrex::parse(text, NameSource::Variables).unwrap();
        expression.holds(&scope, &mut Middle)
    };
    for (text, expected) in [
        ("n == 2 and url", true),
        ("n == 2 and none", false),
        ("none or url", true),
        ("(none or missing) or n > 3", false),
        ("not (n == 2 and url)", false),
        ("not missing", true),
        ("n", true),
    ] {
        assert_eq!(holds(text), expected, "{text}");
    }
}
