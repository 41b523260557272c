//! Translates scenarios of the engine `socketio`: each virtual user has one session, which opens
//! before the first step. Steps with HTTP methods are requests, as in other scenarios.

use plan::{
    Request, Step, Template,
    socketio::{
        AckExpectation, ArgumentMatch, Emit, EmitAwaits, EventExpectation, SocketIoAction,
        SocketIoConnect, SocketIoStep,
    },
    websocket::MessageExpectation,
};
use serde_json::Value;
use url::Url;

use super::{Translator, nanoseconds, to_number};
use crate::read::keys::KeyLevel;
use formats::document::{Entry, Mark, Node};

const DEFAULT_PATH: &str = "/socket.io/";
/// Default time limit for waiting for an event.
const DEFAULT_WAIT_NS: u64 = 10 * plan::units::SECOND;
/// Keys that belong to the same step as `emit`.
const EMIT_OPTIONS: [&str; 3] = ["namespace", "response", "acknowledge"];
/// Keys that locate a value. Without any of them, Artillery uses the first argument.
const SOURCES: [&str; 5] = ["json", "regexp", "header", "selector", "xpath"];
/// Functions that Artillery calls only in scenarios of other engines.
const HOOKS: [&str; 3] = ["beforeScenario", "afterScenario", "onError"];

/// The settings that all sessions of a script share.
#[derive(Default)]
pub(super) struct SocketIoSettings {
    /// Value of `config.socketio`.
    options: Option<Node>,
    within_ns: Option<u64>,
    target: String,
    target_mark: Option<Mark>,
    /// Whether the steps being read belong to this engine.
    pub is_active: bool,
    is_used: bool,
    /// Path of the target, which is the default namespace.
    namespace: String,
    /// Step that joins the namespace of the last step that was read.
    pub join: Option<Step>,
    auth: Option<Template>,
}

impl Translator<'_> {
    /// Reads `config.socketio`.
    pub(super) fn socketio_settings(&mut self, config: &Node) {
        let target = config.get("target");
        self.socketio.target = target.map(Node::text).unwrap_or_default();
        self.socketio.target_mark = target.map(|node| node.mark);
        let limit = config.get("timeout");
        let limit = limit.and_then(|node| nanoseconds(to_number(node)));
        self.socketio.within_ns = limit.filter(|ns| *ns > 0);
        let options = config.get("socketio").filter(|node| node.is_truthy());
        if let Some(options) = options {
            self.map(options, "socketio");
            self.check_keys(options, KeyLevel::SocketIo);
        }
        self.socketio.options = options.cloned();
    }

    /// Adds a note if `config.socketio` is unused. Must be called after reading all scenarios.
    pub(super) fn unused_socketio_settings(&mut self, config: &Node) {
        let entry = config.entry("socketio");
        if let Some(entry) = entry.filter(|_| !self.socketio.is_used) {
            let text = "`socketio` has no effect: no scenario uses the engine socketio";
            self.findings.note(entry.key_mark, text);
        }
    }

    /// Reads the steps of a scenario.
    pub(super) fn socketio_scenario(&mut self, scenario: &Node) -> Vec<Step> {
        for key in HOOKS {
            if let Some(entry) = scenario.entry(key) {
                let text = format!(
                    "`{key}` has no effect: Artillery's engine socketio calls no hooks (use a `function` step)"
                );
                self.findings.note(entry.key_mark, text);
            }
        }
        self.socketio.is_used = true;
        let own = scenario.get("socketio").filter(|node| node.is_truthy());
        if let Some(own) = own {
            self.map(own, "socketio");
            self.check_keys(own, KeyLevel::SocketIo);
        }
        let common = self.socketio.options.take();
        let option = |key: &str| {
            let own = own.and_then(|node| node.get(key));
            own.or_else(|| common.as_ref().and_then(|node| node.get(key)))
                .filter(|node| node.is_truthy())
        };
        let mark = self.socketio.target_mark.unwrap_or(scenario.mark);
        let mut steps = self.open_session(&option, scenario, mark);
        self.socketio.options = common;
        self.socketio.is_active = true;
        let flow = scenario.get("flow").map(|flow| self.steps(flow));
        self.socketio.is_active = false;
        steps.extend(flow.unwrap_or_default());
        steps
    }

    /// Returns the steps that open the session.
    fn open_session<'n>(
        &mut self,
        option: &dyn Fn(&str) -> Option<&'n Node>,
        scenario: &Node,
        mark: Mark,
    ) -> Vec<Step> {
        let target = self.socketio.target.clone();
        let Some(url) = Url::parse(&target).ok().filter(Url::has_host) else {
            let text = format!(
                "`{target}` is not the URL of a Socket.IO server: it must start with http:// or https://"
            );
            self.findings.problem(mark, text);
            return Vec::new();
        };
        // The Socket.IO client uses the path of the URL as the namespace.
        self.socketio.namespace = url.path().to_owned();
        let path = option("path").map_or_else(|| DEFAULT_PATH.to_owned(), Node::text);
        let path = format!("{}/", path.trim_end_matches('/'));
        let text = format!("{}{path}", url.origin().ascii_serialization());
        let mut request = Request::new("GET", Template::from(text.as_str()), &text);
        request.label.clone_from(&self.socketio.namespace);
        request.follow_redirects = false;
        request.query = option("query").map(|query| self.session_query(query));
        request.headers = option("extraHeaders").map_or_else(Vec::new, |node| self.headers(node));
        self.socketio.auth = option("auth").map(|auth| self.template(auth));
        let transports = transports(option("transports"));
        let is_websocket = transports.first().map(String::as_str) == Some("websocket");
        request.socketio = Some(SocketIoConnect {
            namespace: Template::from(self.socketio.namespace.as_str()),
            auth: self.socketio.auth.clone(),
            is_websocket,
        });
        let at = self.findings.at(scenario.mark);
        request.at = Some(at.clone());
        let mut steps = vec![Step::Request(Box::new(request))];
        let moves = transports.iter().any(|name| name == "websocket");
        if moves && !is_websocket {
            steps.push(Step::SocketIo(Box::new(SocketIoStep {
                action: SocketIoAction::Upgrade,
                label: self.socketio.namespace.clone(),
                at: Some(at),
            })));
        }
        steps
    }

    fn session_query(&mut self, query: &Node) -> Vec<(Template, Template)> {
        if let Some(text) = query.as_str() {
            let pairs = url::form_urlencoded::parse(text.trim_start_matches('?').as_bytes());
            let pair = |(name, value): (_, _)| (literal(name), literal(value));
            return pairs.map(pair).collect();
        }
        let entries = query.entries().iter();
        entries
            .map(|entry| {
                (
                    Template::from(entry.key.as_str()),
                    self.template(&entry.value),
                )
            })
            .collect()
    }

    /// Reads `emit` and its options.
    pub(super) fn emit(&mut self, node: &Node, kind: &Entry) -> Option<Step> {
        for entry in node.entries() {
            if entry.key != "emit" && !EMIT_OPTIONS.contains(&entry.key.as_str()) {
                let text = format!(
                    "`{}` has no effect together with `emit`: Artillery knows namespace, response and acknowledge here",
                    entry.key
                );
                self.findings.note(entry.key_mark, text);
            }
        }
        let (event, arguments) = self.emitted(kind)?;
        let label = event.text();
        let event = self.template(event);
        let namespace = node.get("namespace").filter(|node| node.is_truthy());
        let namespace = match namespace {
            None => Template::from(self.socketio.namespace.as_str()),
            Some(own) => {
                let namespace = self.namespace(own);
                let at = Some(self.findings.at(own.mark));
                self.socketio.join = Some(Step::SocketIo(Box::new(SocketIoStep {
                    action: SocketIoAction::Join {
                        namespace: namespace.clone(),
                        auth: self.socketio.auth.clone(),
                    },
                    label: own.text(),
                    at,
                })));
                namespace
            }
        };
        let awaits = self.awaits(node, &namespace);
        let emit = Emit {
            namespace,
            event,
            arguments,
            awaits,
        };
        Some(Step::SocketIo(Box::new(SocketIoStep {
            action: SocketIoAction::Emit(Box::new(emit)),
            label,
            at: Some(self.findings.at(kind.key_mark)),
        })))
    }

    /// Returns the name of the event and its arguments.
    fn emitted<'n>(&mut self, kind: &'n Entry) -> Option<(&'n Node, Vec<Template>)> {
        if let Some(list) = kind.value.as_list() {
            let Some((event, arguments)) = list.split_first() else {
                let text = "`emit` needs the name of an event";
                self.findings.problem(kind.key_mark, text);
                return None;
            };
            let arguments = arguments.iter().map(|node| self.template(node));
            return Some((event, arguments.collect()));
        }
        self.check_keys(&kind.value, KeyLevel::Emit);
        let Some(channel) = kind.value.get("channel").filter(|node| node.is_truthy()) else {
            let text = "`emit` needs the name of an event: `emit: { channel: NAME, data: … }`";
            self.findings.problem(kind.key_mark, text);
            return None;
        };
        let data = kind.value.get("data");
        let data = data.map_or(Template::Literal(Value::Null), |data| self.template(data));
        Some((channel, vec![data]))
    }

    fn namespace(&mut self, node: &Node) -> Template {
        let text = node.text();
        if text.contains("{{") {
            return self.template(node);
        }
        let base = self.socketio.namespace.trim_end_matches('/');
        Template::from(format!("{base}/{}", text.trim_start_matches('/')).as_str())
    }

    fn awaits(&mut self, node: &Node, namespace: &Template) -> EmitAwaits {
        let truthy = |key: &str| node.entry(key).filter(|entry| entry.value.is_truthy());
        let (response, acknowledge) = (truthy("response"), truthy("acknowledge"));
        if let (Some(_), Some(acknowledge)) = (response, acknowledge) {
            let text =
                "`acknowledge` has no effect together with `response`: Artillery crashes here";
            self.findings.note(acknowledge.key_mark, text);
        }
        if let Some(response) = response {
            return self.response(response, namespace);
        }
        match acknowledge {
            None => EmitAwaits::Nothing,
            Some(acknowledge) => {
                let (fits, content) = self.arguments(&acknowledge.value, KeyLevel::Acknowledge);
                EmitAwaits::Ack(AckExpectation { fits, content })
            }
        }
    }

    fn response(&mut self, entry: &Entry, namespace: &Template) -> EmitAwaits {
        let node = &entry.value;
        let (fits, content) = self.arguments(node, KeyLevel::Response);
        let event = node.get("on").or_else(|| node.get("channel"));
        let Some(event) = event.filter(|node| node.is_truthy()) else {
            let text = "`response` needs the name of an event: `response: { on: NAME, data: … }`";
            self.findings.problem(entry.key_mark, text);
            return EmitAwaits::Nothing;
        };
        EmitAwaits::Event(Box::new(EventExpectation {
            namespace: namespace.clone(),
            event: self.template(event),
            fits,
            content,
        }))
    }

    /// Reads the conditions on the arguments of an event or acknowledgement.
    fn arguments(&mut self, node: &Node, level: KeyLevel) -> (ArgumentMatch, MessageExpectation) {
        if node.is_map() {
            self.check_keys(node, level);
        }
        let expected = node.get("args").or_else(|| node.get("data"));
        let fits = ArgumentMatch::Collected {
            expected: expected.map(|node| self.template(node)),
            is_joined: node.get("concat").is_some_and(Node::is_truthy),
        };
        let mut captures = self.captures(&with_sources(node));
        for capture in &mut captures {
            // Artillery ignores `strict` here: only matches can fail.
            capture.strict = capture.equals.is_some();
        }
        let content = MessageExpectation {
            captures,
            within_ns: Some(self.socketio.within_ns.unwrap_or(DEFAULT_WAIT_NS)),
            ..MessageExpectation::default()
        };
        (fits, content)
    }
}

/// Returns the node, with the first argument as the source of captures and matches that have none.
fn with_sources(node: &Node) -> Node {
    let mut node = node.clone();
    for key in ["capture", "match"] {
        let Some(specs) = node.get_mut(key) else {
            continue;
        };
        let specs = match &mut specs.data {
            formats::document::NodeData::List(list) => list.as_mut_slice(),
            _ => std::slice::from_mut(specs),
        };
        for spec in specs.iter_mut().filter(|spec| spec.is_map()) {
            let has_source = SOURCES
                .iter()
                .any(|key| spec.get(key).is_some_and(Node::is_truthy));
            if !has_source {
                let mark = spec.mark;
                spec.set("json", Node::scalar(mark, "$.0"));
            }
        }
    }
    node
}

fn transports(node: Option<&Node>) -> Vec<String> {
    let Some(node) = node else {
        return vec!["polling".to_owned(), "websocket".to_owned()];
    };
    let items = node.as_list().unwrap_or(std::slice::from_ref(node));
    items.iter().map(Node::text).collect()
}

fn literal(text: std::borrow::Cow<'_, str>) -> Template {
    Template::Literal(Value::from(text.into_owned()))
}
