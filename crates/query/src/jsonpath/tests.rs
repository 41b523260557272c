use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::chance::Dealt;

fn document() -> Value {
    json!({
        "id": 7, "name": "n",
        "list": [
            {"id": 1, "p": 5, "t": "a"}, {"id": 2, "p": 10, "t": "b", "tags": ["x", "y"]}, {"id": 3, "p": 15, "t": "a"},
        ],
        "nest": {"a": {"id": 10}, "b": {"id": 20, "deep": [{"id": 30}]}, "k-y": 1, "d.t": 2},
        "empty": [], "zero": 0, "nul": null, "s": "text", "@type": "T",
    })
}

fn find(path: &str) -> Value {
    let path = JsonPath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    path.find(&document())
        .into_iter()
        .map(Cow::into_owned)
        .collect()
}

/// Test vectors: the path, the results of jsonpath-plus 10.4, and the result with `wrap: false`
/// (null if there is none).
const ORIGINAL: &str = include_str!("vectors.json");

#[test]
fn results_match_jsonpath_plus() {
    let vectors: Value = serde_json::from_str(ORIGINAL).unwrap();
    let document = document();
    for vector in vectors.as_array().unwrap() {
        let path = vector[0].as_str().unwrap();
        assert_eq!(find(path), vector[1], "{path}");
        let raw = JsonPath::parse(path)
            .unwrap()
            .extract(&document, false, &mut Dealt(1));
        assert_eq!(raw.unwrap_or(Value::Null), vector[2], "{path} without wrap");
    }
}

#[test]
fn missing_properties_do_not_fail_the_query() {
    assert_eq!(find("$.nest['a', 'b'].id"), json!([10, 20]));
    assert_eq!(find("$.list[ 0 , 1 ].id"), json!([1, 2]));
    assert_eq!(find("$['@type']"), json!(["T"]));
    assert_eq!(find("$..[?(@.p==10)].id"), json!([2]));
    assert_eq!(find("$.list[?(@.tags[0]=='x')].id"), json!([2]));
    assert_eq!(find("$.list[?(@['t'] == \"b\")].id"), json!([2]));
    assert_eq!(find("$.list[?(@.tags.length == 2)].id"), json!([2]));
    assert_eq!(find("$.empty[?(@>3)]"), json!([]));
}

#[test]
fn capture_picks_one_result() {
    let path = JsonPath::parse("$.list[*].id").unwrap();
    let mut rng = Dealt(1);
    let picked: std::collections::BTreeSet<i64> = (0..200)
        .filter_map(|_| path.extract(&document(), true, &mut rng)?.as_i64())
        .collect();
    assert_eq!(picked.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
    let extract = |path: &str, document: Value, pick| {
        JsonPath::parse(path)
            .unwrap()
            .extract(&document, pick, &mut rng.clone())
    };
    assert_eq!(extract("$.a", json!({"a": null}), true), Some(Value::Null));
    assert_eq!(extract("$.b", json!({"a": null}), true), None);
    assert_eq!(extract("$", json!("text"), true), None);
    assert_eq!(
        extract("$.a", json!({"a": [1, 2]}), true),
        Some(json!([1, 2]))
    );
    assert_eq!(
        extract("$.a[*]", json!({"a": [1, 2]}), false),
        Some(json!([1, 2]))
    );
}

#[test]
fn errors_have_positions() {
    for (path, offset, part) in [
        ("", 0, "empty"),
        ("$.", 2, "name is missing"),
        ("$.a[", 4, "index, a name or *"),
        ("$.a[0", 5, "not closed"),
        ("$.a['x", 5, "quote"),
        ("$a", 1, "`a` is not expected"),
        ("$...a", 3, "three dots"),
        ("$.a[?(@.x)", 10, "not closed"),
        ("$.a[?(x == 1)]", 6, "`x` is unknown"),
        ("$.a[?(@.x == )]", 13, "`)` is not expected"),
        ("$.a[?(@.x.match(/y/))]", 15, "calls are not supported"),
        ("$.a[?(@.x =~ 'y')]", 10, "=~"),
        ("$.a[?(@foo)]", 6, "@foo is unknown"),
        ("$.a[?@.x]", 5, "parentheses"),
        ("$..", 3, "must be followed by a name"),
        ("$.a.@number()", 4, "type selector"),
        ("$.a[0]b", 6, "`b` is not expected"),
    ] {
        let error = JsonPath::parse(path).expect_err(path);
        assert_eq!(error.offset, offset, "{path}: {error}");
        assert!(error.message.contains(part), "{path}: {error}");
    }
}

#[test]
fn depth_and_work_are_bounded() {
    let deep = "$.a[?(".to_owned() + &"(".repeat(10_000) + "1";
    assert!(JsonPath::parse(&deep).is_err());
    assert!(JsonPath::parse(&("$.a[?(".to_owned() + &"!".repeat(10_000) + "1)]")).is_err());
    assert!(JsonPath::parse(&("$.a[?(1".to_owned() + &"+1".repeat(10_000) + ")]")).is_err());
    let mut tower = json!(1);
    for _ in 0..2_000 {
        tower = Value::Array(vec![tower]);
    }
    assert!(!JsonPath::parse("$..*").unwrap().find(&tower).is_empty());
    let tree = (0..12).fold(json!(1), |below, _| json!([below, below]));
    assert!(JsonPath::parse("$..*").unwrap().find(&tree).len() > 4_000);
    assert_eq!(
        JsonPath::parse(&format!("${}", "..*".repeat(8)))
            .unwrap()
            .find(&tree),
        Vec::<JsonMatch>::new()
    );
    std::mem::forget(tower);
}

proptest! {
    #[test]
    fn any_path_is_handled(text in r#"\$?[a-cdilnst0-9.*\[\]()?@:,'"=<>!&|^~ +-]{0,30}"#) {
        if let Ok(path) = JsonPath::parse(&text) {
            let _ = path.find(&document());
        }
    }

    #[test]
    fn plain_properties_are_found(name in "[a-zA-Z][a-zA-Z0-9_ -]{0,10}[a-z]", n in any::<i64>()) {
        let document = json!({ name.clone(): n });
        for path in [format!("$.{name}"), name.clone(), format!("$['{name}']"), format!("$[\"{name}\"]"), format!("$..{name}")] {
            let parsed = JsonPath::parse(&path).unwrap();
            prop_assert_eq!(parsed.find(&document), vec![Cow::Owned::<Value>(json!(n))]);
        }
    }
}
