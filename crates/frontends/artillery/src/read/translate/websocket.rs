//! Translates scenarios of the engine `ws`: each virtual user has one connection, which opens
//! before the first step.

use plan::{
    Http, Request, Step, Template,
    websocket::{
        MessageExpectation, WebSocketAction, WebSocketConnect, WebSocketDeflate, WebSocketStep,
    },
};
use serde_json::Value;
use url::Url;

use super::{Translator, nanoseconds, to_number};
use crate::read::keys::{self, KeyLevel};
use formats::{
    document::{Entry, Mark, Node},
    nearest::hint,
};

const PROTOCOL_HEADER: &str = "sec-websocket-protocol";
/// Default time limit for waiting for a message.
const DEFAULT_WAIT_NS: u64 = 10 * plan::units::SECOND;
const TLS_KEYS: [&str; 4] = ["ca", "cert", "key", "servername"];
/// Functions that Artillery calls only in scenarios of other engines.
const HOOKS: [&str; 5] = [
    "beforeScenario",
    "afterScenario",
    "beforeRequest",
    "afterResponse",
    "onError",
];

/// The settings that all connections of a script share.
#[derive(Default)]
pub(super) struct WebSocketSettings {
    headers: Vec<(String, Template)>,
    subprotocols: Vec<Template>,
    /// Subprotocols from a header.
    more_subprotocols: Vec<Template>,
    deflate: WebSocketDeflate,
    within_ns: Option<u64>,
    target: String,
    target_mark: Option<Mark>,
    /// Whether the steps being read belong to this engine.
    pub is_active: bool,
    is_used: bool,
    /// Path of the current scenario's connection, for labels.
    path: String,
    /// Position of the step that opens this connection.
    connect_mark: Option<Mark>,
}

impl Translator<'_> {
    /// Reads `config.ws`. As in Artillery, its TLS options apply to all connections.
    pub(super) fn websocket_settings(&mut self, config: &Node, http: &mut Http) {
        let target = config.get("target");
        self.websocket.target = target.map(Node::text).unwrap_or_default();
        self.websocket.target_mark = target.map(|node| node.mark);
        self.websocket.deflate = WebSocketDeflate::Full;
        let section = config.get("ws").filter(|node| node.is_truthy());
        let in_section = |key: &str| section.and_then(|node| node.get(key));
        let usual = config.get("timeout");
        let usual = usual.and_then(|node| nanoseconds(to_number(node)));
        let own = in_section("timeout").and_then(|node| self.wait_limit(node));
        self.websocket.within_ns = usual.filter(|ns| *ns > 0).or(own);
        let Some(section) = section else {
            return;
        };
        self.map(section, "ws");
        self.check_keys(section, KeyLevel::WebSocket);
        if let Some(headers) = section.get("headers") {
            let (headers, more) = self.websocket_headers(headers);
            self.websocket.headers = headers;
            self.websocket.more_subprotocols = more;
        }
        self.websocket.subprotocols = self.subprotocols(section.get("subprotocols"));
        let deflate = section.get("perMessageDeflate");
        if deflate.is_some_and(|node| !node.is_truthy()) {
            self.websocket.deflate = WebSocketDeflate::Off;
        }
        if let Some(verifies) = section.get("rejectUnauthorized") {
            http.verify_tls = verifies.as_bool() != Some(false);
        }
        if TLS_KEYS.iter().any(|key| section.get(key).is_some()) {
            let no_alpn = http.tls.no_alpn;
            http.tls = self.tls(section);
            http.tls.no_alpn = no_alpn;
        }
    }

    /// Adds a note if `config.ws` is unused. Must be called after reading all scenarios.
    pub(super) fn unused_websocket_settings(&mut self, config: &Node) {
        if let Some(entry) = config.entry("ws").filter(|_| !self.websocket.is_used) {
            let text = "`ws` has no effect: no scenario uses the engine ws";
            self.findings.note(entry.key_mark, text);
        }
    }

    fn wait_limit(&mut self, node: &Node) -> Option<u64> {
        let ns = nanoseconds(to_number(node));
        if ns.is_none() {
            let text = format!(
                "`timeout: {}` is not a time: use a number of seconds",
                node.text()
            );
            self.findings.problem(node.mark, text);
        }
        ns.filter(|ns| *ns > 0)
    }

    /// Reads headers. Returns the subprotocols in them separately.
    fn websocket_headers(&mut self, node: &Node) -> (Vec<(String, Template)>, Vec<Template>) {
        let mut headers = self.headers(node);
        let protocols = headers.iter().position(|(name, _)| name == PROTOCOL_HEADER);
        let protocols = protocols.map(|at| headers.remove(at).1);
        let text = protocols.as_ref().and_then(Template::as_literal);
        let text = text.map(|value| query::value::text(Some(value)));
        let names = match (text, protocols) {
            (Some(text), _) => text
                .split(',')
                .map(|name| Template::from(name.trim()))
                .collect(),
            (None, Some(template)) => vec![template],
            (None, None) => Vec::new(),
        };
        (headers, names)
    }

    fn subprotocols(&mut self, node: Option<&Node>) -> Vec<Template> {
        let node = node.filter(|node| node.is_truthy());
        let items = node.map(|node| node.as_list().unwrap_or(std::slice::from_ref(node)));
        let items = items.unwrap_or_default().iter();
        items.map(|item| self.template(item)).collect()
    }

    /// Reads the steps of a scenario.
    pub(super) fn websocket_scenario(&mut self, scenario: &Node) -> Vec<Step> {
        for key in HOOKS {
            if let Some(entry) = scenario.entry(key) {
                let text = format!(
                    "`{key}` has no effect: Artillery's engine ws calls no hooks (use a `function` step)"
                );
                self.findings.note(entry.key_mark, text);
            }
        }
        let flow = scenario.get("flow");
        let items = flow.and_then(Node::as_list).unwrap_or_default();
        let first = items.first().map(|first| match first.as_list() {
            Some(inner) => inner.first().unwrap_or(first),
            None => first,
        });
        let Some(first) = first else {
            let mark = flow.map_or(scenario.mark, |flow| flow.mark);
            let text = "a scenario of the engine ws needs at least one step";
            self.findings.problem(mark, text);
            return Vec::new();
        };
        self.websocket.is_used = true;
        let Some(connect) = self.connect(first) else {
            return Vec::new();
        };
        self.websocket.is_active = true;
        let steps = flow.map(|flow| self.steps(flow)).unwrap_or_default();
        self.websocket.is_active = false;
        let connect = Step::Request(Box::new(connect));
        std::iter::once(connect).chain(steps).collect()
    }

    /// Reads the first step, which may configure the connection.
    fn connect(&mut self, first: &Node) -> Option<Request> {
        let entry = first
            .entry("connect")
            .filter(|entry| entry.value.is_truthy());
        self.websocket.connect_mark = entry.map(|entry| entry.key_mark);
        let node = entry.map(|entry| &entry.value);
        let options = node.filter(|node| node.is_map());
        let mut headers = self.websocket.headers.clone();
        let mut subprotocols = self.websocket.subprotocols.clone();
        let mut more = self.websocket.more_subprotocols.clone();
        if let Some(options) = options {
            self.check_keys(options, KeyLevel::Connect);
            if options.get("function").is_some() {
                return None;
            }
            if let Some(own) = options.get("headers") {
                (headers, more) = self.websocket_headers(own);
            }
            if let Some(own) = options.get("subprotocols") {
                subprotocols = self.subprotocols(Some(own));
            }
        }
        subprotocols.append(&mut more);
        let own_url = options.map_or(node, |options| options.get("target"));
        let (url, text, mark) = match own_url {
            Some(url) => (self.template(url), url.text(), url.mark),
            None => {
                let target = self.websocket.target.clone();
                let mark = self.websocket.target_mark.unwrap_or(first.mark);
                (Template::from(target.as_str()), target, mark)
            }
        };
        if let Some(text) = url.as_literal().and_then(Value::as_str) {
            self.check_websocket_url(text, mark);
        }
        let mut request = Request::new("GET", url, &text);
        request.label = path(&text).to_owned();
        self.websocket.path.clone_from(&request.label);
        request.headers = headers;
        request.follow_redirects = false;
        request.websocket = Some(WebSocketConnect {
            connection: String::new(),
            subprotocols,
            deflate: self.websocket.deflate,
        });
        request.at = Some(
            self.findings
                .at(entry.map_or(first.mark, |entry| entry.key_mark)),
        );
        Some(request)
    }

    fn check_websocket_url(&mut self, text: &str, mark: Mark) {
        let is_known = |url: &Url| matches!(url.scheme(), "ws" | "wss" | "http" | "https");
        if !Url::parse(text).is_ok_and(|url| is_known(&url) && url.has_host()) {
            let text = format!(
                "`{text}` is not the URL of a WebSocket: it must start with ws:// or wss://"
            );
            self.findings.problem(mark, text);
        }
    }

    /// Reads a step that exists only in this engine.
    pub(super) fn websocket_step(&mut self, kind: &Entry) -> Option<Step> {
        match kind.key.as_str() {
            "send" | "wait" => Some(self.message(kind)),
            "connect" => {
                if self.websocket.connect_mark != Some(kind.key_mark) {
                    let text =
                        "`connect` has no effect here: only the first step opens the connection";
                    self.findings.note(kind.key_mark, text);
                }
                None
            }
            other => {
                let known = || keys::at_level(KeyLevel::WebSocketStep).map(|key| key.name);
                let text = format!(
                    "`{other}` is not a step of the engine ws: use {}{}",
                    known().collect::<Vec<_>>().join(", "),
                    hint(other, known())
                );
                self.findings.problem(kind.key_mark, text);
                None
            }
        }
    }

    /// Reads `send` or `wait`, which differ only in their names.
    fn message(&mut self, kind: &Entry) -> Step {
        let node = &kind.value;
        let waits = ["capture", "match"]
            .iter()
            .any(|key| node.get(key).is_some());
        let action = if waits {
            self.check_keys(node, KeyLevel::Message);
            let expect = MessageExpectation {
                captures: self.captures(node),
                within_ns: Some(self.websocket.within_ns.unwrap_or(DEFAULT_WAIT_NS)),
                ..MessageExpectation::default()
            };
            match node.get("payload") {
                Some(payload) => WebSocketAction::Send {
                    payload: self.template(payload),
                    expect: Some(expect),
                },
                None => WebSocketAction::Expect(expect),
            }
        } else {
            WebSocketAction::Send {
                payload: self.template(node),
                expect: None,
            }
        };
        Step::WebSocket(Box::new(WebSocketStep {
            connection: String::new(),
            action,
            label: self.websocket.path.clone(),
            at: Some(self.findings.at(kind.key_mark)),
        }))
    }
}

/// Returns the path of a URL, without its query.
fn path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("/", |at| &rest[at..]);
    path.split(['?', '#']).next().unwrap_or(path)
}
