use plan::{FirstArrival, Format, Load, Plan};
use serde_json::json;

use super::*;

fn plan(secrets: &[&str]) -> Plan {
    let load = Load::Open {
        phases: Vec::new(),
        first: FirstArrival::AtStart,
    };
    let target = "http://user:in-the-url@host.test".into();
    let mut plan = Plan::new(String::new(), Format::NATIVE, target, load, Vec::new());
    plan.payloads = vec![plan::Payload {
        source: "users.csv".into(),
        fields: vec!["name".into(), "password".into()],
        rows: vec![vec![json!("ada"), json!("lovelace-1815")]].into(),
        order: plan::RowOrder::Random,
        all_as: None,
    }];
    plan.secrets = secrets.iter().map(|secret| (*secret).to_owned()).collect();
    plan
}

fn redactor() -> Redactor {
    salted(Salt::default())
}

fn salted(salt: Salt) -> Redactor {
    let plan = plan(&["s3cr3t value/+", "abc123abc123"]);
    Redactor::new(&plan, &["pin".into()], salt)
}

#[test]
fn known_values_in_every_form() {
    let redactor = redactor();
    for text in [
        "x s3cr3t value/+ y",
        "?q=s3cr3t%20value%2F%2B",
        "?q=s3cr3t+value%2f%2b",
        "lovelace-1815",
        "in-the-url",
        "YWJjMTIzYWJjMTIz",
        "dXNlcjphYmMxMjNhYmMxMjM=",
    ] {
        let rendered = redactor.text(text);
        assert!(rendered.contains("‹redacted:"), "{text}: {rendered}");
        assert!(
            !rendered.contains("YWJjMTIzYWJj") && !rendered.contains("NhYmMxMjM"),
            "{rendered}"
        );
    }
    assert_eq!(redactor.text("nothing to hide"), "nothing to hide");
}

#[test]
fn marks_are_equal_within_a_run_only() {
    let (one, other) = (salted(Salt::new([1; 16])), salted(Salt::new([2; 16])));
    let mark = one.text("abc123abc123");
    assert_eq!(one.text("x abc123abc123"), format!("x {mark}"));
    assert_eq!(one.text("pin=abc123abc123"), format!("pin={mark}"));
    let mut learning = Redactor::new(&plan(&[]), &[], Salt::new([1; 16]));
    learning.learn("abc123abc123");
    assert_eq!(learning.text("abc123abc123"), mark);
    assert_ne!(other.text("abc123abc123"), mark);
    assert_ne!(mark, "‹redacted:943efe›");
    assert_eq!(format!("{:?}", Salt::new([1; 16])), "Salt");
}

#[test]
fn what_is_learned_is_hidden_in_every_form_however_much_it_is() {
    let mut redactor = Redactor::new(&plan(&[]), &[], Salt::default());
    for i in 0..300 {
        redactor.learn(&format!("learned/{i:03}"));
    }
    for text in [
        "/x/learned/000",
        "/x?a=learned%2F001",
        "/x/learned/299",
        "?b=learned%2f298",
    ] {
        let rendered = redactor.text(text);
        assert!(!rendered.contains("learned"), "{text}: {rendered}");
    }
    assert_eq!(redactor.text("learned"), "learned");
}

#[test]
fn names_in_free_text() {
    let redactor = redactor();
    for (text, rendered) in [
        ("GET /a?token=xyz&b=1", "GET /a?token=#&b=1"),
        (
            "GET /a?token={{ token }}&b=1",
            "GET /a?token={{ token }}&b=1",
        ),
        ("Authorization: Bearer xyz", "Authorization: Bearer #"),
        (
            "authorization: Basic eHl6\r\nAccept: */*",
            "authorization: Basic #\r\nAccept: */*",
        ),
        ("Cookie: a=1; b=2\nX: y", "Cookie: #\nX: y"),
        (
            "{\"password\": \"x\\\"y\", \"n\": 1}",
            "{\"password\": \"#\", \"n\": 1}",
        ),
        ("{\\\"apiKey\\\":\\\"xyz\\\"}", "{\\\"apiKey\\\":\\\"#\\\"}"),
        ("{'pin': '1234'}", "{'pin': '#'}"),
        ("unknown key: foo", "unknown key: foo"),
        ("api-key.yml: 2 requests", "api-key.yml: 2 requests"),
        (
            "plans/api-key.yml:5:9: no step",
            "plans/api-key.yml:5:9: no step",
        ),
        ("http://u:pw@h.test/x", "http://u:#@h.test/x"),
        ("http://h.test:80/x?a=b@c", "http://h.test:80/x?a=b@c"),
        ("x-api-key: xyz", "x-api-key: #"),
        ("sent Bearer xyz.abc", "sent Bearer #"),
        ("< jwt: xyz\n< author: ada", "< jwt: #\n< author: ada"),
        ("< Pin: 1234\nPin: a word", "< Pin: #\nPin: a word"),
        ("/a?sig=xyz&design=b", "/a?sig=#&design=b"),
        (
            "{\"tokens\": [\"x\", \"y\"], \"n\": 1}",
            "{\"tokens\": #, \"n\": 1}",
        ),
        ("{\"session\":{\"id\":\"x\"}}", "{\"session\":#}"),
    ] {
        let actual = redactor.text(text);
        let mut plain = String::new();
        let mut rest = actual.as_str();
        while let Some((before, after)) = rest.split_once("‹redacted:") {
            plain.push_str(before);
            plain.push('#');
            rest = &after[6 + '›'.len_utf8()..];
        }
        plain.push_str(rest);
        assert_eq!(plain, rendered, "{text}: {actual}");
    }
}

#[test]
fn command_lines() {
    let arguments = [
        "loadline",
        "run",
        "--token",
        "xyz",
        "--token=xyz",
        "--secret",
        "pin",
        "--rate",
        "10/s",
    ]
    .map(str::to_owned);
    let rendered = redactor().command(&arguments).join(" ");
    assert!(!rendered.contains("xyz"), "{rendered}");
    assert!(rendered.ends_with("--secret pin --rate 10/s"), "{rendered}");
}

#[test]
fn plans_keep_their_templates() {
    let tree = json!({
        "headers": [["Authorization", {"literal": "Bearer xyz"}], ["X-Token", {"variable": ["token"]}], ["Accept", {"literal": "a/b"}]],
        "basic_auth": [{"literal": "ada"}, {"literal": "pw"}],
        "body": {"json": {"map": [[{"literal": "password"}, {"literal": "xyz"}]]}},
        "cookies": [["session", {"literal": "xyz"}]],
        "variables": [["api_key", {"constant": 12345}]],
        "http": {"cookie_jar": true},
    });
    let rendered = redactor().json(&tree);
    let text = rendered.to_string();
    assert!(
        !text.contains("xyz") && !text.contains("12345") && !text.contains("\"pw\""),
        "{text}"
    );
    assert_eq!(rendered["headers"][1], tree["headers"][1]);
    assert_eq!(rendered["headers"][2], tree["headers"][2]);
    assert_eq!(rendered["basic_auth"][0], tree["basic_auth"][0]);
    assert_eq!(
        (&rendered["cookies"][0][0], &rendered["http"]),
        (&tree["cookies"][0][0], &tree["http"])
    );
    assert!(text.contains("Bearer ‹redacted:"));
}
