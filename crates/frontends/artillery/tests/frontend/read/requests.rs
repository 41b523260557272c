use plan::{
    Template,
    scenario::{CaptureSource, RegexGroup, RequestBody},
};
use serde_json::json;

use super::{config, errors, flow, notes, plan};
use crate::support::{header, lines, render, requests};

fn headers(text: &str) -> Vec<String> {
    let plan = plan(text);
    requests(&plan)[0]
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", render(value)))
        .collect()
}

#[test]
fn headers_in_the_order_of_the_original() {
    let plan = plan(
        include_str!("../../golden/wire.yml")
            .split("      - post: { url: /multi")
            .next()
            .unwrap(),
    );
    let wire = |i: usize| -> Vec<String> {
        requests(&plan)[i]
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", render(value)))
            .collect()
    };
    let agent = "user-agent: Artillery (https://artillery.io)";
    let encoding = "accept-encoding: gzip, deflate, br";
    let keep = "Connection: keep-alive";
    assert_eq!(wire(0), [agent, encoding, keep]);
    assert_eq!(wire(1), [agent, "x-one: 1", encoding, keep]);
    assert_eq!(
        wire(2),
        [agent, "content-type: application/json", encoding, keep]
    );
    assert_eq!(wire(3), [agent, encoding, keep]);
    assert_eq!(
        wire(4),
        [
            agent,
            "content-type: application/x-www-form-urlencoded",
            encoding,
            keep
        ]
    );
    assert_eq!(wire(10), [agent, keep]);
    let requests = requests(&plan);
    assert_eq!(
        requests[1].query,
        Some(vec![
            (Template::from("a"), Template::from("b c")),
            (Template::from("z"), Template::Literal(json!(1)))
        ])
    );
    assert_eq!(requests[1].label, "/q?a=b c&z=1");
    assert!(
        matches!(&requests[3].body, RequestBody::Text(Template::Literal(text)) if text == "hello")
    );
    assert!(matches!(&requests[4].body, RequestBody::Form(pairs) if pairs.len() == 2));
    assert_eq!(
        requests[6].cookies,
        [("mine".to_owned(), Template::from("yes1"))]
    );
    assert_eq!(
        requests[7].basic_auth,
        Some((Template::from("u"), Template::from("p")))
    );
    assert_eq!(requests[9].method, "DELETE");
    assert!(
        requests
            .iter()
            .all(|request| request.redirects_keep_method && request.follow_redirects)
    );
}

#[test]
fn default_headers_and_cookies() {
    let text = config(
        "http: { defaults: { headers: { X-A: 1, Authorization: 'Bearer {{ token }}', X-E: '{{ $testId }}!' }, cookie: { c: '{{ sid }}' } } }",
    );
    assert_eq!(
        headers(&text),
        [
            "user-agent: got (https://github.com/sindresorhus/got)",
            "x-a: 1",
            "authorization: Bearer {{token}}",
            "x-e: !",
            "accept-encoding: gzip, deflate, br",
            "Connection: keep-alive",
        ]
    );
    let plan = plan(&text);
    assert_eq!(
        requests(&plan)[0]
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={}", render(value)))
            .collect::<Vec<_>>(),
        ["c={{sid}}"]
    );
    let text = config(
        "defaults: { headers: { user-agent: me } }\nhttp: { defaults: { strictCapture: false } }",
    );
    assert_eq!(
        headers(&text),
        [
            "user-agent: me",
            "accept-encoding: gzip, deflate, br",
            "Connection: keep-alive"
        ]
    );
}

#[test]
fn step_headers_replace_default_ones_in_their_place() {
    let text = "config: { target: 'http://x', http: { defaults: { headers: { a: 1, b: 2 } } } }\nscenarios: [ { flow: [ { post: { url: /, headers: { B: 3, Accept-Encoding: identity, Content-Type: x/y, connection: close }, json: {} } } ] } ]";
    assert_eq!(
        headers(text),
        [
            "user-agent: got (https://github.com/sindresorhus/got)",
            "a: 1",
            "b: 3",
            "accept-encoding: identity",
            "content-type: x/y",
            "connection: close",
        ]
    );
}

#[test]
fn bodies() {
    let body = |keys: &str| {
        let plan = plan(&flow(&format!("- post: {{ url: /, {keys} }}")));
        (requests(&plan)[0].clone(), notes(&plan))
    };
    assert!(
        matches!(body("json: {}").0.body, RequestBody::Json(Template::Literal(value)) if value == json!({}))
    );
    assert!(
        matches!(body("json: [1.0, 2.5]").0.body, RequestBody::Json(Template::Literal(value)) if query::value::json(&value) == "[1,2.5]")
    );
    let (request, reported) = body("json: 0");
    assert!(
        matches!(request.body, RequestBody::None) && header(&request, "content-type").is_none()
    );
    assert_eq!(reported, ["4:25: `json: 0` sends nothing"]);
    let (request, reported) = body("json: {a: 1}, body: x");
    assert!(matches!(request.body, RequestBody::Json(_)) && request.fails_with.is_none());
    assert_eq!(reported.len(), 1);
    let (request, _) = body("form: {a: 1}, body: x");
    assert_eq!(
        request.fails_with.as_ref().map(|error| error.name.as_str()),
        Some("ERR_GOT_REQUEST_ERROR")
    );
    let (request, _) = body("form: { a: [1, 'x'], b: '{{ $uuid }}' }");
    assert!(
        matches!(&request.body, RequestBody::Form(pairs) if render(&pairs[0].1) == "1,x" && render(&pairs[1].1) == "{{$uuid}}")
    );
    assert_eq!(
        lines(&errors(&flow("- post: { url: /, body: { a: 1 } }"))).len(),
        1
    );
}

#[test]
fn bodies_on_get_and_head_fail_when_their_turn_comes() {
    let fails = |step: &str| {
        requests(&plan(&flow(step)))[0]
            .fails_with
            .clone()
            .map(|error| error.name)
    };
    assert_eq!(
        fails("- get: { url: /, json: { a: 1 } }").as_deref(),
        Some("ERR_GOT_REQUEST_ERROR")
    );
    assert_eq!(
        fails("- head: { url: /, body: x }").as_deref(),
        Some("ERR_GOT_REQUEST_ERROR")
    );
    assert_eq!(
        fails("- get: { url: /, body: x, allowGetBody: true }"),
        None
    );
    assert_eq!(fails("- delete: { url: /, json: { a: 1 } }"), None);
    assert_eq!(
        fails("- get: { url: path }").as_deref(),
        Some("Invalid URL - path")
    );
}

#[test]
fn verbs_names_and_urls() {
    let plan = plan(&flow(
        "- options: { url: /a, name: 'n {{ $uuid }}' }\n- propfind: { url: 'https://other/b?c=1' }\n- loop: [ { patch: { uri: /d, followRedirect: 'false', gzip: false } } ]\n  count: 1",
    ));
    let requests = requests(&plan);
    assert_eq!(
        requests
            .iter()
            .map(|r| r.method.as_str())
            .collect::<Vec<_>>(),
        ["OPTIONS", "PROPFIND", "PATCH"]
    );
    assert_eq!(
        requests
            .iter()
            .map(|r| r.label.as_str())
            .collect::<Vec<_>>(),
        ["n {{ $uuid }}", "https://other/b?c=1", "/d"]
    );
    assert!(!requests[2].follow_redirects);
    assert_eq!(
        requests[0].at.as_ref().map(ToString::to_string).as_deref(),
        Some("test.yml:4:9")
    );
}

#[test]
fn captures_and_matches() {
    let capture = |keys: &str| {
        requests(&plan(&flow(&format!("- get: {{ url: /, {keys} }}"))))[0]
            .captures
            .clone()
    };
    let one = &capture("capture: { json: '$.a', as: user.id, multiple: false, strict: false }")[0];
    assert!(matches!(&one.from, CaptureSource::Json { pick: false, .. }));
    assert_eq!((one.store.as_deref(), one.strict), (Some("user.id"), false));
    let three = capture(
        "capture: [ { header: X-Id, as: h }, { regexp: 'a(?<n>.)', group: n, flags: i, as: r }, { regexp: 'a(.)', group: 1, as: s } ]",
    );
    assert!(
        matches!(&three[0].from, CaptureSource::Header(Template::Literal(name)) if name == "X-Id")
    );
    assert!(
        matches!(&three[1].from, CaptureSource::Regexp { group: RegexGroup::Name(name), flags, .. } if name == "n" && flags == "i")
    );
    assert!(matches!(
        &three[2].from,
        CaptureSource::Regexp {
            group: RegexGroup::Index(1),
            ..
        }
    ));
    let matches = capture(
        "match: [ { json: '$.ok', value: true }, { json: '$.v', value: '{{ $uuid }}', strict: false } ]",
    );
    assert_eq!(
        matches
            .iter()
            .map(|m| (m.strict, m.store.is_none()))
            .collect::<Vec<_>>(),
        [(true, true), (false, true)]
    );
    assert_eq!(matches[0].equals, Some(Template::Literal(json!(true))));
    let lenient = plan(
        "config: { target: 'http://x', http: { defaults: { strictCapture: false } } }\nscenarios: [ { flow: [ { get: { url: /, capture: [ { json: $.a, as: a }, { json: $.b, as: b, strict: true } ], match: { json: $.c, value: 1 } } } ] } ]",
    );
    assert_eq!(
        requests(&lenient)[0]
            .captures
            .iter()
            .map(|c| c.strict)
            .collect::<Vec<_>>(),
        [false, true, true]
    );
    let refused = |keys: &str| lines(&errors(&flow(&format!("- get: {{ url: /, {keys} }}"))));
    let noted = |keys: &str| {
        plan(&flow(&format!("- get: {{ url: /, {keys} }}")))
            .provenance
            .notes
    };
    assert_eq!(
        noted("capture: { json: '$.a[', as: x }")[0].text,
        "`$.a[` is not a valid JSONPath: an index, a name or * is missing here; the capture fails, as in Artillery"
    );
    assert_eq!(
        noted("capture: { xpath: '//', as: x }")[0].text,
        "`//` is not a valid XPath: a name is missing here; the capture fails, as in Artillery"
    );
    assert!(
        refused("capture: { regexp: '(', as: x }")[0]
            .starts_with("test.yml:4:43: `(` is not a valid regular expression")
    );
    assert_eq!(
        refused("capture: { as: x }"),
        [
            "test.yml:4:33: the source of the value is missing: add `json`, `header`, `regexp`, `selector` or `xpath`"
        ]
    );
    assert_eq!(
        refused("capture: { selector: 'a:hover', attr: href, as: x }"),
        ["test.yml:4:47: `a:hover` is not a valid CSS selector: `:hover` is not supported"]
    );
    assert_eq!(
        refused("capture: { selector: a, index: some, as: x }"),
        ["test.yml:4:55: `index: some` is not an index: use a number from 0, last or random"]
    );
}

#[test]
fn secrets() {
    let plan = plan(
        "config: { target: 'http://x', variables: { jwt: [abcdef, ghijkl], plain: visible, api_key: k-12345 } }\nscenarios:\n  - flow:\n      - post:\n          url: '/login?access_token=tok-1234&q=1'\n          headers: { Authorization: 'Bearer {{ jwt }}', X-Api-Key: head-key, Accept: text/plain }\n          cookie: { sid: cookie-1 }\n          auth: { user: someone, pass: pass-word }\n          json: { user: someone, password: hunter22, deep: [ { secretCode: 99999 } ] }\n",
    );
    assert_eq!(
        plan.secrets,
        [
            "99999",
            "abcdef",
            "cookie-1",
            "ghijkl",
            "head-key",
            "hunter22",
            "k-12345",
            "pass-word",
            "tok-1234"
        ]
    );
}
