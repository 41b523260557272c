//! Opens a WebSocket connection and reports its samples. Runs no JavaScript.

use std::rc::Rc;

use ::k6::{log::Level, metric};

use super::{
    super::{
        host::{Host, HttpOutcome, SocketRequest},
        http::{
            cookies::now_s,
            perform::{header, keep_cookies},
        },
        state::State,
        tags::borrowed,
    },
    arguments::{SocketCall, http_url},
    session::SocketSession,
};

/// k6's default time limit of a handshake.
const HANDSHAKE_NS: u64 = 60_000_000_000;

/// The result of a request for a WebSocket connection.
pub struct OpenedSession {
    /// URL as the script sees it.
    pub url: String,
    pub response: HttpOutcome,
    /// Session. `None` if there is no connection.
    pub session: Option<Rc<SocketSession>>,
}

impl OpenedSession {
    /// Returns the subprotocol that the server chose. Empty if it chose none.
    pub fn subprotocol(&self) -> &str {
        header(&self.response, "sec-websocket-protocol").unwrap_or_default()
    }
}

/// Requests a WebSocket connection.
pub async fn open(state: Rc<State>, host: Rc<dyn Host>, call: SocketCall) -> OpenedSession {
    let began_ns = host.now_ns();
    let request = SocketRequest {
        url: http_url(&call.url).unwrap_or_default(),
        headers: call.headers,
        subprotocols: call.subprotocols,
        compresses: call.compresses,
        timeout_ns: HANDSHAKE_NS,
        name: call.name.clone(),
    };
    let opened = host.open_socket(state.connections(), request).await;
    let took_ns = host.now_ns().saturating_sub(began_ns);
    let response = opened.response;
    keep_cookies(&call.jar, &call.target, &response, now_s(&state));
    let status = response.status.to_string();
    let system = [
        ("url", call.name.as_str()),
        ("name", &call.name),
        ("status", &status),
        (
            "subproto",
            header(&response, "sec-websocket-protocol").unwrap_or_default(),
        ),
        ("ip", &response.remote_ip),
    ];
    let mut tags: Vec<(&str, &str)> = system
        .into_iter()
        .filter(|(tag, value)| !value.is_empty() && state.has_system_tag(tag))
        .collect();
    tags.extend(borrowed(&call.tags));
    let tags = state.tag_cache.with(&call.base_tags, &tags);
    let mut values = vec![(metric::WS_CONNECTING, took_ns as f64 / 1e6)];
    if opened.socket.is_some() {
        values.insert(0, (metric::WS_SESSIONS, 1.0));
    }
    if response.status > 0 {
        state.report(&tags, &values);
    }
    if let Some(error) = &response.error
        && !state.options.throw
    {
        let fields = [("error", error.text.as_str()), ("url", &call.name)];
        state.log(Level::Warning, "WebSocket connection failed", &fields);
    }
    let session = opened.socket.map(|socket| {
        let session = Rc::new(SocketSession::new(host, socket, tags, began_ns));
        let mut sessions = state.sessions.borrow_mut();
        sessions.retain(|session| session.socket().is_some());
        sessions.push(Rc::clone(&session));
        session
    });
    OpenedSession {
        url: call.url,
        response,
        session,
    }
}
