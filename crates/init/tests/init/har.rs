use plan::{
    Step,
    scenario::{CaptureSource, RequestBody, ThinkTime},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{golden, no_file, read, refusal, requests, text};

fn recorded(har: &Value) -> Result<init::Draft, formats::LoadErrors> {
    init::from_text(
        "shop.har",
        &serde_json::to_string_pretty(har).unwrap(),
        &no_file,
    )
}

fn entry(at: u64, method: &str, url: &str, status: u16, answer: &Value) -> Value {
    let (mime, text) = match answer {
        Value::String(html) => ("text/html", html.clone()),
        json => ("application/json; charset=utf-8", json.to_string()),
    };
    json!({
        "startedDateTime": format!("2026-05-04T10:{:02}:{:02}.{:03}Z", at / 60_000, at / 1000 % 60, at % 1000),
        "time": 100, "pageref": "page_1",
        "request": {"method": method, "url": url, "headers": [{"name": "accept", "value": "*/*"}, {"name": "sec-fetch-mode", "value": "cors"}], "cookies": []},
        "response": {"status": status, "headers": [], "cookies": [], "content": {"mimeType": mime, "text": text}, "redirectURL": ""},
    })
}

fn with(mut entry: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    entry.pointer_mut(parent).unwrap()[key] = value;
    entry
}

fn posted(entry: Value, body: &Value) -> Value {
    let entry = with(
        entry,
        "/request/postData",
        json!({"mimeType": "application/json", "text": body.to_string()}),
    );
    with(
        entry,
        "/request/headers",
        json!([{"name": "Content-Type", "value": "application/json"}]),
    )
}

fn har(entries: Vec<Value>) -> Value {
    json!({"log": {"version": "1.2", "pages": [{"id": "page_1", "title": "https://shop.example/?session=s3cret"}], "entries": entries}})
}

fn shop() -> Value {
    let shop = "https://shop.example";
    let login = posted(
        entry(
            3_000,
            "POST",
            "https://api.shop.example/login",
            200,
            &json!({"access_token": "eyJh.bGci.Oi7", "user": {"id": 48_213}}),
        ),
        &json!({"name": "ann", "password": "s3cret"}),
    );
    let cart = posted(
        entry(
            3_150,
            "POST",
            &format!("{shop}/api/carts"),
            201,
            &json!({"id": "c-77ab01", "items": [{"sku": "B7-1200", "line": "11-99-a0"}]}),
        ),
        &json!({"user": 48_213}),
    );
    let bearer = json!([{"name": "Authorization", "value": "Bearer eyJh.bGci.Oi7"}, {"name": "Content-Type", "value": "application/json"}]);
    let bought = posted(
        entry(
            9_250,
            "POST",
            &format!("{shop}/api/carts/c-77ab01/order?line=11-99-a0"),
            201,
            &json!({}),
        ),
        &json!({"cart": "carts/c-77ab01", "n": 1}),
    );
    har(vec![
        with(
            entry(0, "GET", &format!("{shop}/"), 200, &json!("<html>")),
            "/response/cookies",
            json!([{"name": "visit", "value": "v1"}]),
        ),
        with(
            entry(100, "GET", &format!("{shop}/logo.png"), 200, &json!("")),
            "/response/content/mimeType",
            json!("image/png"),
        ),
        entry(
            110,
            "GET",
            "https://stats.example/collect?id=1",
            200,
            &json!({}),
        ),
        entry(
            120,
            "OPTIONS",
            "https://api.shop.example/login",
            204,
            &json!({}),
        ),
        login,
        with(cart, "/request/headers", bearer.clone()),
        with(
            with(bought, "/request/headers", bearer),
            "/request/cookies",
            json!([{"name": "visit", "value": "v1"}, {"name": "basket", "value": "s3cret"}, {"name": "_ga", "value": "1"}]),
        ),
        entry(9_500, "GET", &format!("{shop}/api/none"), 404, &json!({})),
    ])
}

#[test]
fn a_recording_is_one_scenario() {
    let draft = recorded(&shop()).unwrap();
    assert_eq!(draft.file_name(), "shop.yml");
    assert_eq!(
        draft
            .unknowns()
            .iter()
            .map(|unknown| unknown.env.as_str())
            .collect::<Vec<_>>(),
        ["PASSWORD", "BASKET"]
    );
    let (text, plan) = read(draft);
    assert!(!text.contains("s3cret") && !text.contains("eyJh"), "{text}");
    assert!(plan.problems().is_empty());
    golden("har.yml", &text);
}

#[test]
fn values_of_answers_are_captured_and_used() {
    let (_, plan) = read(recorded(&shop()).unwrap());
    let requests = requests(&plan);
    let captures = |n: usize| {
        requests[n]
            .captures
            .iter()
            .map(|capture| {
                let CaptureSource::Json { path, .. } = &capture.from else {
                    panic!()
                };
                format!(
                    "{}: {}",
                    capture.store.clone().unwrap(),
                    path.as_literal().unwrap().as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        captures(1),
        ["access_token: $.access_token", "user_id: $.user.id"]
    );
    assert_eq!(captures(2), ["cart_id: $.id", "line: $.items[0].line"]);
    assert_eq!(
        requests[3].url_text,
        "/api/carts/{{ cart_id }}/order?line={{ line }}"
    );
    let RequestBody::Json(json) = &requests[3].body else {
        panic!()
    };
    assert!(json.variables().any(|path| path.text() == "cart_id"));
}

#[test]
fn pauses_are_the_users() {
    let (_, plan) = read(recorded(&shop()).unwrap());
    let pauses: Vec<u64> = plan.scenarios()[0]
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Think(think) => match think.time {
                ThinkTime::Fixed(ns) => Some(ns / 1_000_000),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(pauses, [2_900, 6_000]);
}

#[test]
fn redirects_are_followed_by_the_plan_itself() {
    let moved = with(
        entry(0, "POST", "https://a.example/login", 302, &json!({})),
        "/response/redirectURL",
        json!("/home"),
    );
    let home = entry(
        200,
        "GET",
        "https://a.example/home",
        200,
        &json!({"orderId": "o-1234"}),
    );
    let order = entry(
        400,
        "GET",
        "https://a.example/orders/o-1234",
        200,
        &json!({}),
    );
    let text = text(recorded(&har(vec![moved, home, order])).unwrap());
    assert!(
        text.contains("capture: { orderId: $.orderId }")
            && text.contains("- get: '/orders/{{ orderId }}'")
            && !text.contains("/home"),
        "{text}"
    );
}

#[test]
fn a_link_in_an_answer_is_a_url_of_its_own() {
    let made = posted(
        entry(
            0,
            "POST",
            "http://127.0.0.1:80/short",
            201,
            &json!({"shortUrl": "http://127.0.0.1:80/s/x1"}),
        ),
        &json!({}),
    );
    let text = text(
        recorded(&har(vec![
            made,
            entry(10, "GET", "http://127.0.0.1:80/s/x1", 200, &json!({})),
        ]))
        .unwrap(),
    );
    assert!(text.contains("- get: '{{ shortUrl }}'"), "{text}");
}

#[test]
fn broken_recordings_are_reported_with_location() {
    let refused = |text: &str| refusal(init::from_text("a.har", text, &no_file));
    assert_eq!(
        refused("{\"log\": {\n\"entries\": [}"),
        "a.har:2:13: this is not JSON: expected value"
    );
    assert_eq!(
        refused("{\"log\": {\"entries\": [\n{\"request\": {\"method\": \"GET\"}}]}}"),
        "a.har:2:13: this request has no `url`: record it again, or remove the entry"
    );
    assert_eq!(
        refused("{\"log\": {\"entries\": []}}"),
        "a.har:1:9: this recording contains no request to a service"
    );
    assert_eq!(
        refused("{\"log\": {\"entries\": 1}}"),
        "a.har:1:9: `log` in a HAR file needs a list of `entries`"
    );
    assert!(refused("{\"info\": {}}").starts_with("a.har: `loadline init` reads URLs"));
    assert_eq!(
        refused("loadline: 1"),
        "a.har:1:1: this is not JSON: expected value"
    );
    let images = har(vec![with(
        entry(0, "GET", "https://a.example/a.png", 200, &json!("")),
        "/response/content/mimeType",
        json!("image/png"),
    )]);
    assert!(
        refusal(recorded(&images))
            .contains("this recording contains no request to a service (left out: 1 asset")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn any_recording_is_a_plan(
        parts in prop::collection::vec(("GET|POST|PUT", "(/[a-z{}0-9%-]{0,6}){1,3}(\\?[a-z]{1,3}=[a-z{}0-9]{0,4})?", "[ -~é\n\t]{0,20}", "[a-z0-9{}-]{0,8}", 200..500u16), 1..5),
    ) {
        let entries = parts.iter().enumerate().map(|(number, (method, path, text, id, status))| {
            let answer = json!({"id": id, "list": [text, {"x y": id}]});
            let entry = entry(number as u64 * 700, method, &format!("http://127.0.0.1{path}/{id}"), *status, &answer);
            if method == "GET" { entry } else { posted(entry, &json!({"text": text, "id": id})) }
        });
        let (_, plan) = read(recorded(&har(entries.collect())).unwrap());
        let harmless = parts.iter().filter(|part| part.0 != "PUT").count();
        prop_assert!((harmless..=parts.len()).contains(&requests(&plan).len()));
    }
}

#[test]
fn hidden_fields_are_captured() {
    let page = r#"<html><head><meta name="csrf-token" content="h3ad-t0ken-0001"></head>
        <form><input type="hidden" name="csrf" value="f0rm-t0ken-0002"><input name="q" value="seen-0003"></form>"#;
    let entry_of_page = entry(0, "GET", "http://shop.example/", 200, &json!(page));
    let sent = with(
        entry(
            200,
            "POST",
            "http://shop.example/orders",
            200,
            &json!({"id": 7}),
        ),
        "/request/postData",
        json!({"mimeType": "application/x-www-form-urlencoded", "text": "csrf=f0rm-t0ken-0002&q=seen-0003"}),
    );
    let headers = json!([
        {"name": "Content-Type", "value": "application/x-www-form-urlencoded"},
        {"name": "X-CSRF-Token", "value": "h3ad-t0ken-0001"},
    ]);
    let sent = with(sent, "/request/headers", headers);
    let har = json!({"log": {"entries": [entry_of_page, sent]}});
    let (text, plan) = read(recorded(&har).unwrap());
    let [page, order] = requests(&plan)[..] else {
        panic!("{text}")
    };
    let patterns: Vec<_> = page
        .captures
        .iter()
        .map(|capture| match &capture.from {
            CaptureSource::Regexp { pattern, .. } => pattern.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        patterns,
        [
            r#"<input type="hidden" name="csrf" value="([^"]*)""#,
            r#"<meta name="csrf-token" content="([^"]*)""#,
        ]
    );
    let RequestBody::Text(body) = &order.body else {
        panic!("{text}")
    };
    let named: Vec<_> = body
        .variables()
        .map(|path| path.root().to_owned())
        .collect();
    assert_eq!(named, ["csrf"]);
    assert!(!text.contains("t0ken"), "{text}");
    assert!(!text.contains("export"), "{text}");
}

#[test]
fn a_token_of_an_answer_is_captured_also_in_a_body() {
    let login = entry(
        0,
        "POST",
        "http://shop.example/login",
        200,
        &json!({"refresh_token": "r-000111222"}),
    );
    let again = entry(200, "POST", "http://shop.example/refresh", 200, &json!({}));
    let again = posted(again, &json!({"refresh_token": "r-000111222"}));
    let har = json!({"log": {"entries": [login, again]}});
    let (text, _) = read(recorded(&har).unwrap());
    assert!(
        text.contains("refresh_token: '{{ refresh_token }}'"),
        "{text}"
    );
    assert!(!text.contains("$env"), "{text}");
}

#[test]
fn recordings_of_requests_alone_are_read() {
    let mut first = entry(0, "GET", "http://shop.example/cart", 200, &json!({}));
    let mut second = entry(200, "POST", "http://shop.example/order", 200, &json!({}));
    first.as_object_mut().unwrap().remove("response");
    second["response"] = Value::Null;
    let (_, plan) = read(recorded(&har(vec![first, second])).unwrap());
    assert_eq!(requests(&plan).len(), 2);
}

#[test]
fn entries_without_a_method_are_left_out_and_counted() {
    let cart = entry(0, "GET", "http://shop.example/cart", 200, &json!({}));
    let pushed = with(cart.clone(), "/request/method", Value::Null);
    let (text, plan) = read(recorded(&har(vec![cart, pushed, Value::Null])).unwrap());
    assert_eq!(requests(&plan).len(), 1);
    assert!(text.contains("2 without a method or URL"), "{text}");
}

#[test]
fn null_fields_of_an_entry_are_read_as_missing() {
    for field in [
        "/startedDateTime",
        "/time",
        "/pageref",
        "/request/headers",
        "/request/cookies",
        "/request/postData",
        "/response/status",
        "/response/headers",
        "/response/cookies",
        "/response/content",
        "/response/content/text",
        "/response/content/mimeType",
        "/response/redirectURL",
    ] {
        let cart = entry(0, "GET", "http://shop.example/cart", 200, &json!({}));
        let cart = with(cart, field, Value::Null);
        let other = entry(9, "GET", "http://shop.example/", 200, &json!({}));
        let (text, plan) = read(recorded(&har(vec![cart, other])).unwrap());
        let left = usize::from(field == "/response/status");
        assert_eq!(requests(&plan).len(), 2 - left, "{field}\n{text}");
    }
}

#[test]
fn destructive_requests_are_commented_out_whatever_their_method() {
    let cancel = entry(
        0,
        "POST",
        "http://shop.example/orders/7/cancel",
        200,
        &json!({}),
    );
    let cart = entry(9, "GET", "http://shop.example/cart", 200, &json!({}));
    let text = text(recorded(&har(vec![cancel, cart])).unwrap());
    assert!(text.contains("  # - post: /orders/7/cancel"), "{text}");
    assert!(text.contains("1 of 2 requests is commented out"), "{text}");
}
