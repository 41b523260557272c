use formats::LoadErrors;
use init::{Draft, SourceText};

use crate::support::{golden, no_file, read, refusal, text};

const COLLECTION: &str = include_str!("sources/shop.postman_collection.json");
const ENVIRONMENT: &str = include_str!("sources/shop.postman_environment.json");
const FEATURES: &str = include_str!("sources/features.postman_collection.json");

fn drafted(collection: &str, environment: Option<&str>) -> Result<Draft, LoadErrors> {
    let source = SourceText {
        name: "shop.postman_collection.json",
        text: collection,
    };
    let environment = environment.map(|text| SourceText {
        name: "staging.json",
        text,
    });
    init::from_source(source, environment, &no_file)
}

#[test]
fn collection_with_login_and_orders_becomes_a_plan() {
    let draft = drafted(COLLECTION, Some(ENVIRONMENT)).unwrap();
    let (text, _) = read(draft);
    assert!(
        !text.contains("hunter2") && !text.contains("s3cret"),
        "{text}"
    );
    golden("postman.yml", &text);
}

#[test]
fn bodies_and_authorization_of_version_2_0_are_translated() {
    let text = text(drafted(FEATURES, None).unwrap());
    let in_lines = text.replace("\n# ", " ");
    assert!(
        !text.contains("hunter2") && !text.contains("k-1234567890"),
        "{text}"
    );
    for part in [
        "target: https://shop.example:8443",
        "url: /scans?notify=true",
        "headers: { x-trace: '{{ $uuid }}', x-api-key: '{{ X_Api_Key }}' }",
        "title: 'Scan {{ $randomNumber(0, 1000) }}'",
        "scan: { file: scan.png }",
        "password: '{{ password }}'",
        "capture: { scanId: { json: $.scan.id, optional: true } }",
        "variables: { id: '{{ scanId }}' }",
        "url: '/graphql?page={{ page }}'",
        "page: '{{ $env.PAGE }}'   # the variable page of the collection",
        "# TO FILL IN: the body, which is the file data.bin.",
        "# Postman fetches its OAuth 2 token itself; this plan needs a valid one.",
        "# TO FILL IN: authorization of type hawk, which plans do not support",
        "  # - put:",
        "  # - post:\n  #     url: '/scans/{{ scanId }}/cancel'",
        "url: https://other.example/status",
        "check that you may load them (https://other.example).",
        "- shop.postman_collection.json:9, before the collection: `pm.environment.set('…',Date.now())`",
    ] {
        assert!(
            text.contains(part) || in_lines.contains(part),
            "{part}\n{text}"
        );
    }
}

#[test]
fn host_without_a_value_is_read_from_the_environment() {
    let collection = COLLECTION.replace("https://shop.example/api", "");
    let draft = drafted(&collection, None).unwrap();
    let text = text(draft);
    assert!(text.contains("# It sends load to $BASEURL."), "{text}");
    assert!(text.contains("target: '{{ $env.BASEURL }}'"), "{text}");
}

#[test]
fn malformed_collection_is_refused_in_one_line() {
    let with = |from: &str, to: &str| {
        assert!(COLLECTION.contains(from), "{from}");
        refusal(drafted(&COLLECTION.replacen(from, to, 1), None))
    };
    for (from, to, reason) in [
        (
            "\"method\": \"POST\"",
            "\"method\": \"BREW\"",
            "shop.postman_collection.json:48:17: `brew` is not a method that plans support: remove the request",
        ),
        (
            "/v2.1.0/",
            "/v1.0.0/",
            "shop.postman_collection.json:5:13: only collections of version 2.0 and 2.1 are supported: export it as v2.1",
        ),
        (
            "\"request\": {",
            "\"requests\": {",
            "shop.postman_collection.json:29:5: this item has neither `request` nor `item`: remove it",
        ),
        (
            "https://shop.example/api",
            "ftp://shop.example",
            "shop.postman_collection.json:55:14: `ftp://shop.example/login` is not a URL that starts with http:// or https://",
        ),
    ] {
        assert_eq!(with(from, to), reason);
    }
    let source = SourceText {
        name: "env.json",
        text: ENVIRONMENT,
    };
    assert_eq!(
        refusal(init::from_source(source, None, &no_file)),
        "env.json is a Postman environment: use loadline init COLLECTION --environment env.json"
    );
    assert_eq!(
        refusal(drafted(COLLECTION, Some("{}"))),
        "staging.json: this is not a Postman environment: it has no list of `values`"
    );
}
