//! Users, repositories, units, nodes and pipes of the platform, and its accelerated time.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};

use lab::clock;

use super::pipe::{Pipe, PipeCounts, Turns, config::Config, moment, rules::RuleSet};

#[derive(Debug, Clone)]
pub(crate) struct PlatformConfig {
    pub domain: String,
    pub secret: String,
    pub broker_user: (String, String),
    pub rules: RuleSet,
    pub turns: Turns,
    pub hurry: u64,
    /// Time from the first message to the crash of the consumer.
    pub crash_at_ns: Option<u64>,
}

pub(crate) struct Platform {
    pub config: PlatformConfig,
    /// Start, both in nanoseconds of the machine's clock and in platform time.
    begun: (u64, u64),
    mqtt_port: Mutex<u16>,
    inside: Mutex<Inside>,
}

#[derive(Default)]
pub(crate) struct Inside {
    next: u64,
    pub users: BTreeMap<String, (String, String)>,
    pub registry: Vec<Value>,
    pub repos: Vec<Value>,
    pub units: BTreeMap<String, PlatformUnit>,
    nodes: HashMap<String, String>,
    first_ns: Option<u64>,
    pub counts: LabCounts,
}

#[derive(Debug, Default)]
pub(crate) struct LabCounts {
    pub consumed: u64,
    pub overrun: u64,
    pub after_crash: u64,
    pub nowhere: u64,
    pub system: u64,
    pub denied: u64,
}

pub(crate) struct PlatformUnit {
    pub uuid: String,
    pub name: String,
    pub fields: Value,
    pub env: Value,
    pub nodes: Vec<UnitNode>,
    pub system: u64,
}

pub(crate) struct UnitNode {
    pub uuid: String,
    pub kind: &'static str,
    pub topic_name: &'static str,
    pub is_active: bool,
    pub state: Option<String>,
    pub pipe: Option<Pipe>,
}

impl Platform {
    pub fn new(config: PlatformConfig) -> Platform {
        let now_ms = jiff::Timestamp::now().as_millisecond().unsigned_abs();
        Platform {
            config,
            begun: (clock::monotonic_ns(), now_ms),
            mqtt_port: Mutex::default(),
            inside: Mutex::default(),
        }
    }

    pub fn now_ms(&self) -> u64 {
        let (begun_ns, at_ms) = self.begun;
        at_ms + (clock::monotonic_ns() - begun_ns) * self.config.hurry / 1_000_000
    }

    pub fn is_crashed(&self) -> bool {
        let Some(at_ns) = self.config.crash_at_ns else {
            return false;
        };
        let first = self.inside().first_ns;
        first.is_some_and(|first| clock::monotonic_ns() - first >= at_ns)
    }

    pub fn listens_at(&self, port: u16) {
        *self
            .mqtt_port
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = port;
    }

    pub fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn allows(&self, unit: &str, topic: &str) -> bool {
        let levels: Vec<&str> = topic.split('/').collect();
        let inside = self.inside();
        match levels.as_slice() {
            [domain, node, "pepeunit"] => {
                *domain == self.config.domain && inside.nodes.contains_key(*node)
            }
            [domain, base, own, _, "pepeunit"] => {
                let is_base = ["input_base_topic", "output_base_topic"].contains(base);
                *domain == self.config.domain && is_base && *own == unit
            }
            _ => false,
        }
    }

    pub fn take(&self, topic: &str, payload: &[u8]) {
        let now_ms = self.now_ms();
        let is_crashed = self.is_crashed();
        let mut inside = self.inside();
        let inside = &mut *inside;
        if is_crashed {
            inside.counts.after_crash += 1;
            return;
        }
        inside.first_ns.get_or_insert_with(clock::monotonic_ns);
        inside.counts.consumed += 1;
        let levels: Vec<&str> = topic.split('/').collect();
        match levels.as_slice() {
            [_, node, _] => {
                let unit = inside
                    .nodes
                    .get(*node)
                    .and_then(|unit| inside.units.get_mut(unit));
                let node = unit.and_then(|unit| unit.nodes.iter_mut().find(|of| of.uuid == *node));
                let Some(node) = node.filter(|node| node.is_active) else {
                    inside.counts.nowhere += 1;
                    return;
                };
                let config = &self.config;
                let pipe = node.pipe.get_or_insert_with(|| {
                    Pipe::new(Config::of_the_house(), config.rules, config.turns, now_ms)
                });
                pipe.go_on(now_ms);
                pipe.take(payload, now_ms);
            }
            [_, _, unit, ..] => {
                inside.counts.system += 1;
                if let Some(unit) = inside.units.get_mut(*unit) {
                    unit.system += 1;
                }
            }
            _ => inside.counts.nowhere += 1,
        }
    }

    pub fn env(&self, unit: &PlatformUnit, token: &str) -> Value {
        let port = *self
            .mqtt_port
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut env = json!({
            "PU_DOMAIN": self.config.domain, "PU_HTTP_TYPE": "http", "PU_AUTH_TOKEN": token,
            "PU_MQTT_HOST": "127.0.0.1", "PU_MQTT_PORT": port, "PU_MQTT_PING_INTERVAL": 30,
            "PU_API_ACTUAL_PREFIX": "/api/v1", "PU_APP_PREFIX": "/pepeunit",
        });
        let own = unit.env.as_object().into_iter().flatten();
        for (name, value) in own {
            env[name.as_str()] = value.clone();
        }
        env
    }

    pub fn stats(&self) -> Value {
        let inside = self.inside();
        let mut all = PipeCounts::default();
        let nodes = inside.units.values().flat_map(|unit| &unit.nodes);
        for pipe in nodes.filter_map(|node| node.pipe.as_ref()) {
            all.came += pipe.counts.came;
            all.passed += pipe.counts.passed;
            for (reason, count) in &pipe.counts.filtered {
                *all.filtered.entry(reason).or_default() += count;
            }
        }
        let seen = &inside.counts;
        json!({
            "users": inside.users.len(), "units": inside.units.len(),
            "consumed": seen.consumed, "overrun": seen.overrun, "after_crash": seen.after_crash,
            "nowhere": seen.nowhere, "system": seen.system, "denied": seen.denied,
            "piped": all.came, "passed": all.passed, "filtered": all.filtered,
        })
    }
}

impl Inside {
    pub fn uuid(&mut self) -> String {
        self.next += 1;
        let n = self.next;
        format!(
            "{:08x}-0000-4000-8000-{n:012x}",
            n.wrapping_mul(0x9e37_79b1) & 0xffff_ffff
        )
    }

    pub fn add_unit(&mut self, fields: &Value) -> String {
        let uuid = self.uuid();
        let node = |this: &mut Inside, kind, topic_name| UnitNode {
            uuid: this.uuid(),
            kind,
            topic_name,
            is_active: false,
            state: None,
            pipe: None,
        };
        let nodes = vec![
            node(self, "Input", "input/pepeunit"),
            node(self, "Output", "output/pepeunit"),
        ];
        for node in &nodes {
            self.nodes.insert(node.uuid.clone(), uuid.clone());
        }
        let unit = PlatformUnit {
            uuid: uuid.clone(),
            name: fields["name"].as_str().unwrap_or_default().to_owned(),
            fields: fields.clone(),
            env: json!({}),
            nodes,
            system: 0,
        };
        self.units.insert(uuid.clone(), unit);
        uuid
    }

    pub fn remove_unit(&mut self, uuid: &str) -> bool {
        let Some(unit) = self.units.remove(uuid) else {
            return false;
        };
        for node in &unit.nodes {
            self.nodes.remove(&node.uuid);
        }
        true
    }

    pub fn node(&mut self, uuid: &str) -> Option<&mut UnitNode> {
        let unit = self.nodes.get(uuid)?;
        let unit = self.units.get_mut(unit)?;
        unit.nodes.iter_mut().find(|node| node.uuid == uuid)
    }
}

impl PlatformUnit {
    pub fn render(&self, with_nodes: bool) -> Value {
        let mut rendered = json!({
            "uuid": self.uuid, "name": self.name, "repo_uuid": self.fields["repo_uuid"],
            "visibility_level": self.fields["visibility_level"], "unit_nodes": [],
        });
        if with_nodes {
            let outputs = self.nodes.iter().filter(|node| node.kind == "Output");
            rendered["unit_nodes"] = outputs.map(|node| node.render(&self.uuid)).collect();
        }
        rendered
    }
}

impl UnitNode {
    pub fn render(&self, unit: &str) -> Value {
        let last = self.pipe.as_ref().and_then(Pipe::last);
        let state = last.map(|(state, _)| state).or(self.state.as_deref());
        json!({
            "uuid": self.uuid, "unit_uuid": unit, "type": self.kind, "topic_name": self.topic_name,
            "visibility_level": "Public", "is_data_pipe_active": self.is_active, "state": state,
            "last_update_datetime": last.map(|(_, at_ms)| moment(at_ms / 1000 * 1000)),
        })
    }
}
