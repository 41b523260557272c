use std::net::{SocketAddr, TcpListener};

use lab::{Lab, LabOptions};
use serde_json::{Value, json};

use crate::client::{Client, stats};
use crate::start_with;

const SESSIONS: &str = "/check_in/v2/sessions";

fn control(lab: &Lab) -> SocketAddr {
    let (scheme, address) = lab.sidecar().unwrap();
    assert_eq!(scheme, "http");
    address
}

fn render(lab: &Lab, what: &str) -> Vec<u64> {
    let reported = Client::connect(control(lab)).get("/stats").json();
    let workers = reported["worker_status"].as_array().unwrap();
    let of = |worker: &Value| worker["last_status"][what].as_u64().unwrap();
    workers.iter().map(of).collect()
}

#[test]
fn a_session_is_opened_and_handed_on() {
    let lab = start_with(
        "checkin",
        &[("hold", "1ms"), ("cpu", "0"), ("instances", "2")],
    );
    let mut client = Client::connect(lab.address());
    let body = json!({ "uuid": "d602d9eb", "last_name": "Smith" }).to_string();
    let opened = client.request("POST", SESSIONS, &body);
    assert_eq!(
        (opened.code, &opened.json()["permissions"]),
        (200, &json!("read.full"))
    );
    let id = opened.json()["id"].as_str().unwrap().to_owned();
    let mut permissions =
        |id: &str| client.get(&format!("{SESSIONS}/{id}")).json()["permissions"].clone();
    assert_eq!(permissions(&id), "read.full");
    assert_eq!(
        permissions("d602d9eb"),
        "read.none",
        "not the veteran's own number"
    );

    let body = json!({ "id": id }).to_string();
    for (method, path) in [
        ("PATCH", "/check_in/v2/demographics"),
        ("POST", "/check_in/v2/pre_check_ins"),
        ("POST", "/check_in/v2/patient_check_ins"),
    ] {
        assert_eq!(client.request(method, path, &body).code, 200, "{path}");
        let unknown_body = json!({ "id": "0123456789abcdef" }).to_string();
        assert_eq!(
            client.request(method, path, &unknown_body).code,
            401,
            "{path}"
        );
        assert_eq!(client.request(method, path, "{").code, 400, "{path}");
    }
    for kind in ["patient_check_ins", "pre_check_ins"] {
        let read = client.get(&format!("/check_in/v2/{kind}/{id}"));
        let state = &read.json()["payload"]["state"];
        assert_eq!((read.code, &state["checkedIn"]), (200, &json!(true)));
        assert_eq!(client.get(&format!("/check_in/v2/{kind}/none")).code, 401);
    }
    let reported = stats(lab.address());
    let own = &reported["checkin"];
    for (what, count) in [
        ("sessions", 1),
        ("check_ins", 1),
        ("pre_check_ins", 1),
        ("demographics", 1),
    ] {
        assert_eq!(own[what], count, "{what}");
    }
    assert_eq!(own["pool_wait"]["taken_up"], 16);
    assert_eq!(
        reported["answered"]["by_route"][format!("POST {SESSIONS}")],
        json!({ "200": 1 })
    );
    assert_eq!(render(&lab, "requests_count"), [8, 8]);
}

#[test]
fn request_without_thread_waits_for_the_downstream() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("lorota=http://{}", silent.local_addr().unwrap());
    let lab = start_with(
        "checkin",
        &[
            ("threads", "2"),
            ("cpu", "0"),
            ("pauses", "none"),
            ("downstream", &url),
        ],
    );
    let mut waiting: Vec<Client> = (0..5).map(|_| Client::connect(lab.address())).collect();
    for client in &mut waiting {
        client.send("GET", "/check_in/v2/sessions/x", "");
    }
    while render(&lab, "backlog") != [3] || render(&lab, "pool_capacity") != [0] {}
    assert_eq!(render(&lab, "busy_threads"), [5]);
    assert_eq!(render(&lab, "max_threads"), [2]);
    let metrics = Client::connect(control(&lab)).get("/metrics").body;
    for line in [
        "puma_request_backlog{instance=\"0\"} 3",
        "puma_thread_pool_capacity{instance=\"0\"} 0",
        "puma_requests_count{instance=\"0\"} 2",
        "checkin_threads_waiting{instance=\"0\",for=\"lorota\"} 2",
        "checkin_threads_waiting{instance=\"0\",for=\"chip\"} 0",
        "checkin_downstream_seconds_count{instance=\"0\",downstream=\"lorota\"} 0",
    ] {
        assert!(
            metrics.lines().any(|other| other == line),
            "{line}\n{metrics}"
        );
    }
    drop(silent);
    for client in &mut waiting {
        assert_eq!(client.receive("GET").code, 502);
    }
    while render(&lab, "pool_capacity") != [2] {}
    assert_eq!(render(&lab, "backlog"), [0]);
}

#[test]
fn a_downstream_is_called_over_connections_that_stay() {
    let after = start_with("truth", &[("mode", "constant")]);
    let url = |name: &str| format!("{name}=http://{}/base", after.address());
    let lab = Lab::start_from(
        case_study_labs::LABS,
        "checkin",
        &LabOptions {
            extra: vec![
                ("downstream".to_owned(), url("lorota")),
                ("downstream".to_owned(), url("chip")),
                ("cpu".to_owned(), "0".to_owned()),
            ],
            ..LabOptions::default()
        },
    )
    .unwrap();
    let mut client = Client::connect(lab.address());
    let opened = client.request("POST", SESSIONS, &json!({ "uuid": "u" }).to_string());
    let body = json!({ "id": opened.json()["id"] }).to_string();
    for _ in 0..9 {
        assert_eq!(
            client
                .request("PATCH", "/check_in/v2/demographics", &body)
                .code,
            200
        );
    }
    assert_eq!(stats(after.address())["received"]["total"], 10);
    let metrics = Client::connect(control(&lab)).get("/metrics").body;
    let count = "checkin_downstream_seconds_count{instance=\"0\",downstream=\"chip\"} 9";
    assert!(metrics.lines().any(|line| line == count), "{metrics}");
}

#[test]
fn too_much_computing_brings_more_instances_up_to_the_limit() {
    let scaled = start_with(
        "checkin",
        &[
            ("background", "100%"),
            ("hold", "0"),
            ("autoscale", "cpu>1% 1x60s up-to 3"),
            ("time", "1000x"),
        ],
    );
    while render(&scaled, "max_threads").len() < 3 {}
    assert_eq!(render(&scaled, "max_threads"), [16, 16, 16]);
}

#[test]
fn unknown_downstreams_are_refused() {
    for value in [
        "vista=http://127.0.0.1:1",
        "lorota",
        "lorota=https://127.0.0.1",
    ] {
        let options = LabOptions {
            extra: vec![("downstream".to_owned(), value.to_owned())],
            ..LabOptions::default()
        };
        let error = Lab::start_from(case_study_labs::LABS, "checkin", &options)
            .err()
            .unwrap();
        assert!(error.is_bad_input(), "{error}");
        assert!(error.to_string().contains("use NAME=URL"), "{error}");
    }
}
