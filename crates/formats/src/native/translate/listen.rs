//! Reads `listen`: WebSocket clients that receive the messages that scenarios publish.

use codec::events::JsonPath;
use plan::{
    Listen, Plan, Scenario, Step,
    listen::{CONNECT_NAME_IS_TAKEN, GRACE_NS, PushPaths, stamps_of},
    units::SECOND,
    websocket::{WebSocketAction, WebSocketStep},
};

use super::{Translator, model};
use crate::{
    document::{Entry, Node},
    native::read::{self, entries},
    templates::Templates,
};

const MOST_CLIENTS: u32 = 1_000_000;
/// Default time between connects, for 100 connects per second.
const CONNECT_EVERY_NS: u64 = SECOND / 100;
pub(super) const KEY: &str = "listen";

impl Translator<'_> {
    pub(super) fn listen(&mut self, root: &Node) -> Option<Listen> {
        let entry = root.entry(KEY)?;
        let node = &entry.value;
        if entries(node, KEY, model::LISTEN, self.findings).is_empty() {
            return None;
        }
        let clients = self.listen_key(node, "clients", "clients: 100");
        let clients = clients.and_then(|n| read::whole_u32(n, "clients", 1, self.findings));
        if let Some(count) = clients.filter(|count| *count > MOST_CLIENTS) {
            let text = format!("`clients: {count}` is more than {MOST_CLIENTS}: use fewer");
            self.findings.problem(node.mark, text);
        }
        let connect_rate = node.get("connect-rate");
        let connect_rate =
            connect_rate.and_then(|rate| read::rate(rate, "connect-rate", self.findings));
        let connect_every_ns = connect_rate.map_or(CONNECT_EVERY_NS, |rate| {
            (SECOND as f64 / rate.as_f64().max(1e-9)) as u64
        });
        let grace = node.get("grace");
        let grace_ns = grace.and_then(|grace| read::duration(grace, "grace", self.findings));
        let opening = self.opening(entry);
        let push = self.push_paths(node);
        let (name, steps) = opening?;
        Some(Listen {
            clients: clients?,
            connect_every_ns,
            name,
            opening: Scenario {
                name: Some(KEY.to_owned()),
                weight: 1,
                volume: None,
                on_error: Vec::new(),
                steps,
            },
            push: push?,
            grace_ns: grace_ns.unwrap_or(GRACE_NS),
        })
    }

    fn listen_key<'n>(&mut self, node: &'n Node, key: &str, example: &str) -> Option<&'n Node> {
        let found = node.get(key);
        if found.is_none() {
            let text = format!("`{key}` is missing: add, for example, {example}");
            read::missing(node, model::LISTEN, text, self.findings);
        }
        found
    }

    /// Adds the phase in which listeners connect. No other phase may have its name.
    pub(super) fn add_connect_phase(&mut self, root: &Node, plan: &mut Plan) {
        if let Some(load) = root.get("load").filter(|_| plan.listen.is_some())
            && plan.phases_named_connect() > 0
        {
            self.findings.problem(load.mark, CONNECT_NAME_IS_TAKEN);
        }
        plan.add_connect_phase();
    }

    /// Returns the name of the connections, and the steps that open a connection.
    fn opening(&mut self, entry: &Entry) -> Option<(String, Vec<Step>)> {
        let node = &entry.value;
        let url = self.listen_key(node, "open", "open: /live")?;
        let own = Templates {
            strict: true,
            sets: self.given.clone(),
            ..Templates::default()
        };
        let outer = std::mem::replace(&mut self.templates, own);
        let mut steps: Vec<Step> = Vec::new();
        steps.extend(self.connect(entry, url, String::new()));
        let name = std::mem::take(&mut self.websocket_path);
        steps.extend(self.joining(entry, &name));
        let own = std::mem::replace(&mut self.templates, outer);
        self.asides.push((KEY, own));
        if stamps_of(&steps) > 0 {
            let text = "listeners do not publish: remove $intended, $sender and $message here";
            self.findings.problem(entry.key_mark, text);
        }
        (!steps.is_empty()).then_some((name, steps))
    }

    /// Reads the first message that a listener sends, and the message that it then waits for.
    fn joining(&mut self, entry: &Entry, name: &str) -> Option<Step> {
        let node = &entry.value;
        let expect = node.get("expect").map(|expect| self.expectation(expect));
        let action = match (node.get("send"), expect) {
            (None, None) => return None,
            (None, Some(expect)) => WebSocketAction::Expect(expect),
            (Some(send), expect) => WebSocketAction::Send {
                payload: self.message(send)?,
                expect,
            },
        };
        Some(Step::WebSocket(Box::new(WebSocketStep {
            connection: String::new(),
            action,
            label: name.to_owned(),
            at: Some(self.findings.at(entry.key_mark)),
        })))
    }

    fn push_paths(&mut self, node: &Node) -> Option<PushPaths> {
        let example = "push: { sent: $.sent, from: $.from, sequence: $.n }";
        let push = self.listen_key(node, "push", example)?;
        entries(push, "push", model::PUSH, self.findings);
        let mut path = |key: &str| {
            let Some(node) = push.get(key) else {
                let text = format!("`{key}` is missing: add, for example, {example}");
                read::missing(push, model::PUSH, text, self.findings);
                return None;
            };
            let text = read::text(node, key, self.findings)?;
            if JsonPath::parse(&text).is_err() {
                let problem = format!(
                    "`{key}: {text}` must consist of names and indices, for example $.data.sent"
                );
                self.findings.problem(node.mark, problem);
            }
            Some(text)
        };
        let (sent, from, sequence) = (path("sent"), path("from"), path("sequence"));
        Some(PushPaths {
            sent: sent?,
            from: from?,
            sequence: sequence?,
        })
    }
}
