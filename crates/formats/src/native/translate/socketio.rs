//! Reads `socketio`: steps that open a session, emit and await events, and close the session.

use plan::{
    Request, Step, Template,
    scenario::RequestBody,
    socketio::{
        AckExpectation, ArgumentMatch, Emit, EmitAwaits, EventExpectation, SocketIoAction,
        SocketIoConnect, SocketIoStep,
    },
    websocket::MessageExpectation,
};

use super::{Translator, model};
use crate::{
    document::{Entry, Node},
    native::read::{self, entries},
};

/// Keys that determine the action of a step. `ack` and `expect` can be combined with `emit`.
const ACTIONS: [&str; 7] = [
    "connect", "join", "emit", "ack", "expect", "listen", "close",
];
/// Keys that are valid only for one action.
const OF_CONNECT: [&str; 4] = ["path", "transports", "headers", "query"];
const DEFAULT_PATH: &str = "/socket.io/";
const ROOT: &str = "/";

impl Translator<'_> {
    pub(super) fn socketio(&mut self, entry: &Entry) -> Vec<Step> {
        let node = &entry.value;
        entries(node, "socketio", model::SOCKETIO, self.findings);
        let found: Vec<&Entry> = ACTIONS
            .iter()
            .filter_map(|action| node.entry(action))
            .collect();
        let keys: Vec<&str> = found.iter().map(|entry| entry.key.as_str()).collect();
        self.misplaced_keys(node, &keys);
        let namespace = match node.get("namespace") {
            Some(namespace) => self.template(namespace),
            None => Template::from(self.socketio_namespace.as_str()),
        };
        let (action, usual) = match keys[..] {
            ["connect"] => return self.open_session(entry, &found[0].value),
            ["join"] => {
                let join = self.template(&found[0].value);
                let auth = node.get("auth").map(|auth| self.template(auth));
                let action = SocketIoAction::Join {
                    namespace: join,
                    auth,
                };
                (action, found[0].value.text())
            }
            ["emit"] | ["emit", "ack"] | ["emit", "expect"] => {
                match self.emit(node, &found, namespace) {
                    Some(emit) => emit,
                    None => return Vec::new(),
                }
            }
            ["expect"] => match self.event(&found[0].value, namespace) {
                Some((event, name)) => (SocketIoAction::Expect(Box::new(event)), name),
                None => return Vec::new(),
            },
            ["listen"] => {
                let Some(ns) = read::duration(&found[0].value, "listen", self.findings) else {
                    return Vec::new();
                };
                (SocketIoAction::Listen(ns), String::new())
            }
            ["close"] => (SocketIoAction::Close, String::new()),
            [] => {
                let text = "this `socketio` step does nothing: add connect, join, emit, expect, listen or close";
                read::missing(node, model::SOCKETIO, text, self.findings);
                return Vec::new();
            }
            ["ack", ..] => {
                let text = "`ack` needs `emit` in the same step";
                self.findings.problem(found[0].key_mark, text);
                return Vec::new();
            }
            [first, second, ..] => {
                let text = format!(
                    "`{first}` and `{second}` are two steps: write two `socketio` steps (only `emit` \
                    can have `ack` or `expect`)"
                );
                self.findings.problem(found[1].key_mark, text);
                return Vec::new();
            }
            [_] => return Vec::new(),
        };
        let name = node.get("name");
        let name = name.and_then(|name| read::text(name, "name", self.findings));
        vec![Step::SocketIo(Box::new(SocketIoStep {
            action,
            label: name.unwrap_or(usual),
            at: Some(self.findings.at(entry.key_mark)),
        }))]
    }

    fn misplaced_keys(&mut self, node: &Node, actions: &[&str]) {
        let is = |action: &str| actions.contains(&action);
        let of_connect = OF_CONNECT.iter().filter(|_| !is("connect"));
        let auth = ["auth"].iter().filter(|_| !is("connect") && !is("join"));
        for key in of_connect.chain(auth) {
            if let Some(entry) = node.entry(key) {
                let text = "this key belongs to a `socketio` step with `connect`";
                self.findings.problem(entry.key_mark, text);
            }
        }
        if let Some(entry) = node
            .entry("namespace")
            .filter(|_| !is("emit") && !is("expect"))
        {
            let text = "`namespace` belongs to `emit` and `expect`: write the namespace as the value of `connect` or `join`";
            self.findings.problem(entry.key_mark, text);
        }
    }

    /// Returns the steps that open a session and upgrade it to a WebSocket.
    fn open_session(&mut self, entry: &Entry, url: &Node) -> Vec<Step> {
        let node = &entry.value;
        let Some(text) = read::text(url, "connect", self.findings) else {
            return Vec::new();
        };
        let (origin, namespace) = split_url(&text);
        if !namespace.starts_with('/') || text.contains("{{") || namespace.contains(['?', '#', ','])
        {
            let text = format!(
                "`{text}` must be a namespace like / or /chat, or the URL of a server like http://HOST/chat, \
                without variables and without a query"
            );
            self.findings.problem(url.mark, text);
        }
        let path = node.get("path");
        let path = path.and_then(|path| read::text(path, "path", self.findings));
        let path = path.unwrap_or_else(|| DEFAULT_PATH.to_owned());
        let address = format!("{origin}{path}");
        let mut request = Request::new("GET", Template::from(address.as_str()), &address);
        request.at = Some(self.findings.at(entry.key_mark));
        request.follow_redirects = false;
        let name = node.get("name");
        request.name = name.and_then(|name| read::text(name, "name", self.findings));
        request.label = request.name.clone().unwrap_or_else(|| namespace.to_owned());
        request.query = node.get("query").map(|query| self.pairs(query, "query"));
        request.headers = self.request_headers(node.get("headers"), &RequestBody::None);
        let (is_websocket, moves) = self.transports(node.get("transports"));
        request.socketio = Some(SocketIoConnect {
            namespace: Template::from(namespace),
            auth: node.get("auth").map(|auth| self.template(auth)),
            is_websocket,
        });
        namespace.clone_into(&mut self.socketio_namespace);
        let label = request.label.clone();
        let at = request.at.clone();
        let mut steps = vec![Step::Request(Box::new(request))];
        if moves {
            steps.push(Step::SocketIo(Box::new(SocketIoStep {
                action: SocketIoAction::Upgrade,
                label,
                at,
            })));
        }
        steps
    }

    /// Returns whether a session starts on a WebSocket, and whether it is upgraded to one.
    fn transports(&mut self, node: Option<&Node>) -> (bool, bool) {
        let Some(node) = node else {
            return (false, true);
        };
        let items = node.as_list().unwrap_or(std::slice::from_ref(node));
        let names: Vec<String> = items.iter().map(Node::text).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match names[..] {
            ["polling", "websocket"] => (false, true),
            ["polling"] => (false, false),
            ["websocket"] => (true, false),
            _ => {
                let text = "`transports` must be [polling, websocket], [polling] or [websocket]";
                self.findings.problem(node.mark, text);
                (false, true)
            }
        }
    }

    /// Returns an event to emit, and its name.
    fn emit(
        &mut self,
        node: &Node,
        found: &[&Entry],
        namespace: Template,
    ) -> Option<(SocketIoAction, String)> {
        let emit = &found[0].value;
        let items = emit.as_list().unwrap_or(std::slice::from_ref(emit));
        let Some((event, arguments)) = items.split_first().filter(|_| !emit.is_map()) else {
            let text = "`emit` needs the name of an event, or a list of the name and the arguments";
            self.findings.problem(emit.mark, text);
            return None;
        };
        let name = read::text(event, "emit", self.findings)?;
        let awaits = match (node.get("ack"), node.get("expect")) {
            (Some(ack), _) => EmitAwaits::Ack(self.acknowledgement(ack)),
            (_, Some(expect)) => {
                let (event, _) = self.event(expect, namespace.clone())?;
                EmitAwaits::Event(Box::new(event))
            }
            _ => EmitAwaits::Nothing,
        };
        let emit = Emit {
            namespace,
            event: self.template(event),
            arguments: arguments.iter().map(|node| self.template(node)).collect(),
            awaits,
        };
        Some((SocketIoAction::Emit(Box::new(emit)), name))
    }

    fn acknowledgement(&mut self, node: &Node) -> AckExpectation {
        let content = match node.as_bool() {
            Some(true) => MessageExpectation::default(),
            _ => {
                entries(node, "ack", model::SOCKETIO_ACK, self.findings);
                self.message_content(node)
            }
        };
        AckExpectation {
            fits: ArgumentMatch::Any,
            content,
        }
    }

    /// Returns an event to wait for, and its name.
    fn event(&mut self, node: &Node, namespace: Template) -> Option<(EventExpectation, String)> {
        if !node.is_map() {
            let name = read::text(node, "expect", self.findings)?;
            let event = EventExpectation {
                namespace,
                event: self.template(node),
                fits: ArgumentMatch::Any,
                content: MessageExpectation::default(),
            };
            return Some((event, name));
        }
        entries(node, "expect", model::SOCKETIO_EXPECT, self.findings);
        let Some(event) = node.get("event") else {
            let text = "`expect` needs the name of an event: `expect: { event: NAME }`";
            self.findings.problem(node.mark, text);
            return None;
        };
        let name = read::text(event, "event", self.findings)?;
        let mut content = self.message_content(node);
        if let Some(count) = node.get("count") {
            let count = read::whole_u32(count, "count", 1, self.findings);
            content.count = count.unwrap_or(1);
        }
        let event = EventExpectation {
            namespace,
            event: self.template(event),
            fits: ArgumentMatch::Any,
            content,
        };
        Some((event, name))
    }
}

/// Returns the origin of a URL, which may be missing, and the path, which is the namespace.
fn split_url(text: &str) -> (&str, &str) {
    let Some(at) = text.find("://") else {
        return ("", text);
    };
    let path = text[at + 3..].find('/').map(|slash| at + 3 + slash);
    match path {
        Some(path) => text.split_at(path),
        None => (text, ROOT),
    }
}
