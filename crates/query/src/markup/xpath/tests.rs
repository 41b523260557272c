use proptest::prelude::*;

use super::*;

const BOOKS: &str = r#"<?xml version="1.0"?><!DOCTYPE shop>
<shop xmlns:x="urn:x" id="s1"><!-- open -->
  <book lang="en" price="10"><title>A  tale</title><x:note>n1</x:note></book>
  <book lang="de" price="20.5"><title>Märchen</title></book>
  <book lang="en" price="5"><title>Third</title><empty/></book>
</shop>"#;

fn find(expression: &str) -> XPathResult {
    let tree = Tree::xml(BOOKS).unwrap();
    XPath::parse(expression).unwrap().find(&tree)
}

fn nodes(texts: &[&str]) -> XPathResult {
    XPathResult::Nodes(texts.iter().map(|text| (*text).to_owned()).collect())
}

#[test]
fn values_are_evaluated() {
    for (expression, wanted) in [
        ("/shop/book/title", nodes(&["A  tale", "Märchen", "Third"])),
        ("//title", nodes(&["A  tale", "Märchen", "Third"])),
        (
            "//book[@lang='en']/title/text()",
            nodes(&["A  tale", "Third"]),
        ),
        ("//book[2]/@price", nodes(&["20.5"])),
        ("//book[last()]/title", nodes(&["Third"])),
        ("//book[position() < 3]/@lang", nodes(&["en", "de"])),
        (
            "//book[@price > 8 and not(@lang = 'de')]/title",
            nodes(&["A  tale"]),
        ),
        ("(//title)[2]", nodes(&["Märchen"])),
        ("//title[. = 'Third']/../@price", nodes(&["5"])),
        ("//x:note", nodes(&["n1"])),
        ("//x:*", nodes(&["n1"])),
        ("//*[local-name() = 'note']", nodes(&["n1"])),
        ("//book[x:note]/@lang", nodes(&["en"])),
        ("//book[1]/following-sibling::book[1]/@lang", nodes(&["de"])),
        ("//book[3]/preceding-sibling::book[1]/@lang", nodes(&["de"])),
        ("//x:note/ancestor::*/@id", nodes(&["s1"])),
        ("//title[1]/following::empty", nodes(&[""])),
        ("//empty/preceding::title[1]", nodes(&["Third"])),
        ("//comment()", nodes(&[" open "])),
        ("//book/@lang | /shop/@id", nodes(&["s1", "en", "de", "en"])),
        ("/shop/book[1]/child::node()[2]", nodes(&["n1"])),
        ("//nothing", nodes(&[])),
        ("count(//book)", XPathResult::Number(3.0)),
        ("sum(//@price)", XPathResult::Number(35.5)),
        ("sum(//@price) div 2 - -1", XPathResult::Number(18.75)),
        ("7 mod 4 * 2", XPathResult::Number(6.0)),
        ("string(//book/@lang)", XPathResult::Text("en".into())),
        (
            "normalize-space(//title)",
            XPathResult::Text("A tale".into()),
        ),
        (
            "concat(name(/*), '-', string-length((//title)[2]))",
            XPathResult::Text("shop-7".into()),
        ),
        (
            "substring-after('a=b=c', '=')",
            XPathResult::Text("b=c".into()),
        ),
        (
            "substring('12345', 1.5, 2.6)",
            XPathResult::Text("234".into()),
        ),
        ("substring('12345', 0)", XPathResult::Text("12345".into())),
        (
            "translate('bar', 'abc', 'AB')",
            XPathResult::Text("BAr".into()),
        ),
        (
            "boolean(//empty) and contains('abc', 'b')",
            XPathResult::Bool(true),
        ),
        ("//@price = 5 or false()", XPathResult::Bool(true)),
        ("//@price != 5", XPathResult::Bool(true)),
        ("starts-with(//title, 'B')", XPathResult::Bool(false)),
        (
            "floor(2.5) + ceiling(2.1) + round(2.5)",
            XPathResult::Number(8.0),
        ),
    ] {
        assert_eq!(find(expression), wanted, "{expression}");
    }
}

#[test]
fn html_is_supported() {
    let tree = Tree::html("<ul><li>a<li>b</ul>");
    let expression = XPath::parse("//li[2]").unwrap();
    assert_eq!(expression.find(&tree), nodes(&["b"]));
}

#[test]
fn nested_conditions_are_bounded() {
    let tree = Tree::xml("<a><i/><i/><i/><i/></a>").unwrap();
    let nested = format!("{}1{}", "//i[".repeat(28), "]".repeat(28));
    let Ok(expression) = XPath::parse(&nested) else {
        return;
    };
    assert_eq!(expression.find(&tree), nodes(&[]));
}

#[test]
fn invalid_expressions_are_rejected_with_position() {
    for (text, offset) in [
        ("", 0),
        ("//", 2),
        ("//book[", 7),
        ("//book[1", 8),
        ("nope(1)", 0),
        ("count()", 0),
        ("'a", 0),
        ("$x", 0),
        ("up::a", 0),
        ("a b", 2),
        ("1 +", 3),
    ] {
        assert_eq!(
            XPath::parse(text).err().map(|e| e.offset),
            Some(offset),
            "{text}"
        );
    }
    assert!(XPath::parse(&"(".repeat(500)).is_err());
    let chain = |times: usize| format!("1{}", "+1".repeat(times));
    assert!(XPath::parse(&chain(100_000)).is_err());
    let sum = XPath::parse(&chain(250)).unwrap();
    let tree = Tree::xml("<a/>").unwrap();
    assert_eq!(sum.find(&tree), XPathResult::Number(251.0));
    assert!(Tree::xml("<a><b></a>").is_err());
}

proptest! {
    #[test]
    fn any_text_is_handled(expression in "(//|/|[a-b]|@|\\*|\\[|\\]|\\(|\\)|[0-9.]|[-+=<|,']| and | or | div |count|last\\(\\)|::|text\\(\\)|é)*", document in "(<a>|</a>|<b x='1'>|</b>|<b/>|t|é)*") {
        if let (Ok(expression), Ok(tree)) = (XPath::parse(&expression), Tree::xml(&document)) {
            let _ = expression.find(&tree);
        }
    }
}
