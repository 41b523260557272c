use serde_json::{Value, json};

use crate::client::Client;
use crate::start;

#[test]
fn numbers_of_a_body_are_added() {
    let lab = start("sum");
    let mut client = Client::connect(lab.address());
    for (body, sum) in [
        (r#"{"a":1,"b":2}"#, json!(3)),
        (r#"{"b":-2,"a":1,"c":"unused"}"#, json!(-1)),
        (r#"{"a":0.5,"b":0.25}"#, json!(0.75)),
        (
            r#"{"a":9223372036854775807,"b":1}"#,
            json!(9223372036854775808.0),
        ),
    ] {
        let answer = client.request("POST", "/api/sum", body);
        assert_eq!(answer.code, 200, "{body}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.json(), json!({ "result": sum }), "{body}");
    }
    let answer = client.request("POST", "/api/sum", r#"{"a":1,"b":2}"#);
    assert_eq!(answer.body, r#"{"result":3}"#);
}

#[test]
fn numbers_of_a_query_are_added() {
    let lab = start("sum");
    let mut client = Client::connect(lab.address());
    for (path, sum) in [
        ("/api/sum?a=1&b=2", json!(3)),
        ("/api/sum?b=2.5", json!(2.5)),
        ("/api/sum", json!(0)),
    ] {
        let answer = client.get(path);
        assert_eq!(
            (answer.code, answer.json()),
            (200, json!({ "result": sum })),
            "{path}"
        );
    }
    assert_eq!(client.get("/").code, 200);
    let head = client.request("HEAD", "/api/sum", "");
    assert_eq!(
        (head.code, head.header("content-length")),
        (200, Some("12"))
    );
}

#[test]
fn refusals_are_json_and_keep_the_connection() {
    let lab = start("sum");
    let mut client = Client::connect(lab.address());
    for (method, path, body, code) in [
        ("POST", "/api/sum", "{", 400),
        ("POST", "/api/sum", "", 400),
        ("POST", "/api/sum", r#"{"a":1}"#, 422),
        ("POST", "/api/sum", r#"{"a":1,"b":"2"}"#, 422),
        ("POST", "/api/sum", "[1,2]", 422),
        ("POST", "/api/sum", r#"{"a":1e308,"b":1e308}"#, 422),
        ("GET", "/api/sum?a=x", "", 400),
        ("GET", "/api/sum?a=", "", 400),
        ("GET", "/api", "", 404),
        ("POST", "/api/sum/", r#"{"a":1,"b":2}"#, 404),
        ("PUT", "/api/sum", r#"{"a":1,"b":2}"#, 405),
    ] {
        let answer = client.request(method, path, body);
        assert_eq!(answer.code, code, "{method} {path} {body}");
        assert!(
            matches!(&answer.json()["error"], Value::String(_)),
            "{}",
            answer.body
        );
    }
    let answer = client.request("DELETE", "/api/sum", "");
    assert_eq!(answer.header("allow"), Some("GET,HEAD,POST"));
}

#[test]
fn overloaded_lab_refuses_immediately() {
    let options = lab::LabOptions {
        extra: vec![
            ("work".into(), "300ms".into()),
            ("max-in-flight".into(), "2".into()),
        ],
        ..lab::LabOptions::default()
    };
    let lab = lab::Lab::start("sum", &options).unwrap();
    let address = lab.address();
    let ask = move || Client::connect(address).get("/api/sum?a=1&b=2").code;
    let accepted: Vec<_> = (0..2).map(|_| std::thread::spawn(ask)).collect();
    let stats = |key: &str| {
        let stats = Client::connect(address).get("/__lab/stats").json();
        stats[key]["total"].as_u64().unwrap()
    };
    while stats("received") < 2 {
        std::thread::yield_now();
    }
    assert_eq!(ask(), 503);
    assert!(
        accepted
            .into_iter()
            .all(|asked| asked.join().unwrap() == 200)
    );
    assert_eq!((stats("received"), stats("answered")), (3, 3));
}

#[test]
fn invalid_limits_are_rejected() {
    for (option, value) in [
        ("work", "5"),
        ("max-in-flight", "0"),
        ("max-in-flight", "x"),
    ] {
        let options = lab::LabOptions {
            extra: vec![(option.into(), value.into())],
            ..lab::LabOptions::default()
        };
        let error = lab::Lab::start("sum", &options).err().unwrap().to_string();
        assert!(error.contains(&format!("{option}={value}")), "{error}");
    }
}
