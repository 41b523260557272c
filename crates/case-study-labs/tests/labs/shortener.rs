use std::time::{Duration, Instant};

use lab::{Lab, LabOptions};
use serde_json::{Value, json};

use crate::client::{Client, stats};
use crate::start;

const NEVER: &str = "2030-01-01T00:00:00-07:00";

fn token(secret: &str) -> String {
    let options = LabOptions {
        token: secret.to_owned(),
        print_token: true,
        ..LabOptions::default()
    };
    let mut out = Vec::new();
    lab::run(case_study_labs::LABS, "shortener", options, &mut out).unwrap();
    String::from_utf8(out).unwrap().trim_end().to_owned()
}

fn client(lab: &Lab) -> Client {
    let bearer = format!("Bearer {}", token("demo"));
    Client::connect(lab.address()).with_header("Authorization", &bearer)
}

fn body(expires: &str, url: &str) -> String {
    json!({ "expires": expires, "url": url }).to_string()
}

const CREATE: &str = "/actions/short-urls";

#[test]
fn created_link_redirects_to_its_target() {
    let lab = start("shortener");
    let mut client = client(&lab);
    let mut ids = Vec::new();
    for n in 0..50 {
        let url = format!("https://example.test/check-in/?id={n}");
        let made = client.request("POST", CREATE, &body(NEVER, &url));
        assert_eq!(made.code, 201);
        let short = made.json()["shortUrl"].as_str().unwrap().to_owned();
        let path = short.strip_prefix("http://lab.test").unwrap();
        let followed = client.get(path);
        assert_eq!(
            (followed.code, followed.header("location")),
            (302, Some(url.as_str()))
        );
        ids.push(path.to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 50);
    assert_eq!(client.get("/short-urls/unknown").code, 404);
    let gone = client.request("POST", CREATE, &body("2001-01-01T00:00:00Z", "http://a"));
    let gone = gone.json()["shortUrl"].as_str().unwrap().to_owned();
    assert_eq!(
        client
            .get(gone.strip_prefix("http://lab.test").unwrap())
            .code,
        410
    );
    let reported = stats(lab.address());
    assert_eq!(reported["shortener"]["stored"], 51);
    assert_eq!(reported["shortener"]["id_collisions"], 0);
    let follow = &reported["answered"]["by_route"]["GET /short-urls/{id}"];
    assert_eq!(*follow, json!({ "302": 50, "404": 1, "410": 1 }));
}

#[test]
fn request_without_valid_token_is_rejected() {
    let lab = start("shortener");
    let stranger = format!("Bearer {}", token("another"));
    for header in [
        None,
        Some("Basic eDp5"),
        Some("Bearer demo"),
        Some(&*stranger),
    ] {
        let mut client = Client::connect(lab.address());
        if let Some(header) = header {
            client = client.with_header("Authorization", header);
        }
        let answer = client.request("POST", CREATE, &body(NEVER, "http://a"));
        assert_eq!(answer.code, 401, "{header:?}");
        assert!(answer.json()["error"].is_string());
    }
}

#[test]
fn invalid_request_to_create_a_link_is_refused() {
    let lab = start("shortener");
    let mut client = client(&lab);
    for bad in [
        String::new(),
        "[]".to_owned(),
        json!({ "url": "http://a" }).to_string(),
        json!({ "expires": NEVER }).to_string(),
        json!({ "expires": 5, "url": "http://a" }).to_string(),
        body("tomorrow", "http://a"),
        body("2030-01-01T00:00:00", "http://a"),
        body(NEVER, ""),
        body(NEVER, "/nowhere"),
        body(NEVER, "http://"),
        body(NEVER, "ftp://a"),
        body(NEVER, "http://a\r\nx: y"),
        body(NEVER, &format!("http://{}", "a".repeat(2048))),
    ] {
        let answer = client.request("POST", CREATE, &bad);
        assert_eq!(answer.code, 400, "{bad}");
        assert!(answer.json()["error"].is_string(), "{bad}");
    }
    assert_eq!(client.get(CREATE).code, 405);
    assert_eq!(stats(lab.address())["shortener"]["stored"], 0);
}

fn with(options: &[(&str, &str)]) -> Lab {
    let extra = options
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let options = LabOptions {
        extra: extra.collect(),
        ..LabOptions::default()
    };
    Lab::start_from(case_study_labs::LABS, "shortener", &options).unwrap()
}

#[allow(
    clippy::disallowed_methods,
    reason = "what is tested is how long it takes"
)]
fn timed(client: &mut Client, method: &str, path: &str, body: &str) -> (Duration, u16) {
    let begun = Instant::now();
    let code = client.request(method, path, body).code;
    (begun.elapsed(), code)
}

#[test]
fn a_secret_that_is_fetched_each_time_is_felt_by_creations_alone() {
    let lab = with(&[("latency", "100ms"), ("secret-fetch", "400ms")]);
    let mut client = client(&lab);
    let (created, code) = timed(&mut client, "POST", CREATE, &body(NEVER, "http://a"));
    assert_eq!(code, 201);
    let (followed, code) = timed(&mut client, "GET", "/short-urls/unknown", "");
    assert_eq!(code, 404);
    assert!(created >= Duration::from_millis(500), "{created:?}");
    assert!(followed >= Duration::from_millis(100), "{followed:?}");
    assert!(followed < Duration::from_millis(400), "{followed:?}");
}

#[test]
fn request_above_the_limit_is_rejected_early() {
    let lab = with(&[("latency", "2s"), ("concurrency", "2")]);
    let mut waiting: Vec<Client> = (0..2).map(|_| client(&lab)).collect();
    for client in &mut waiting {
        client.send("POST", CREATE, &body(NEVER, "http://a"));
    }
    while stats(lab.address())["received"]["total"] != 2 {}
    let mut third = client(&lab);
    let (took, code) = timed(&mut third, "POST", CREATE, &body(NEVER, "http://a"));
    assert_eq!(code, 500);
    assert!(took < Duration::from_secs(1), "immediately: {took:?}");
    for client in &mut waiting {
        assert_eq!(client.receive("POST").code, 201);
    }
    assert_eq!(stats(lab.address())["shortener"]["stored"], Value::from(2));
    for (option, value) in [
        ("latency", "5"),
        ("concurrency", "0"),
        ("secret-fetch", "x"),
    ] {
        let options = LabOptions {
            extra: vec![(option.to_owned(), value.to_owned())],
            ..LabOptions::default()
        };
        let error = Lab::start_from(case_study_labs::LABS, "shortener", &options)
            .err()
            .unwrap();
        assert!(error.is_bad_input() && error.to_string().contains(option));
    }
}
