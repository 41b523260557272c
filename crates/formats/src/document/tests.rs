use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(text: &str, dialect: Dialect) -> Result<Value, String> {
    match parse(0, text, dialect) {
        Ok(document) => Ok(document.root.map_or(Value::Null, |node| node.to_value())),
        Err(error) => Err(format!(
            "{}:{}: {}",
            error.mark.line, error.mark.column, error.message
        )),
    }
}

#[test]
fn plain_scalars_match_js_yaml() {
    let pairs: Value = serde_json::from_str(
        r#"[        ["0", 0], ["-0", 0], ["+5", 5], ["007", 7], ["010", 8], ["08", "08"], ["0_1", 1], ["0b101", 5], ["0b", "0b"],
        ["0x1F", 31], ["0x", "0x"], ["-0x1f", -31], ["1_000", 1000], ["_1", "_1"], ["1_", "1_"], ["1:30", 90],
        ["1:30:15", 5415], ["-1:30", -90], ["1:60", "1:60"], ["0:30", "0:30"], ["1:30.5", 90.5], ["1:5.25", 65.25],
        ["1.5", 1.5], ["1.", 1], [".5", 0.5], ["-.5", "-.5"], ["+.5", "+.5"], ["1e3", 1000], ["1E-2", 0.01],
        ["1.5e+3", 1500], ["1e", "1e"], ["e3", "e3"], ["1.2.3", "1.2.3"], ["12ab", "12ab"], ["0.1_5", 0.15], ["._", "._"],
        ["._5", 0.5], ["1_0.5", 10.5], ["1__0", 10], ["yes", "yes"], ["on", "on"], ["True", true], ["TRUE", true],
        ["tRUE", "tRUE"], ["~", null], ["Null", null], ["nULL", "nULL"], ["0o17", "0o17"],
        ["123456789012345678901234567890", 1.2345678901234568e29], ["+", "+"], ["0.", 0], ["00", 0], ["0e1", 0],
        ["1:2:3.", 3723], ["12:5", 725], ["1:5_", "1:5_"], ["1,000", "1,000"], ["10%", "10%"], ["0b12", "0b12"],
        ["0xg", "0xg"], ["1.5_", "1.5_"]]"#,
    )
    .unwrap();
    for pair in pairs.as_array().unwrap() {
        let text = format!("- {}", pair[0].as_str().unwrap());
        let mut expected = json!([pair[1]]);
        query::value::normalise(&mut expected);
        assert_eq!(read(&text, Dialect::JsYaml), Ok(expected), "{text}");
    }
    assert!(read("- 1e400", Dialect::JsYaml).is_err());
    assert!(read("- .inf", Dialect::JsYaml).is_err());
}

#[test]
fn plain_scalars_match_core_schema() {
    let pairs: Value = serde_json::from_str(
        r#"[        ["010", 10], ["0o10", 8], ["0x1F", 31], ["1:30", "1:30"], ["1_000", "1_000"], ["0b1", "0b1"], ["-.5", -0.5], ["+5", 5],
        ["1e3", 1000], ["-1", -1], ["1.5", 1.5], ["200/s", "200/s"], ["-", [null]], ["--1", "--1"], ["+-1", "+-1"],
        [".", "."], ["e", "e"], ["1.2.3", "1.2.3"]]"#,
    )
    .unwrap();
    for pair in pairs.as_array().unwrap() {
        let text = format!("- {}", pair[0].as_str().unwrap());
        assert_eq!(read(&text, Dialect::Core), Ok(json!([pair[1]])), "{text}");
    }
}

#[test]
fn anchors_merges_and_quotes_are_resolved() {
    let text = "a: &x {k: 1, l: '2'}\nb: *x\nc: {l: 3, <<: *x, k: 4}\nd: {<<: [{p: 1}, {p: 2, q: 3}]}\ne: !!str 5\n'f': \"\\u00e9\"\n";
    let expected = json!({
        "a": {"k": 1, "l": "2"}, "b": {"k": 1, "l": "2"}, "c": {"l": 3, "k": 4}, "d": {"p": 1, "q": 3}, "e": "5", "f": "é",
    });
    assert_eq!(read(text, Dialect::JsYaml), Ok(expected));
    assert_eq!(read("", Dialect::JsYaml), Ok(Value::Null));
    assert_eq!(read("\u{feff}a: 1", Dialect::JsYaml), Ok(json!({"a": 1})));
    assert_eq!(
        read(r#"{"a": [1, "x\/y", null], "b": {}}"#, Dialect::JsYaml),
        Ok(json!({"a": [1, "x/y", null], "b": {}}))
    );
}

#[test]
fn errors_have_positions() {
    for (text, expected) in [
        (
            "a: 1\nb: 2\na: 3",
            "3:1: `a` is defined twice (first on line 1): remove one",
        ),
        (
            "a: 1\n---\nb: 2",
            "2:1: a second document starts here: a test file may have only one",
        ),
        (
            "a: &x\n  - *x",
            "2:5: this alias is inside the value it refers to",
        ),
        ("? [1]\n: 2", "1:3: a key must be text, not a list"),
        (
            "a: {<<: 5}",
            "1:5: `<<` merges a mapping or a list of them, not a number",
        ),
        ("a: !!int x", "1:4: `x` is not a !!int"),
    ] {
        assert_eq!(read(text, Dialect::JsYaml), Err(expected.into()), "{text}");
    }
    assert!(
        read("a: [1, 2", Dialect::JsYaml)
            .unwrap_err()
            .contains("this is not valid YAML")
    );
    assert!(
        read("a: *nowhere", Dialect::JsYaml)
            .unwrap_err()
            .starts_with("1:4: this is not valid YAML")
    );
}

#[test]
fn positions_count_from_one() {
    let root = parse(0, "a:\n  - 'x y'\n  - z:\nb: é {{ q }}\n", Dialect::JsYaml)
        .unwrap()
        .root
        .unwrap();
    let place = |mark: Mark| (mark.line, mark.column);
    let list = root.get("a").unwrap().as_list().unwrap();
    assert_eq!(
        (place(list[0].mark), place(list[0].mark_at(2))),
        ((2, 5), (2, 8))
    );
    assert_eq!(place(list[1].get("z").unwrap().mark), (3, 5));
    assert_eq!(place(root.get("b").unwrap().mark_at("é {{ ".len())), (4, 9));
    assert_eq!(place(root.entry("b").unwrap().key_mark), (4, 1));
}

#[test]
fn bombs_and_deep_nesting_are_rejected() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let alias = format!("*a{}", i - 1);
        bomb.push_str(&format!(
            "a{i}: &a{i} [{}]\n",
            [alias.as_str(); 10].join(", ")
        ));
    }
    assert!(
        read(&bomb, Dialect::JsYaml)
            .unwrap_err()
            .contains("too large")
    );
    assert!(
        read(&"[".repeat(100), Dialect::JsYaml)
            .unwrap_err()
            .contains("nested more than 64 levels deep")
    );
    assert!(
        read(&"- ".repeat(100_000), Dialect::JsYaml)
            .unwrap_err()
            .contains("nested more than 64 levels deep")
    );
    assert!(read(&"? ".repeat(5_000), Dialect::JsYaml).is_err());
}

#[test]
fn dates_are_reported_and_stay_text() {
    let document = parse(
        0,
        "- 2024-01-01\n- '2024-01-01'\n- 2024-01-01T10:00:00Z\n- 2024-1\n- 127.0.0.1:80",
        Dialect::JsYaml,
    )
    .unwrap();
    assert_eq!(
        document
            .dates
            .iter()
            .map(|(mark, _)| mark.line)
            .collect::<Vec<_>>(),
        [1, 3]
    );
    assert_eq!(document.root.unwrap().to_value()[0], json!("2024-01-01"));
}

proptest! {
    #[test]
    fn any_text_is_handled(text in r#"[a-c0-9\[\]{}:,&*!|>'"?#%@` \n\t<~._-]{0,60}"#) {
        let _ = read(&text, Dialect::JsYaml);
        let _ = read(&text, Dialect::Core);
    }

    #[test]
    fn json_is_parsed_as_yaml(text in "[ -~é]{0,10}", n in any::<i32>(), f in -1e9..1e9f64) {
        let mut value = json!({"text": text, "list": [n, f, true, null, {}], "map": {"inner": []}});
        query::value::normalise(&mut value);
        prop_assert_eq!(read(&value.to_string(), Dialect::JsYaml), Ok(value.clone()));
        prop_assert_eq!(read(&serde_json::to_string_pretty(&value).unwrap(), Dialect::Core), Ok(value));
    }
}
