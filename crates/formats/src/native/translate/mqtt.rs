//! Reads `mqtt`: clients that publish and subscribe in the background.

use std::path::Path;

use mqtt::topic;
use plan::{
    BackgroundMqtt, Http, Load,
    mqtt::{
        Arrival, Clients, Mqtt, Payload, Properties, PublishPace, Publishing, Subscribing, Version,
    },
    units::{MILLISECOND, SECOND},
};
use serde_json::Value;

use super::{Translator, model};
use crate::{
    document::Node,
    native::read::{self, entries},
};

const MOST_CLIENTS: u32 = 1_000_000;
const PAYLOAD: u32 = 256;
/// Maximum size of a payload in bytes: the maximum packet size minus the topic.
const MOST_BYTES: u32 = 268_000_000;
const CONNECT_EVERY_NS: u64 = 10 * MILLISECOND;
const KEEP_ALIVE_S: u16 = 300;
const LAB: &str = "lab:";

struct ServerAddress {
    host: String,
    port: Option<u16>,
    tls: bool,
}

struct Common {
    username: Option<String>,
    password: Option<String>,
    keep_alive_s: u16,
}

impl Translator<'_> {
    pub(super) fn mqtt(&mut self, root: &Node, folder: &Path) -> Option<BackgroundMqtt> {
        let node = root.get("mqtt")?;
        if entries(node, "mqtt", model::MQTT, self.findings).is_empty() {
            return None;
        }
        let server = self.server_of(node);
        let version = self.version_of(node);
        let http = self.tls_of(node, folder);
        let is_tls = server.as_ref().is_some_and(|server| server.tls) || tls_is_meant(node);
        let common = Common {
            username: self.word(node, "user"),
            password: self.secret_word(node),
            keep_alive_s: self.keep_alive(node),
        };
        let connect_rate = node
            .get("connect-rate")
            .and_then(|rate| read::rate(rate, "connect-rate", self.findings));
        let connect_every_ns = connect_rate.map_or(CONNECT_EVERY_NS, |rate| {
            (SECOND as f64 / rate.as_f64().max(1e-9)) as u64
        });
        // Receivers must connect before publishers.
        let mut groups = Vec::new();
        for (kind, key) in [("sub", "subscribe"), ("pub", "publish")] {
            for (nth, item) in items(node, key).iter().enumerate() {
                let kind = match nth {
                    0 => kind.to_owned(),
                    nth => format!("{kind}{}", nth + 1),
                };
                let group = match key {
                    "publish" => self.publishers(item, &kind, &common),
                    _ => self.subscribers(item, &kind, &common),
                };
                groups.extend(group);
            }
        }
        if node.get("publish").is_none() && node.get("subscribe").is_none() {
            let help = "these clients do nothing: add `publish` or `subscribe`, for example publish: { clients: 10, topic: 't/%i', rate: 100/s }";
            read::missing(node, model::MQTT, help, self.findings);
        }
        self.payload_without_stamp(node, &groups);
        let server = server?;
        Some(BackgroundMqtt {
            mqtt: Mqtt {
                port: server.port.unwrap_or(if is_tls { 8883 } else { 1883 }),
                host: server.host,
                more_hosts: Vec::new(),
                tls: is_tls,
                version,
                arrivals: Arrival::Elsewhere,
                connect_every_ns,
                groups,
            },
            verify_tls: http.verify_tls,
            tls: http.tls,
        })
    }

    fn server_of(&mut self, node: &Node) -> Option<ServerAddress> {
        let Some(host) = node.get("host") else {
            let help =
                "`host` is missing: add the broker's address, for example host: 127.0.0.1:1883";
            read::missing(node, model::MQTT, help, self.findings);
            return None;
        };
        let text = self.text_of(host, "host")?;
        if text.starts_with(LAB) {
            return Some(ServerAddress {
                host: text,
                port: None,
                tls: false,
            });
        }
        let (tls, place) = match text.split_once("://") {
            Some(("mqtt", place)) => (false, place),
            Some(("mqtts", place)) => (true, place),
            Some(_) => (false, ""),
            None => (false, text.as_str()),
        };
        let read = place_of(place);
        if read.is_none() {
            let text = format!(
                "`host: {text}` is not a broker address: use HOST, HOST:PORT or mqtts://HOST:PORT"
            );
            self.findings.problem(host.mark, text);
        }
        let (host, port) = read?;
        Some(ServerAddress { host, port, tls })
    }

    fn version_of(&mut self, node: &Node) -> Version {
        let Some(version) = node.get("version") else {
            return Version::V5;
        };
        match version.text().as_str() {
            "5" | "5.0" => Version::V5,
            "3.1.1" | "4" => Version::V311,
            other => {
                let text = format!("`version: {other}` is unknown: use 3.1.1 or 5");
                self.findings.problem(version.mark, text);
                Version::V5
            }
        }
    }

    fn tls_of(&mut self, node: &Node, folder: &Path) -> Http {
        let mut http = Http {
            verify_tls: !self.inputs.insecure,
            ..Http::default()
        };
        if let Some(verify) = node
            .get("verify")
            .and_then(|verify| read::boolean(verify, "verify", self.findings))
        {
            http.verify_tls &= verify;
        }
        match node.get("tls") {
            Some(tls) if tls.is_map() => self.own_tls(tls, folder, &mut http),
            Some(tls) if tls.as_bool().is_none() => {
                let text = format!(
                    "`tls` must be true, false or a mapping of certificates, not {}",
                    tls.kind()
                );
                self.findings.problem(tls.mark, text);
            }
            _ => {}
        }
        http
    }

    fn keep_alive(&mut self, node: &Node) -> u16 {
        let Some(keep_alive) = node.get("keep-alive") else {
            return KEEP_ALIVE_S;
        };
        let Some(ns) = read::duration(keep_alive, "keep-alive", self.findings) else {
            return KEEP_ALIVE_S;
        };
        let seconds = u16::try_from(ns / SECOND).ok().filter(|s| *s > 0);
        if seconds.is_none() {
            let text = format!(
                "`keep-alive: {}` must be between 1s and 65535s",
                keep_alive.text()
            );
            self.findings.problem(keep_alive.mark, text);
        }
        seconds.unwrap_or(KEEP_ALIVE_S)
    }

    fn publishers(&mut self, node: &Node, kind: &str, common: &Common) -> Option<Clients> {
        if entries(node, "publish", model::MQTT_PUBLISH, self.findings).is_empty() {
            return None;
        }
        let clients = self.clients(node, model::MQTT_PUBLISH, kind, common);
        let topic = self.topic(node, model::MQTT_PUBLISH);
        let qos = self.qos(node);
        let pace = self.pace(node);
        let mut flag = |key: &str| {
            let value = node.get(key);
            value.and_then(|value| read::boolean(value, key, self.findings))
        };
        let retain = flag("retain").unwrap_or(false);
        let inflight = self.at_most(node, "in-flight", u32::from(u16::MAX), 1);
        let payload = self.payload(node);
        let mut clients = clients?;
        let topic = topic?;
        if topic.is_empty() || topic::has_wildcard(topic.as_bytes()) {
            let mark = node.get("topic").map_or(node.mark, |topic| topic.mark);
            let text = format!(
                "`topic: {topic}`: a topic for publishing must not be empty or contain + or #"
            );
            self.findings.problem(mark, text);
        }
        clients.publish = Some(Publishing {
            topic,
            qos,
            retain,
            payload,
            inflight: u16::try_from(inflight).unwrap_or(u16::MAX),
            properties: Properties::default(),
            pace: Some(pace?),
        });
        Some(clients)
    }

    fn subscribers(&mut self, node: &Node, kind: &str, common: &Common) -> Option<Clients> {
        if entries(node, "subscribe", model::MQTT_SUBSCRIBE, self.findings).is_empty() {
            return None;
        }
        let clients = self.clients(node, model::MQTT_SUBSCRIBE, kind, common);
        let qos = self.qos(node);
        let Some(topics) = node.get("topic") else {
            let help = "`topic` is missing: add the topic filter, for example topic: 't/#'";
            read::missing(node, model::MQTT_SUBSCRIBE, help, self.findings);
            return None;
        };
        let mut subscribe = Vec::new();
        for item in topics.as_list().unwrap_or(std::slice::from_ref(topics)) {
            let Some(filter) = self.text_of(item, "topic") else {
                continue;
            };
            if let Some(reason) = topic::filter_fault(&filter) {
                let text = format!("`topic: {filter}` is not a valid filter: {reason}");
                self.findings.problem(item.mark, text);
            }
            subscribe.push(Subscribing { filter, qos });
        }
        let mut clients = clients?;
        clients.subscribe = subscribe;
        Some(clients)
    }

    fn clients(
        &mut self,
        node: &Node,
        keys: &[&str],
        kind: &str,
        common: &Common,
    ) -> Option<Clients> {
        let count = match node.get("clients") {
            Some(clients) => read::whole_u32(clients, "clients", 1, self.findings),
            None => {
                let help =
                    "`clients` is missing: add the number of clients, for example clients: 10";
                read::missing(node, keys, help, self.findings);
                None
            }
        };
        if let Some(node) = node.get("clients").filter(|_| count > Some(MOST_CLIENTS)) {
            let text = format!(
                "`clients: {}`: at most {MOST_CLIENTS} are allowed",
                node.text()
            );
            self.findings.problem(node.mark, text);
        }
        let first = node
            .get("first")
            .and_then(|first| read::whole_number(first, "first", 0, self.findings));
        let clean = node
            .get("clean")
            .and_then(|clean| read::boolean(clean, "clean", self.findings));
        let client_id = self.word(node, "client-id");
        let username = self.word(node, "user").or_else(|| common.username.clone());
        let password = self.secret_word(node).or_else(|| common.password.clone());
        // Client identifiers must differ between concurrent runs, but be equal in all processes of
        // a run.
        let run = self.inputs.run_name.unwrap_or_else(std::process::id);
        let usual = || format!("loadline-{run}-{kind}-%i");
        Some(Clients {
            count: count?,
            first: first.unwrap_or(0),
            client_id: client_id.unwrap_or_else(usual),
            username,
            password,
            keep_alive_s: common.keep_alive_s,
            clean: clean.unwrap_or(true),
            session_expiry_s: 0,
            will: None,
            publish: None,
            subscribe: Vec::new(),
            each: Vec::new(),
            credentials: Vec::new(),
        })
    }

    fn topic(&mut self, node: &Node, keys: &[&str]) -> Option<String> {
        if node.get("topic").is_none() {
            let help = "`topic` is missing: add the topic to publish to, for example topic: 't/%i'";
            read::missing(node, keys, help, self.findings);
        }
        self.text_of(node.get("topic")?, "topic")
    }

    fn qos(&mut self, node: &Node) -> u8 {
        let Some(qos) = node.get("qos") else { return 0 };
        let level = read::whole_number(qos, "qos", 0, self.findings);
        if level.is_some_and(|level| level > 2) {
            let text = format!("`qos: {}` is unknown: use 0, 1 or 2", qos.text());
            self.findings.problem(qos.mark, text);
        }
        level
            .and_then(|level| u8::try_from(level).ok())
            .unwrap_or(0)
    }

    fn at_most(&mut self, node: &Node, key: &str, most: u32, usual: u32) -> u32 {
        let Some(value) = node.get(key) else {
            return usual;
        };
        let number = read::whole_u32(value, key, 1, self.findings);
        if number.is_some_and(|number| number > most) {
            let text = format!("`{key}: {}`: at most {most}", value.text());
            self.findings.problem(value.mark, text);
        }
        number.unwrap_or(usual)
    }

    fn payload(&mut self, node: &Node) -> Payload {
        match node.get("payload") {
            None => Payload::Stamped(PAYLOAD),
            Some(payload) if payload.as_scalar().is_some_and(Value::is_number) => {
                Payload::Stamped(self.at_most(node, "payload", MOST_BYTES, PAYLOAD))
            }
            Some(payload) => {
                let text = self.text_of(payload, "payload");
                Payload::Text(text.unwrap_or_default())
            }
        }
    }

    fn pace(&mut self, node: &Node) -> Option<PublishPace> {
        let keys = ["rate", "load", "volume"];
        let mut rates = node
            .entries()
            .iter()
            .filter(|entry| keys.contains(&entry.key.as_str()));
        let Some(first) = rates.next() else {
            let help = "`rate` is missing: add the message rate of all clients together, for example rate: 100/s";
            read::missing(node, model::MQTT_PUBLISH, help, self.findings);
            return None;
        };
        if let Some(second) = rates.next() {
            let text = format!(
                "`{}` cannot be combined with `{}`: use only one of `rate`, `load` and `volume` for messages",
                second.key, first.key
            );
            self.findings.problem(second.key_mark, text);
            return None;
        }
        let value = &first.value;
        match first.key.as_str() {
            "load" => self.own_load(value),
            key => {
                let rate = read::rate(value, key, self.findings)?;
                if rate.is_zero() {
                    let text = format!(
                        "`{key}: {}`: no message would be sent: use a larger value",
                        value.text()
                    );
                    self.findings.problem(value.mark, text);
                    return None;
                }
                if key == "rate" {
                    return Some(PublishPace::Rate(rate));
                }
                let full = self.volumes.full();
                if full.is_none() && !self.volumes.are_said() {
                    let text = "`volume` needs scenarios with a `volume`, and there are none: use `rate` instead";
                    self.findings.problem(first.key_mark, text);
                }
                Some(PublishPace::Follows {
                    volume: rate,
                    full: full?,
                })
            }
        }
    }

    fn own_load(&mut self, node: &Node) -> Option<PublishPace> {
        let items = node.as_list().unwrap_or(std::slice::from_ref(node));
        let mut is_right = true;
        for entry in items.iter().flat_map(Node::entries) {
            let reason = match entry.key.as_str() {
                "users" => "messages cannot have users: use a rate",
                "level" => {
                    "levels are only for scenarios: use `rate`, or `volume` instead of `load`"
                }
                "max-users" => "publishers are not virtual users: remove this key",
                "name" => "phases are named in the `load` of the plan: remove this name",
                _ => continue,
            };
            let text = format!("`{}` in the message load: {reason}", entry.key);
            self.findings.problem(entry.key_mark, text);
            is_right = false;
        }
        match self.load_of(node)? {
            Load::Open { phases, .. } if is_right => Some(PublishPace::Phases(phases)),
            _ => None,
        }
    }

    fn text_of(&mut self, node: &Node, key: &str) -> Option<String> {
        match self.constant(node)? {
            Value::String(text) if !text.is_empty() => Some(text),
            Value::Number(number) => Some(number.to_string()),
            Value::String(_) => {
                self.findings
                    .problem(node.mark, format!("`{key}` is empty"));
                None
            }
            _ => {
                let text = format!("`{key}` must be text, not {}", node.kind());
                self.findings.problem(node.mark, text);
                None
            }
        }
    }

    fn word(&mut self, node: &Node, key: &str) -> Option<String> {
        self.text_of(node.get(key)?, key)
    }

    fn secret_word(&mut self, node: &Node) -> Option<String> {
        self.word(node, "password")
    }

    fn payload_without_stamp(&mut self, node: &Node, groups: &[Clients]) {
        let is_text = |group: &Clients| {
            let publish = group.publish.as_ref();
            publish.is_some_and(|publish| matches!(publish.payload, Payload::Text(_)))
        };
        let somebody_receives = groups.iter().any(|group| !group.subscribe.is_empty());
        if somebody_receives && groups.iter().any(is_text) {
            let text = "a custom payload has no message header: deliveries count as foreign, and are not timed or checked";
            self.findings.note(node.mark, text);
        }
    }
}

fn items<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    let Some(node) = node.get(key) else {
        return &[];
    };
    node.as_list().unwrap_or(std::slice::from_ref(node))
}

fn tls_is_meant(node: &Node) -> bool {
    node.get("tls")
        .is_some_and(|tls| tls.is_map() || tls.as_bool() == Some(true))
}

fn place_of(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            match after.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if after.is_empty() => (host, None),
                None => return None,
            }
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_host = !host.is_empty()
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b".-_:".contains(&b));
    let port = match port {
        Some(port) => Some(port.parse::<u16>().ok().filter(|port| *port > 0)?),
        None => None,
    };
    is_host.then(|| (host.to_owned(), port))
}
