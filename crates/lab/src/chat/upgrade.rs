//! Reads HTTP requests and responds according to their paths, until one opens a WebSocket.

use std::io;
use std::sync::Arc;

use codec::websocket::{Negotiated, accept_offer, handshake};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::ChatState;
use super::behaviour::Behaviour;
use super::socketio::{self, SocketIoUpgrade};

const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;
const MAX_BODY: usize = 16 << 20;
/// Number of bytes per second that `/slow` reads, unless the query sets another number.
const SLOW_READ: u64 = 1000;

/// What a connection does after the upgrade.
pub(super) struct Session {
    pub(super) path: String,
    /// Name of the room. `None` if the connection echoes messages.
    pub(super) room: Option<String>,
    pub(super) behaviour: Behaviour,
    pub(super) deflate: Option<Negotiated>,
}

pub(super) struct UpgradeRequest {
    pub(super) is_get: bool,
    pub(super) path: String,
    pub(super) query: String,
    /// Key of the handshake. `None` if the request does not ask for a WebSocket of version 13.
    pub(super) key: Option<String>,
    body_length: usize,
    pub(super) body: String,
    subprotocol: Option<String>,
    extensions: String,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: String,
    body: String,
    session: Option<Session>,
}

/// What a connection has become.
pub(super) enum Accepted {
    WebSocket(Session),
    /// A WebSocket that belongs to a Socket.IO session.
    SocketIo(SocketIoUpgrade),
}

/// Responds to requests until one opens a WebSocket. Returns `None` if the connection has ended.
/// Bytes after the request stay in `buffer`.
pub(super) async fn accept(
    state: &Arc<ChatState>,
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Accepted>> {
    while let Some(request) = read_request(stream, buffer).await? {
        if request.path == "/__lab/stats" {
            let mut answer = Answer::new(
                200,
                state.ledger.to_json(&state.sessions.to_json()).to_string(),
            );
            answer.headers = "content-type: application/json\r\n".to_owned();
            stream.write_all(&answer.to_bytes()).await?;
            continue;
        }
        if request.path == socketio::PATH {
            let (answer, opened) = socketio::answer(state, &request).await;
            state.ledger.answered(socketio::PATH, answer.status);
            stream.write_all(&answer.to_bytes()).await?;
            if let Some(opened) = opened {
                return Ok(Some(Accepted::SocketIo(opened)));
            }
            continue;
        }
        let (route, answer) = answer(state, &request);
        state.ledger.answered(&route, answer.status);
        stream.write_all(&answer.to_bytes()).await?;
        if answer.session.is_some() || answer.status == 101 {
            return Ok(answer.session.map(Accepted::WebSocket));
        }
    }
    Ok(None)
}

async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<UpgradeRequest>> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let parsed = head.parse(buffer).map_err(io::Error::other)?;
        if let httparse::Status::Complete(length) = parsed {
            let mut request = UpgradeRequest::new(&head);
            buffer.drain(..length);
            while buffer.len() < request.body_length {
                if stream.read_buf(buffer).await? == 0 {
                    return Ok(None);
                }
            }
            let body: Vec<u8> = buffer.drain(..request.body_length).collect();
            request.body = String::from_utf8_lossy(&body).into_owned();
            return Ok(Some(request));
        }
        if buffer.len() > MAX_HEAD || stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

impl UpgradeRequest {
    fn new(head: &httparse::Request<'_, '_>) -> Self {
        let values = |name: &'static str| {
            let headers = head.headers.iter();
            let named = headers.filter(move |header| header.name.eq_ignore_ascii_case(name));
            let texts = named.map(|header| String::from_utf8_lossy(header.value).into_owned());
            texts.collect::<Vec<_>>().join(",")
        };
        let has_token = |name, token: &str| {
            let values = values(name);
            let mut tokens = values.split(',').map(str::trim);
            tokens.any(|value| value.eq_ignore_ascii_case(token))
        };
        let is_upgrade = has_token("upgrade", "websocket")
            && has_token("connection", "upgrade")
            && values("sec-websocket-version") == "13";
        let key = Some(values("sec-websocket-key")).filter(|key| is_upgrade && key.len() == 24);
        let subprotocols = values("sec-websocket-protocol");
        let subprotocol = subprotocols.split(',').next().unwrap_or_default().trim();
        let target = head.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self {
            is_get: head.method == Some("GET"),
            path: path.to_owned(),
            query: query.to_owned(),
            body_length: values("content-length").parse().unwrap_or(0).min(MAX_BODY),
            body: String::new(),
            key,
            subprotocol: (!subprotocol.is_empty()).then(|| subprotocol.to_owned()),
            extensions: values("sec-websocket-extensions"),
        }
    }
}

impl Answer {
    pub(super) fn new(status: u16, body: String) -> Self {
        Self {
            status,
            headers: String::new(),
            body,
            session: None,
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let Self {
            status,
            headers,
            body,
            ..
        } = self;
        let code = axum::http::StatusCode::from_u16(*status);
        let reason = code.ok().and_then(|code| code.canonical_reason());
        let reason = reason.unwrap_or("Status");
        let length = match status {
            101 => String::new(),
            _ => format!("content-length: {}\r\n", body.len()),
        };
        format!("HTTP/1.1 {status} {reason}\r\n{headers}{length}\r\n{body}").into_bytes()
    }
}

/// Returns the response and the route under which the request is counted.
fn answer(state: &ChatState, request: &UpgradeRequest) -> (String, Answer) {
    let path = request.path.as_str();
    let not_found = || {
        let help = "try /echo, /rooms/NAME, /slow, /refuse/STATUS, /wrong-accept, /proxy200, /socket.io/\n";
        ("(other)".to_owned(), Answer::new(404, help.to_owned()))
    };
    if let Some(status) = path.strip_prefix("/refuse/") {
        let status = status
            .parse()
            .ok()
            .filter(|status| (300..600).contains(status));
        return match status {
            Some(status) => (path.to_owned(), refusal(status)),
            None => not_found(),
        };
    }
    let room = path.strip_prefix("/rooms/").filter(|room| !room.is_empty());
    let answer = match path {
        "/proxy200" => {
            let mut answer = Answer::new(200, "<html>a proxy's page</html>\n".to_owned());
            answer.headers = "content-type: text/html\r\n".to_owned();
            answer
        }
        "/echo" | "/slow" | "/wrong-accept" => upgrade(state, request, None),
        _ if room.is_some() => upgrade(state, request, room),
        _ => return not_found(),
    };
    (path.to_owned(), answer)
}

fn refusal(status: u16) -> Answer {
    let mut answer = Answer::new(status, format!("refused with {status}\n"));
    answer.headers = match status {
        300..=399 => "location: /echo\r\n",
        401 => "www-authenticate: Bearer\r\n",
        426 => "upgrade: websocket\r\nconnection: upgrade\r\n",
        _ => "",
    }
    .to_owned();
    answer
}

fn upgrade(state: &ChatState, request: &UpgradeRequest, room: Option<&str>) -> Answer {
    let Some(key) = request.key.as_deref().filter(|_| request.is_get) else {
        return refusal(426);
    };
    let mut behaviour = state.behaviour.clone();
    if request.path == "/slow" {
        behaviour.read.get_or_insert(SLOW_READ);
    }
    for pair in request.query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let Err(advice) = behaviour.set(name, value) {
            return Answer::new(400, format!("{pair}: {advice}\n"));
        }
    }
    let accept = match request.path.as_str() {
        "/wrong-accept" => handshake::accept_key(b"another key"),
        _ => handshake::accept_key(key.as_bytes()),
    };
    let mut headers = format!(
        "upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {}\r\n",
        String::from_utf8_lossy(&accept)
    );
    if let Some(subprotocol) = &request.subprotocol {
        headers += &format!("sec-websocket-protocol: {subprotocol}\r\n");
    }
    let acceptance = accept_offer(&request.extensions).filter(|_| state.deflate);
    if let Some(acceptance) = &acceptance {
        headers += &format!("sec-websocket-extensions: {}\r\n", acceptance.header);
    }
    Answer {
        status: 101,
        headers,
        body: String::new(),
        session: Some(Session {
            path: request.path.clone(),
            room: room.map(str::to_owned),
            behaviour,
            deflate: acceptance.map(|acceptance| acceptance.negotiated),
        }),
    }
}
