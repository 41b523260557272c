use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::{Value, json};

use crate::client::Client;
use crate::start_with;

const API: &str = "/pepeunit/api/v1";
const CONFIG: &str = "active_period: {type: Permanent}\nfilters: {type_input_value: Number, max_rate: 0, max_size: 20, type_value_filtering: BlackList, filtering_values: [3]}\nprocessing_policy: {policy_type: TimeWindow, time_window_size: 3600}\n";

const TRIES: usize = 100_000;

struct Unit {
    rest: Client,
    broker: SocketAddr,
    node: String,
    env: Value,
}

fn unit(lab: &lab::Lab) -> Unit {
    let mut client = Client::connect(lab.address()).with_header("content-type", "application/json");
    let post = |client: &mut Client, path: &str, body: Value| {
        let answer = client.request("POST", &format!("{API}{path}"), &body.to_string());
        assert!(answer.code < 300, "{path}: {} {}", answer.code, answer.body);
        answer.json()
    };
    post(
        &mut client,
        "/users",
        json!({"login": "test", "password": "p/"}),
    );
    let auth = post(
        &mut client,
        "/users/auth",
        json!({"credentials": "test", "password": "p/"}),
    );
    let mut rest = Client::connect(lab.address())
        .with_header("x-auth-token", auth["token"].as_str().unwrap())
        .with_header("content-type", "application/json");
    let registry = post(
        &mut rest,
        "/repository_registry",
        json!({"repository_url": "https://a.test/r.git"}),
    );
    let found = rest.get(&format!(
        "{API}/repository_registry?search_string=https://a.test/r.git"
    ));
    assert_eq!(
        found.json()["repositories_registry"][0]["uuid"],
        registry["uuid"]
    );
    let repo = json!({"name": "test", "repository_registry_uuid": registry["uuid"]});
    let repo = post(&mut rest, "/repos", repo);
    let made = post(
        &mut rest,
        "/units",
        json!({"name": "test_0", "repo_uuid": repo["uuid"]}),
    );
    let list = rest.get(&format!(
        "{API}/units?is_include_output_unit_nodes=true&search_string=test"
    ));
    let node = &list.json()["units"][0]["unit_nodes"][0];
    assert_eq!(
        (node["type"].as_str(), node["topic_name"].as_str()),
        (Some("Output"), Some("output/pepeunit"))
    );
    let node = node["uuid"].as_str().unwrap().to_owned();
    let active = json!({"is_data_pipe_active": true}).to_string();
    assert_eq!(
        rest.request("PATCH", &format!("{API}/unit_nodes/{node}"), &active)
            .code,
        200
    );
    let env = rest
        .get(&format!(
            "{API}/units/env/{}",
            made["uuid"].as_str().unwrap()
        ))
        .json();
    let env: Value = serde_json::from_str(env.as_str().unwrap()).unwrap();
    let (_, broker) = lab.sidecar().unwrap();
    assert_eq!(env["PU_MQTT_PORT"], broker.port());
    Unit {
        rest,
        broker,
        node,
        env,
    }
}

impl Unit {
    fn configure(&mut self, lab: &lab::Lab, token: &str, config: &str) -> u16 {
        let body = format!(
            "--b\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a.yaml\"\r\n\r\n{config}\r\n--b--\r\n"
        );
        let mut client = Client::connect(lab.address())
            .with_header("x-auth-token", token)
            .with_header("content-type", "multipart/form-data; boundary=b");
        let path = format!(
            "{API}/unit_nodes/set_data_pipe_config?uuid={}&is_bot_auth=false",
            self.node
        );
        client.request("POST", &path, &body).code
    }

    /// Publishes with MQTT 3.1.1, with the token as the user name. Returns the responses to CONNECT
    /// and to the final PINGREQ.
    fn publish(&self, token: &str, topic: &str, payloads: &[&str]) -> (u8, bool) {
        let text = |out: &mut Vec<u8>, text: &str| {
            out.extend((text.len() as u16).to_be_bytes());
            out.extend(text.as_bytes());
        };
        let mut body = b"\0\x04MQTT\x04\xc2\0\x1e".to_vec();
        text(&mut body, "somebody");
        text(&mut body, token);
        text(&mut body, "");
        let packet = |first: u8, body: &[u8]| {
            let mut out = vec![first];
            let mut length = body.len();
            while length > 127 {
                out.push(length as u8 | 128);
                length >>= 7;
            }
            out.push(length as u8);
            out.extend(body);
            out
        };
        let mut stream = TcpStream::connect(self.broker).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream.write_all(&packet(0x10, &body)).unwrap();
        let mut connack = [0; 4];
        stream.read_exact(&mut connack).unwrap();
        if connack[3] != 0 {
            return (connack[3], false);
        }
        for payload in payloads {
            let mut body = Vec::new();
            text(&mut body, topic);
            body.extend(payload.as_bytes());
            stream.write_all(&packet(0x30, &body)).unwrap();
        }
        stream.write_all(&[0xc0, 0]).unwrap();
        let mut pong = [0; 2];
        (0, stream.read_exact(&mut pong).is_ok())
    }

    fn rows(&mut self, kind: &str, wanted: u64) -> Value {
        let path = format!(
            "{API}/unit_nodes/get_data_pipe_data?uuid={}&type={kind}",
            self.node
        );
        for _ in 0..TRIES {
            let reported = self.rest.get(&path).json();
            if reported["count"].as_u64() >= Some(wanted) {
                return reported;
            }
        }
        panic!("they never came");
    }
}

fn token(lab: &lab::Lab) -> String {
    let mut client = Client::connect(lab.address()).with_header("content-type", "application/json");
    let body = json!({"credentials": "test", "password": "p/"}).to_string();
    let reported = client
        .request("POST", &format!("{API}/users/auth"), &body)
        .json();
    reported["token"].as_str().unwrap().to_owned()
}

#[test]
fn published_messages_are_stored_and_read_back() {
    let lab = start_with("pepeunit", &[("flush", "0")]);
    let mut unit = unit(&lab);
    let user = token(&lab);
    assert_eq!(unit.configure(&lab, &user, CONFIG), 204);
    assert_eq!(unit.configure(&lab, &user, "active_period: 1"), 422);
    assert_eq!(unit.configure(&lab, "nobody", CONFIG), 401);
    let topic = format!("localhost/{}/pepeunit", unit.node);
    let own = unit.env["PU_AUTH_TOKEN"].as_str().unwrap().to_owned();
    assert_eq!(
        unit.publish("wrong", &topic, &["1"]).0,
        4,
        "bad user name or password"
    );
    assert_eq!(
        unit.publish(&own, &topic, &["1", "2", "2", "3", "x"]),
        (0, true)
    );
    assert_eq!(
        unit.publish(&own, "localhost/nobody/pepeunit", &["9"]),
        (0, true)
    );
    let reported = unit.rows("TimeWindow", 3);
    let states: Vec<&str> = reported["pipe_data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["state"].as_str())
        .collect();
    assert_eq!(
        (reported["count"].as_u64(), states),
        (Some(3), vec!["2", "2", "1"])
    );
    let stats = unit.rest.get("/__lab/stats").json();
    let own = &stats["pepeunit"];
    assert_eq!(
        (
            own["piped"].as_u64(),
            own["passed"].as_u64(),
            own["denied"].as_u64()
        ),
        (Some(5), Some(3), Some(1))
    );
    assert_eq!(own["filtered"], json!({"list": 1, "type": 1}));
    assert_eq!(
        (
            own["broker"]["refused"].as_u64(),
            own["broker"]["received"].as_u64()
        ),
        (Some(1), Some(6))
    );
}

#[test]
fn broker_api_lists_subscriptions() {
    let lab = start_with("pepeunit", &[("crash-at", "1ms")]);
    let mut unit = unit(&lab);
    let mut client = Client::connect(lab.address()).with_header("content-type", "application/json");
    let mut login = |password: &str| {
        let body = json!({"username": "admin", "password": password}).to_string();
        client.request("POST", "/api/v5/login", &body)
    };
    assert_eq!(login("wrong").code, 401);
    let bearer = format!(
        "Bearer {}",
        login("public").json()["token"].as_str().unwrap()
    );
    let mut client = Client::connect(lab.address()).with_header("authorization", &bearer);
    let asked = "/api/v5/subscriptions?page=1&limit=50&qos=0&topic=localhost%2F%2B%2Fpepeunit";
    assert_eq!(client.get(asked).json()["meta"]["count"], 1);
    let topic = format!("localhost/{}/pepeunit", unit.node);
    let own = unit.env["PU_AUTH_TOKEN"].as_str().unwrap().to_owned();
    assert!(unit.publish(&own, &topic, &["1"]).1);
    let mut asks = (0..TRIES).map(|_| client.get(asked).json()["meta"]["count"].clone());
    assert!(asks.any(|count| count == 0), "it lives for ever");
    assert_eq!(unit.rest.get(&format!("{API}/units/none")).code, 404);
}

#[test]
fn unknown_rules_are_refused() {
    let options = lab::LabOptions {
        extra: vec![("break".to_owned(), "gravity".to_owned())],
        ..lab::LabOptions::default()
    };
    let reported = lab::Lab::start_from(case_study_labs::LABS, "pepeunit", &options)
        .err()
        .unwrap()
        .to_string();
    assert!(
        reported.contains("break=gravity") && reported.contains("time-window-every"),
        "{reported}"
    );
}
