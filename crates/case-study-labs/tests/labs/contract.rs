//! Tests that every lab has exact counts, log lines, a clean shutdown and helpful errors.

use std::collections::HashMap;
use std::net::SocketAddr;

use lab::{Lab, LabError, LabOptions};
use serde_json::{Value, json};

use crate::client::{Client, stats};
use crate::start;

#[test]
fn counts_are_exact_over_many_connections() {
    const CONNECTIONS: u64 = 8;
    const ROUNDS: u64 = 50;
    let lab = start("fhir");
    let address = lab.address();
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(move || rounds(address, ROUNDS));
        }
    });
    let n = CONNECTIONS * ROUNDS;
    let read = "GET /fhir/R4/Patient/{id}";
    let expected = json!({
        "received": { "total": 5 * n, "by_route": {
            "(other)": 2 * n, read: n, "GET /healthcheck": n, "POST /fhir/R4/Patient": n,
        } },
        "answered": { "total": 5 * n, "by_route": {
            "(other)": { "401": n, "404": n }, read: { "404": n },
            "GET /healthcheck": { "200": n }, "POST /fhir/R4/Patient": { "201": n },
        }, "by_code": { "200": n, "201": n, "401": n, "404": 2 * n } },
    });
    assert_eq!(stats(address), expected);
    assert_eq!(
        stats(address),
        expected,
        "asking for the counts does not count"
    );
}

fn rounds(address: SocketAddr, rounds: u64) {
    let mut client = Client::connect(address).with_header("Authorization", "Bearer demo");
    let mut stranger = Client::connect(address);
    for _ in 0..rounds {
        assert_eq!(client.get("/healthcheck").code, 200);
        assert_eq!(
            client
                .request("POST", "/fhir/R4/Patient", r#"{"resourceType":"Patient"}"#)
                .code,
            201
        );
        assert_eq!(client.get("/fhir/R4/Patient/none").code, 404);
        assert_eq!(client.get("/nowhere").code, 404);
        assert_eq!(client.get("/__lab/nowhere").code, 404);
        assert_eq!(stranger.request("BREW", "/fhir/R4/Patient", "").code, 401);
    }
}

#[test]
fn a_client_that_vanishes_is_served_and_counted() {
    let lab = start("sum");
    for _ in 0..100 {
        Client::connect(lab.address()).send("POST", "/api/sum", r#"{"a":1,"b":2}"#);
        Client::connect(lab.address()).send("GET", "/api/sum", "");
    }
    let counted = (0..10_000)
        .map(|_| stats(lab.address()))
        .find(|stats| stats["received"]["total"] == 200);
    let counted = counted.expect("every request that was sent is received");
    assert_eq!(counted["answered"]["by_code"], json!({ "200": 200 }));
}

#[test]
fn an_early_refusal_keeps_the_connection_although_the_body_comes_late() {
    let lab = start("fhir");
    let mut client = Client::connect(lab.address());
    for n in 1..=50 {
        client.send_head("POST", "/fhir/R4/Patient", 2);
        assert_eq!(stats(lab.address())["received"]["total"], n);
        client.send_body("{}");
        assert_eq!(client.receive("POST").code, 401);
    }
}

#[test]
fn logs_a_line_per_request() {
    let log = std::env::temp_dir().join(format!("lab-log-{}.jsonl", std::process::id()));
    let lab = Lab::start_from(
        case_study_labs::LABS,
        "sum",
        &LabOptions {
            log: Some(log.clone()),
            ..LabOptions::default()
        },
    )
    .unwrap();
    let mut named = Client::connect(lab.address()).with_header("X-Request-Id", "a\"1\"");
    let mut nameless = Client::connect(lab.address());
    for _ in 0..50 {
        named.get("/api/sum");
        nameless.get("/nowhere");
        named.get("/__lab/stats");
    }
    lab.stop().unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();

    let mut seen = HashMap::new();
    let mut last = 0;
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let time = |key: &str| line[key].as_u64().unwrap();
        assert!(
            last <= time("arrival_ns") && time("arrival_ns") <= time("release_ns"),
            "{line}"
        );
        last = time("release_ns");
        *seen
            .entry((line["id"].as_str().map(str::to_owned), line["code"].clone()))
            .or_insert(0) += 1;
    }
    let expected = [
        ((Some("a\"1\"".to_owned()), json!(200)), 50),
        ((None, json!(404)), 50),
    ];
    assert_eq!(seen, HashMap::from(expected));
}

#[test]
fn ends_while_clients_hold_connections() {
    let lab = start("sum");
    let address = lab.address();
    let mut idle = Client::connect(address);
    assert_eq!(idle.get("/").code, 200);
    let mut silent = Client::connect(address);
    let mut half = Client::connect(address);
    half.send("GET", "/", "");
    let mut stuck = Client::connect(address);
    stuck.send_head("POST", "/api/sum", 1);
    let counted = stats(address);
    assert_eq!(
        (&counted["received"]["total"], &counted["answered"]["total"]),
        (&json!(3), &json!(2))
    );
    lab.stop().unwrap();
    assert!(idle.is_closed() && silent.is_closed() && stuck.is_closed());
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn unknown_names_are_reported_with_known_ones() {
    let text = |error: LabError| error.to_string();
    let start = |name: &str, options: &LabOptions| {
        Lab::start_from(case_study_labs::LABS, name, options)
            .map(drop)
            .unwrap_err()
    };
    assert_eq!(
        text(start("smu", &LabOptions::default())),
        r#"unknown lab "smu": the available labs are sum, fhir, shortener, checkin, pepeunit, mqtt, truth, http2, llm, chat"#
    );
    let extra = |name: &str| LabOptions {
        extra: vec![(name.to_owned(), String::new())],
        ..LabOptions::default()
    };
    assert_eq!(
        text(start("fhir", &extra("stroe"))),
        r#"lab fhir has no option "stroe": available options are store, servers, cpu, database, control-port"#
    );
    assert_eq!(
        text(start("sum", &extra("store"))),
        r#"lab sum has no option "store": available options are work, max-in-flight"#
    );

    let lab = crate::start("sum");
    let port = lab.address().port();
    let error = text(start(
        "sum",
        &LabOptions {
            port,
            ..LabOptions::default()
        },
    ));
    assert!(
        error.starts_with(&format!(
            "cannot bind 127.0.0.1:{port}: Address already in use"
        )),
        "{error}"
    );
    let log = Some("/nonexistent/log".into());
    let error = text(start(
        "sum",
        &LabOptions {
            log,
            ..LabOptions::default()
        },
    ));
    assert!(
        error.starts_with("cannot open log /nonexistent/log: "),
        "{error}"
    );
    let store = vec![("store".to_owned(), "/nonexistent/db".to_owned())];
    let error = text(start(
        "fhir",
        &LabOptions {
            extra: store,
            ..LabOptions::default()
        },
    ));
    assert!(
        error.starts_with("cannot open store /nonexistent/db: "),
        "{error}"
    );
}

#[test]
fn prints_a_token_and_starts_nothing() {
    let options = LabOptions {
        print_token: true,
        token: "s3cret".to_owned(),
        ..LabOptions::default()
    };
    let mut out = Vec::new();
    lab::run(case_study_labs::LABS, "fhir", options, &mut out).unwrap();
    assert_eq!(out, b"s3cret\n");
    assert_eq!(
        case_study_labs::LABS
            .iter()
            .map(|lab| lab.name)
            .collect::<Vec<_>>(),
        [
            "sum",
            "fhir",
            "shortener",
            "checkin",
            "pepeunit",
            "mqtt",
            "truth",
            "http2",
            "llm",
            "chat"
        ]
    );
}
