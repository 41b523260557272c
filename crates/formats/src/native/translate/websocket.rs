//! Reads `websocket`: steps that open a connection, send and await messages, and close the
//! connection.

use plan::{
    Request, Step, Template,
    scenario::{RequestBody, ResponseCheck},
    websocket::{
        MessageExpectation, WebSocketAction, WebSocketConnect, WebSocketDeflate, WebSocketStep,
    },
};

use super::{Translator, model};
use crate::{
    document::{Entry, Node},
    native::read::{self, entries},
};

/// Keys that determine the action of a step. A step has one of them, or `send` with `expect`.
const ACTIONS: [&str; 5] = ["connect", "send", "expect", "listen", "close"];
/// Keys that only `connect` has.
const CONNECT_KEYS: [&str; 5] = ["headers", "query", "subprotocols", "deflate", "capture"];
/// Headers that the client sets itself.
const OWN_HEADERS: [&str; 6] = [
    "connection",
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
];
const NORMAL_CLOSURE: u16 = 1000;

impl Translator<'_> {
    pub(super) fn websocket(&mut self, entry: &Entry) -> Option<Step> {
        let node = &entry.value;
        entries(node, "websocket", model::WEBSOCKET, self.findings);
        let found: Vec<&Entry> = ACTIONS
            .iter()
            .filter_map(|action| node.entry(action))
            .collect();
        let connection = node.get("on");
        let connection = connection.and_then(|on| read::text(on, "on", self.findings));
        let connection = connection.unwrap_or_default();
        if node.get("connect").is_none() {
            self.keys_of_connect(node);
        }
        let keys: Vec<&str> = found.iter().map(|entry| entry.key.as_str()).collect();
        let action = match keys[..] {
            ["connect"] => return self.connect(entry, &found[0].value, connection),
            ["send"] | ["send", "expect"] => {
                let expect = node.get("expect").map(|expect| self.expectation(expect));
                WebSocketAction::Send {
                    payload: self.message(&found[0].value)?,
                    expect,
                }
            }
            ["expect"] => WebSocketAction::Expect(self.expectation(&found[0].value)),
            ["listen"] => {
                WebSocketAction::Listen(read::duration(&found[0].value, "listen", self.findings)?)
            }
            ["close"] => WebSocketAction::Close(self.close_code(&found[0].value)?),
            [] => {
                let text = "this `websocket` step does nothing: add connect, send, expect, listen or close";
                read::missing(node, model::WEBSOCKET, text, self.findings);
                return None;
            }
            [first, second, ..] => {
                let text = format!(
                    "`{first}` and `{second}` are two steps: write two `websocket` steps (only \
                    `send` and `expect` can be together)"
                );
                self.findings.problem(found[1].key_mark, text);
                return None;
            }
            [_] => return None,
        };
        let name = node.get("name");
        let name = name.and_then(|name| read::text(name, "name", self.findings));
        let usual = match connection.as_str() {
            "" => self.websocket_path.clone(),
            connection => connection.to_owned(),
        };
        Some(Step::WebSocket(Box::new(WebSocketStep {
            connection,
            action,
            label: name.unwrap_or(usual),
            at: Some(self.findings.at(entry.key_mark)),
        })))
    }

    fn keys_of_connect(&mut self, node: &Node) {
        for key in CONNECT_KEYS {
            if let Some(entry) = node.entry(key) {
                let text = match key {
                    "capture" => "put `capture` in `expect`, or in `connect` for headers",
                    _ => "this key belongs to a `websocket` step with `connect`",
                };
                self.findings.problem(entry.key_mark, text);
            }
        }
    }

    pub(super) fn connect(
        &mut self,
        entry: &Entry,
        url: &Node,
        connection: String,
    ) -> Option<Step> {
        let node = &entry.value;
        let url_text = read::text(url, "connect", self.findings)?;
        let starts = ["/", "ws://", "wss://", "http://", "https://", "{{"];
        if !starts.iter().any(|start| url_text.starts_with(start)) {
            let text =
                format!("`{url_text}` is not a URL: start it with / or with ws:// or wss://");
            self.findings.problem(url.mark, text);
        }
        let mut request = Request::new("GET", self.template(url), &url_text);
        request.at = Some(self.findings.at(entry.key_mark));
        request.follow_redirects = false;
        let name = node.get("name");
        request.name = name.and_then(|name| read::text(name, "name", self.findings));
        if let Some(name) = &request.name {
            request.label.clone_from(name);
        }
        self.websocket_path = request.label.clone();
        request.query = node.get("query").map(|query| self.pairs(query, "query"));
        request.headers = self.request_headers(node.get("headers"), &RequestBody::None);
        self.own_headers(node, &mut request);
        if let Some(captures) = node.get("capture") {
            request.captures = self.captures(captures);
        }
        request.websocket = Some(WebSocketConnect {
            connection,
            subprotocols: self.subprotocols(node),
            deflate: self.deflate(node),
        });
        Some(Step::Request(Box::new(request)))
    }

    fn own_headers(&mut self, node: &Node, request: &mut Request) {
        let is_own = |name: &str| OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own));
        for entry in node.get("headers").map(Node::entries).unwrap_or_default() {
            if is_own(&entry.key) {
                let help = match entry.key.to_ascii_lowercase().as_str() {
                    "sec-websocket-protocol" => "write `subprotocols: [NAME]`",
                    "sec-websocket-extensions" => "write `deflate: full`",
                    _ => "remove it",
                };
                let text = format!("`{}` is sent by the client itself: {help}", entry.key);
                self.findings.problem(entry.key_mark, text);
            }
        }
        request.headers.retain(|(name, _)| !is_own(name));
    }

    fn subprotocols(&mut self, node: &Node) -> Vec<Template> {
        let Some(list) = node.get("subprotocols") else {
            return Vec::new();
        };
        let items = list.as_list().unwrap_or(std::slice::from_ref(list)).iter();
        items.map(|item| self.template(item)).collect()
    }

    fn deflate(&mut self, node: &Node) -> WebSocketDeflate {
        let Some(node) = node.get("deflate") else {
            return WebSocketDeflate::Off;
        };
        match (node.as_bool(), node.text().as_str()) {
            (Some(false), _) | (_, "off") => WebSocketDeflate::Off,
            (Some(true), _) | (_, "each-message") => WebSocketDeflate::EachMessage,
            (_, "full") => WebSocketDeflate::Full,
            (_, other) => {
                let text = format!("`deflate: {other}` must be off, each-message or full");
                self.findings.problem(node.mark, text);
                WebSocketDeflate::Off
            }
        }
    }

    /// Reads the message to send: a text, `{ text: … }` or `{ json: … }`.
    pub(super) fn message(&mut self, node: &Node) -> Option<Template> {
        if !node.is_map() {
            return Some(self.template(node));
        }
        entries(node, "send", model::WEBSOCKET_SEND, self.findings);
        match (node.get("json"), node.get("text")) {
            (Some(one), None) | (None, Some(one)) => Some(self.template(one)),
            _ => {
                let text = "`send` needs a text, { json: … } or { text: … }";
                self.findings.problem(node.mark, text);
                None
            }
        }
    }

    pub(super) fn expectation(&mut self, node: &Node) -> MessageExpectation {
        if !node.is_map() {
            let text = self.template(node);
            return MessageExpectation {
                conditions: vec![ResponseCheck::BodyContains(text)],
                ..MessageExpectation::default()
            };
        }
        entries(node, "expect", model::WEBSOCKET_EXPECT, self.findings);
        let mut expect = self.message_content(node);
        if let Some(count) = node.get("count") {
            let count = read::whole_u32(count, "count", 1, self.findings);
            expect.count = count.unwrap_or(1);
        }
        expect
    }

    /// Reads conditions, captures and the time limit.
    pub(super) fn message_content(&mut self, node: &Node) -> MessageExpectation {
        let mut expect = MessageExpectation::default();
        if let Some(json) = node.get("json") {
            self.json_conditions(json, &mut expect.conditions);
        }
        if let Some(text) = node.get("text") {
            let text = self.template(text);
            expect.conditions.push(ResponseCheck::BodyContains(text));
        }
        if let Some(pattern) = node.get("regexp") {
            expect.conditions.extend(self.matching(pattern, node));
        }
        let within = node.get("within");
        expect.within_ns = within.and_then(|node| read::duration(node, "within", self.findings));
        if let Some(captures) = node.get("capture") {
            expect.captures = self.captures(captures);
        }
        expect
    }

    fn close_code(&mut self, node: &Node) -> Option<u16> {
        if node.as_bool() == Some(true) {
            return Some(NORMAL_CLOSURE);
        }
        let code = read::whole_u32(node, "close", 0, self.findings)?;
        let code = u16::try_from(code).ok();
        let code = code.filter(|code| codec::websocket::is_close_code(*code));
        if code.is_none() {
            let text = format!(
                "`close: {}` is not a close code that a client may send: use 1000, or 3000 to 4999",
                node.text()
            );
            self.findings.problem(node.mark, text);
        }
        code
    }
}
