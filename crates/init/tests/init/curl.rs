use plan::{
    Template,
    scenario::{PartContent, RequestBody},
};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{evaluated, golden, no_file, read, refusal, requests, text, try_read};

fn words(words: &[&str]) -> Result<init::Draft, formats::LoadErrors> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    init::curl::from_words(&words, &no_file)
}

fn pasted(text: &str) -> Result<init::Draft, formats::LoadErrors> {
    init::from_text("requests.txt", text, &no_file)
}

fn sent(draft: init::Draft) -> (String, String, Vec<(String, String)>, String) {
    let (_, plan) = read(draft);
    let request = requests(&plan)[0];
    let headers = request
        .headers
        .iter()
        .filter(|(name, _)| name != "user-agent");
    let headers = headers.map(|(name, value)| (name.clone(), evaluated(&plan, value, &[])));
    let body = match &request.body {
        RequestBody::Json(template) | RequestBody::Text(template) => {
            evaluated(&plan, template, &[])
        }
        RequestBody::None => String::new(),
        other => panic!("{other:?}"),
    };
    let url = format!(
        "{}{}",
        plan.target.expose(),
        evaluated(&plan, &request.url, &[])
    );
    (request.method.clone(), url, headers.collect(), body)
}

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn one_pasted_by_a_browser() {
    let draft = pasted(
        r#"curl 'https://shop.example/api/cart/items?lang=en' \
  -X POST \
  -H 'Accept: application/json' \
  -H 'Content-Type: application/json' \
  -H 'Authorization: Bearer eyJhbGciOi.secret' \
  -b 'session=abc123; theme=dark' \
  -H 'X-Requested-With: XMLHttpRequest' \
  --data-raw $'{"sku":"B\'7","note":"{{gift}}","quantity":2}' \
  --compressed --insecure -s
"#,
    )
    .unwrap();
    assert_eq!(draft.in_short(), "1 request to https://shop.example");
    golden("curl.yml", &text(draft));
}

#[test]
fn several_lines_are_one_scenario() {
    let text_of = text(pasted("# sign in\n$ curl -L -u me:s3cret https://a.example/login\ncurl https://a.example/x/$ID?v=1 | jq .\n").unwrap());
    golden("curl-several.yml", &text_of);
}

#[test]
fn draft_sends_the_same_request_as_curl() {
    let form = "content-type: application/x-www-form-urlencoded";
    let json = "accept: application/json, content-type: application/json";
    let packed = "accept-encoding: gzip, deflate, br, referer: http://b/";
    let braces = r#"{"a": 1}"#;
    for (line, asked, headers, body) in [
        ("localhost:80", "GET /", "", ""),
        (
            "-XPUT localhost:80/a -d x=1 -d y=2",
            "PUT /a",
            form,
            "x=1&y=2",
        ),
        (r#"localhost:80 -sSLd '{"a": 1}'"#, "POST /", form, braces),
        (
            "-G localhost:80/?b=1 --data-urlencode 'q=a b&c' -d d=e",
            "GET /?b=1&q=a%20b%26c&d=e",
            "",
            "",
        ),
        ("-I localhost:80", "HEAD /", "", ""),
        (r#"--json '{"a": 1}' localhost:80"#, "POST /", json, braces),
        (
            "localhost:80 -d @body.json",
            "POST /",
            form,
            r#"{  "n": 2}"#,
        ),
        (
            "localhost:80 --data-binary @body.json -H 'Content-Type: text/plain'",
            "POST /",
            "content-type: text/plain",
            "{\n  \"n\": 2\n}\n",
        ),
        ("localhost:80 -d x -H Content-Type:", "POST /", "", "x"),
        (
            "localhost:80 -H 'A: 1' -H a:2 -H Content-Length:7",
            "GET /",
            "a: 1, 2",
            "",
        ),
        (
            "localhost:80 --compressed -e http://b/",
            "GET /",
            packed,
            "",
        ),
    ] {
        let (method, url, mut sent_headers, sent_body) =
            sent(pasted(&format!("curl {line}")).unwrap());
        let url = url.strip_prefix("http://localhost:80").unwrap();
        sent_headers.sort();
        let sent_headers = sent_headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        let sent_headers = sent_headers.collect::<Vec<_>>().join(", ");
        assert_eq!(
            (format!("{method} {url}").as_str(), sent_headers.as_str()),
            (asked, headers),
            "{line}"
        );
        assert_eq!(sent_body, body, "{line}");
    }
}

#[test]
fn redirects_and_certificates_are_as_curl_has_them() {
    let plan = |line: &[&str]| read(words(line).unwrap()).1;
    assert!(!requests(&plan(&["localhost:80"]))[0].follow_redirects);
    let followed = plan(&["-kL", "-m", "2.5", "--max-redirs", "3", "localhost:80"]);
    assert!(requests(&followed)[0].follow_redirects && !followed.http.verify_tls);
    assert_eq!(
        (followed.http.max_redirects, followed.http.timeouts.total_ns),
        (3, Some(2_500_000_000))
    );
    let both = plan(&["localhost:80/a", "-L", "--next", "localhost:80/b"]);
    let follow: Vec<bool> = requests(&both)
        .iter()
        .map(|request| request.follow_redirects)
        .collect();
    assert_eq!(follow, [true, false]);
}

#[test]
fn secrets_never_reach_the_file() {
    let secrets = [
        "hunter2-a",
        "hunter2-b",
        "hunter2-c",
        "hunter2-d",
        "hunter2-e",
        "hunter2-f",
        "hunter2-g",
    ];
    let line = format!(
        "curl http://a.example/?api_key={} -H 'Authorization: Bearer {}' -b 's={}' -H 'X-Api-Key: {}' -d '{{\"password\": \"{}\"}}'\n\
         curl -u me:{} http://a.example/ -H 'Cookie: {}=1'",
        secrets[0], secrets[1], secrets[2], secrets[3], secrets[4], secrets[5], secrets[6]
    );
    let draft = pasted(&line).unwrap();
    let exported: Vec<String> = draft
        .unknowns()
        .iter()
        .map(|unknown| unknown.env.clone())
        .collect();
    assert_eq!(
        exported,
        [
            "API_KEY",
            "TOKEN",
            "X_API_KEY",
            "COOKIE",
            "PASSWORD",
            "COOKIE_2",
            "PASSWORD_2"
        ]
    );
    let reported = format!(
        "{:?}",
        draft
            .unknowns()
            .iter()
            .map(|unknown| &unknown.what)
            .collect::<Vec<_>>()
    );
    let text = text(draft);
    for secret in secrets {
        assert!(
            !text.contains(secret) && !reported.contains(secret),
            "{secret}: {reported}\n{text}"
        );
    }
}

#[test]
fn token_counts_are_not_secret() {
    let line = r#"curl http://a.example/v1/chat -H 'Content-Type: application/json' -d '{"max_tokens": 1024, "prompt_tokens": 3}'"#;
    let draft = pasted(line).unwrap();
    assert!(draft.unknowns().is_empty());
    let text = text(draft);
    assert!(
        text.contains(r#"{"max_tokens": 1024, "prompt_tokens": 3}"#),
        "{text}"
    );
}

#[test]
fn a_user_that_looks_like_a_key_is_a_secret() {
    for key in ["sk_test_placeholder", "8f3a9c0d7e6b5a41f2c3"] {
        let draft = pasted(&format!("curl http://a.example/ -u '{key}:'")).unwrap();
        let exported: Vec<String> = draft.unknowns().iter().map(|u| u.env.clone()).collect();
        assert_eq!(exported, ["API_KEY"]);
        let reported = format!("{:?}", draft.unknowns());
        let text = text(draft);
        assert!(!text.contains(key), "{text}");
        assert!(
            !reported
                .replace("value: ", "")
                .contains(&format!("of {key}")),
            "{reported}"
        );
        assert!(text.contains("password: ''"), "{text}");
    }
    let text = text(pasted("curl http://a.example/ -u alice:").unwrap());
    assert!(text.contains("user: alice"), "{text}");
}

#[test]
fn the_shells_variables_are_the_environments() {
    let draft = pasted("curl -H \"Authorization: Bearer $TOKEN\" \"${BASE}/a/$ID\"").unwrap();
    let exported: Vec<String> = draft
        .unknowns()
        .iter()
        .map(|unknown| unknown.env.clone())
        .collect();
    assert_eq!(exported, ["TOKEN", "BASE", "ID"]);
    let text = draft.text("a.yml");
    assert!(text.contains("target: '{{ $env.BASE }}'"), "{text}");
    assert!(
        text.contains("/a/{{ $env.ID }}") && text.contains("Bearer {{ $env.TOKEN }}"),
        "{text}"
    );
}

#[test]
fn unsupported_words_are_refused_with_location() {
    for (text, expected) in [
        (
            "curl -s\\\n --frobnicate http://a/",
            "requests.txt:2:2: curl's option --frobnicate is not supported: remove it",
        ),
        (
            "curl --dta x http://a/",
            "requests.txt:1:6: curl's option --dta is not supported: remove it (did you mean `data`?)",
        ),
        (
            "curl http://a/ -F a",
            "requests.txt:1:19: this is not a form part: use 'name=value'",
        ),
        ("curl -X", "requests.txt:1:6: -X needs a value"),
        (
            "curl -v",
            "requests.txt:1:1: this curl command has no URL: add one",
        ),
        (
            "curl 'http://a/",
            "requests.txt:1:6: this ' is not closed: close the quote",
        ),
        (
            "curl ftp://a/",
            "requests.txt:1:6: `ftp://a/` is not a URL that starts with http:// or https://",
        ),
        (
            "curl http://a/\nwget http://a/",
            "requests.txt:2:1: `wget` is not a curl command: start it with `curl`",
        ),
        (
            "curl http://a/ -H 'a b: c'",
            "requests.txt:1:19: this is not a header: use 'Name: value'",
        ),
        (
            "curl http://a/ -d @none",
            "requests.txt:1:19: none: no such file",
        ),
    ] {
        assert_eq!(refusal(pasted(text)), expected);
    }
    assert_eq!(
        refusal(words(&["http://a/", "--frob"])),
        "curl, argument 2: curl's option --frob is not supported: remove it"
    );
    assert!(
        refusal(pasted("hello"))
            .starts_with("requests.txt: `loadline init` reads URLs, command lines")
    );
}

#[test]
fn ignored_options_are_reported() {
    let text = text(
        words(&[
            "-sS",
            "-o",
            "x",
            "http://a.example/",
            "--retry",
            "3",
            "--no-keepalive",
        ])
        .unwrap(),
    );
    assert!(
        text.contains(
            "# Ignored, because they do not affect the request: --no-keepalive --retry -S -o -s\n"
        ),
        "{text}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_body_comes_through(body in "[ -~\n\té{}\\[\\]:\",']{1,60}", value in "[!-~]{1,20}", path in "[a-z0-9{}%._~/-]{0,20}") {
        let url = format!("http://localhost:80/{path}");
        let header_line = format!("x-a: {value}");
        let draft = words(&[&url, "-H", "content-type: text/plain", "-H", &header_line, "--data-raw", &body]).unwrap();
        let (method, sent_url, headers, sent_body) = sent(draft);
        prop_assert_eq!((method.as_str(), sent_url), ("POST", url));
        prop_assert_eq!(sent_body, body);
        prop_assert!(headers.contains(&header("x-a", &value)), "{headers:?}");
    }

    #[test]
    fn any_json_comes_through(a in ".{0,12}", b in any::<i64>(), c in "[{}a]{0,6}") {
        prop_assume!(!a.contains(['\u{fdd0}', '\u{fdd1}', '\0']));
        let body = query::value::json(&json!({"a": a, "list": [b, null, true, {"c": c}]}));
        let (_, _, _, sent_body) = sent(words(&["localhost:80", "--json", &body]).unwrap());
        prop_assert_eq!(sent_body, body);
    }

    #[test]
    fn any_pasted_text_is_a_plan_or_one_line(text in r#"curl( (-[A-Za-z#:]|--json|--next|'[a{}\n]'|"\$A"|http://a/[{}?=$]{0,3}|[a:=@{}]{1,4}|\\\n|\||;)){0,8}"#) {
        match pasted(&text) {
            Ok(draft) => if let Err(reason) = try_read(draft) {
                let (text, errors) = *reason;
                let is_missing = |problem: &plan::Problem| problem.message.contains("No such file");
                prop_assert!(errors.problems.iter().all(is_missing), "{errors}\n{text}");
            },
            Err(errors) => prop_assert_eq!(errors.problems.len(), 1),
        }
    }
}

#[test]
fn a_template_is_made_for_braces_of_the_source() {
    let (_, plan) = read(words(&["localhost:80", "--data-raw", "{{ user }}"]).unwrap());
    let RequestBody::Text(template) = &requests(&plan)[0].body else {
        panic!()
    };
    assert!(matches!(template, Template::Text(_)));
    assert_eq!(evaluated(&plan, template, &[]), "{{ user }}");
}

#[test]
fn forms_with_files_are_parts() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let file = format!("doc=@\"{own}\";type=text/x-toml;filename=c.toml");
    let bare = format!("doc=@{own}");
    let draft = words(&[
        "http://a/up",
        "-H",
        "content-type: multipart/form-data",
        "-F",
        "name=Ada",
        "-F",
        &file,
        "-F",
        &bare,
        "-F",
        "note=<body.json;type=application/json",
        "--form-string",
        "raw=@a;type=x",
        "-F",
        "password=s3cret",
    ]);
    let (text, plan) = read(draft.unwrap());
    assert!(!text.contains("s3cret"), "{text}");
    let request = requests(&plan)[0];
    assert_eq!(request.method, "POST");
    let is_content_type = |name: &str| name.eq_ignore_ascii_case("content-type");
    assert!(
        !request
            .headers
            .iter()
            .any(|(name, _)| is_content_type(name))
    );
    let RequestBody::Multipart(parts) = &request.body else {
        panic!("{:?}", request.body)
    };
    let reported: Vec<_> = parts
        .iter()
        .map(|part| {
            let content = match &part.content {
                PartContent::Text(template) => evaluated(&plan, template, &[]),
                PartContent::File { name, bytes } => format!("{name}, {}", bytes.len()),
                PartContent::Named { .. } => panic!("{part:?}"),
            };
            let kind = part.content_type.as_ref();
            let kind = kind.map_or(String::new(), |kind| evaluated(&plan, kind, &[]));
            (part.name.clone(), content, kind)
        })
        .collect();
    let length = std::fs::metadata(own).unwrap().len();
    let part = |name: &str, content: &str, kind: &str| {
        (name.to_owned(), content.to_owned(), kind.to_owned())
    };
    assert_eq!(
        reported,
        [
            part("name", "Ada", ""),
            part("doc", &format!("c.toml, {length}"), "text/x-toml"),
            part("doc", &format!("Cargo.toml, {length}"), ""),
            part("note", "{\n  \"n\": 2\n}\n", "application/json"),
            part("raw", "@a;type=x", ""),
            part("password", "filled in", ""),
        ]
    );
}

#[test]
fn body_without_content_type_has_curls_default() {
    let text = words(&["http://a/", "-F", "a=@data.csv", "-F", "b=@photo.png"]);
    let text = text.unwrap().text("plan.yml");
    assert!(
        text.contains("file: data.csv, type: application/octet-stream"),
        "{text}"
    );
    assert!(text.contains("b: { file: photo.png }"), "{text}");
}

#[test]
fn addresses_and_certificates_are_the_plans() {
    let line = "curl https://shop.example/ --resolve +shop.example:443:127.0.0.1 --cacert ca.pem -E /etc/me.pem --key me.key";
    let text = pasted(line).unwrap().text("load/plan.yml");
    for part in [
        "resolve: [shop.example:443:127.0.0.1]",
        "tls: { ca: '../ca.pem', cert: /etc/me.pem, key: '../me.key' }",
        "# Paths in this file are relative to its folder.",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let text =
        pasted("curl http://a/ --resolve a:80:127.0.0.1\ncurl http://b/ --resolve b:80:127.0.0.2")
            .unwrap();
    let (_, plan) = read(text);
    assert_eq!(plan.http.route.resolve.len(), 2);
    let text = pasted("curl -k https://a/ --cacert ca.pem")
        .unwrap()
        .text("p.yml");
    assert!(!text.contains("ca:"), "{text}");
    assert!(text.contains("# --cacert is omitted"), "{text}");
    for (line, reason) in [
        (
            "curl http://a/ --cacert a\ncurl http://a/ --cacert b",
            "requests.txt:2:25: --cacert: a plan has one setting for all its requests: create a separate plan for each",
        ),
        (
            "curl http://a/ --resolve a:80",
            "requests.txt:1:26: --resolve in a plan must be HOST:PORT:ADDRESS",
        ),
        (
            "curl http://a/ -E me.pem:secret",
            "requests.txt:1:19: --cert: plans do not support passwords for certificates: use a certificate without one",
        ),
        (
            "curl http://a/ -F 'a=b;c=d'",
            "requests.txt:1:19: after ; only type= or filename= is allowed: give a value that contains ; with --form-string",
        ),
        (
            "curl http://a/ -F a=b -d c",
            "requests.txt:1:19: a request can have only one body: use -F or -d, not both",
        ),
        (
            "curl http://a/ -F a=@b,c",
            "requests.txt:1:19: several files in one part are not supported: use a separate -F for each file",
        ),
    ] {
        assert_eq!(refusal(pasted(line)), reason);
    }
}
