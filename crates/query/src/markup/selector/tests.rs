use proptest::prelude::*;
use serde_json::json;

use super::*;

const PAGE: &str = r#"<!doctype html><title>T</title>
    <form id=f><input type=hidden name="csrf" value="t&amp;k"><input name=b value=2 checked></form>
    <ul><li class="a" data-x=1>One<li class="a b" data-x=2>Two<li data-x=3>Three</ul>
    <div><p data-x=p1><span data-x=s1></span><p data-x=p2 lang=en-GB>x</div><a href="/last?x=1">end</a>"#;

fn found(selector: &str) -> Vec<String> {
    let tree = Tree::html(PAGE);
    let found = Selector::parse(selector)
        .unwrap()
        .find(&tree, Some("data-x"));
    found
        .into_iter()
        .map(|value| crate::value::text(value.as_ref()))
        .collect()
}

#[test]
fn elements_are_found() {
    for (selector, wanted) in [
        ("li", vec!["1", "2", "3"]),
        ("li.a", vec!["1", "2"]),
        (".a.b", vec!["2"]),
        ("ul > li:first-child", vec!["1"]),
        ("ul li:last-child", vec!["3"]),
        ("li:nth-child(2)", vec!["2"]),
        ("li:nth-child(odd)", vec!["1", "3"]),
        ("li:nth-child( -n + 2 )", vec!["1", "2"]),
        ("li:nth-last-child(1), p", vec!["3", "p1", "p2"]),
        ("li + li", vec!["2", "3"]),
        ("li.a ~ li", vec!["2", "3"]),
        ("li:not(.a)", vec!["3"]),
        ("li:contains(Two)", vec!["2"]),
        ("li:contains(\"Th\")", vec!["3"]),
        ("li:first", vec!["1"]),
        ("li:last", vec!["3"]),
        ("li:eq(1)", vec!["2"]),
        ("li:eq(-1)", vec!["3"]),
        ("[data-x]:empty", vec!["s1"]),
        ("p[lang|=en]", vec!["p2"]),
        ("p[lang='EN-gb' i]", vec!["p2"]),
        ("div > *", vec!["p1", "p2"]),
        (
            "[data-x^=s], [data-x$='2'], [data-x*=\"p\"]",
            vec!["2", "p1", "s1", "p2"],
        ),
        ("span:only-child", vec!["s1"]),
        ("nothing", vec![]),
    ] {
        assert_eq!(found(selector), wanted, "{selector}");
    }
}

#[test]
fn attributes_are_returned() {
    let tree = Tree::html(PAGE);
    let find =
        |selector: &str, attribute| Selector::parse(selector).unwrap().find(&tree, attribute);
    assert_eq!(
        find("input[name=csrf]", Some("value")),
        [Some(json!("t&k"))]
    );
    assert_eq!(
        find("#f input:checked", None),
        [Some(json!({"name": "b", "value": "2", "checked": ""}))]
    );
    assert_eq!(find("a", Some("none")), [None]);
}

#[test]
fn invalid_selectors_are_rejected_with_position() {
    assert!(Selector::parse(&":not(".repeat(100_000)).is_err());
    for (text, offset) in [
        ("", 0),
        ("li[", 3),
        ("li:nth-child(x)", 13),
        ("li:hover", 2),
        ("li >", 4),
        ("li, ", 4),
        ("a:first b", 8),
        ("[a='b]", 3),
        ("li]", 2),
        ("li:not(:first)", 13),
    ] {
        let error = Selector::parse(text).err().map(|e| e.offset);
        assert_eq!(error, Some(offset), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_handled(selector in "([a-c*#.:>+~, ]|\\[|\\]|=|'|\\(|\\)|[0-9n-]|not|first|nth-child|\\\\|é)*", page in "([<>/='\" a-c]|<ul>|<li|<table>|<td>|</|<p>|é)*") {
        let tree = Tree::html(&page);
        if let Ok(selector) = Selector::parse(&selector) {
            let _ = selector.find(&tree, None);
        }
    }
}
