//! Transports of Socket.IO sessions: polling requests and WebSocket connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use codec::socketio::{EnginePacket, PROBE};
use codec::websocket::{
    Event, Limits, Reader, Role, handshake, write_close, write_pong, write_text,
};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::ChatState;
use super::behaviour::OPTIONS;
use super::sessions::{Polled, Session, receive, receive_all};
use super::upgrade::{Answer, UpgradeRequest};

pub(super) const PATH: &str = "/socket.io/";
const CHUNK: usize = 16 * 1024;
/// How long a client may take to end the connection after the lab's close frame.
const GRACE: Duration = Duration::from_secs(1);

/// A WebSocket that belongs to a session.
pub(super) struct SocketIoUpgrade {
    session: Arc<Session>,
    /// Whether the session began with polling.
    is_probe: bool,
}

/// Responds to a request. Returns the session if the request opens a WebSocket.
pub(super) async fn answer(
    state: &Arc<ChatState>,
    request: &UpgradeRequest,
) -> (Answer, Option<SocketIoUpgrade>) {
    let parameter = |wanted: &str| {
        let mut pairs = request.query.split('&');
        pairs.find_map(|pair| pair.strip_prefix(wanted)?.strip_prefix('='))
    };
    if parameter("EIO") != Some("4") {
        return (refusal(5, "Unsupported protocol version"), None);
    }
    let session = match parameter("sid") {
        Some(id) => match state.sessions.find(id) {
            Some(session) => Some(session),
            None => {
                state.sessions.totals().unknown += 1;
                return (refusal(1, "Session ID unknown"), None);
            }
        },
        None => None,
    };
    match (parameter("transport"), &request.key, session) {
        (Some("websocket"), Some(key), session) => upgrade(state, request, key, session),
        (Some("polling"), _, None) if request.is_get => match open(state, request) {
            Ok(session) => (Answer::new(200, session.handshake()), None),
            Err(answer) => (*answer, None),
        },
        (Some("polling"), _, Some(session)) if request.is_get => {
            (poll(state, &session).await, None)
        }
        (Some("polling"), _, Some(session)) => {
            if receive_all(state, &session, &request.body) {
                (Answer::new(200, "ok".to_owned()), None)
            } else {
                state.sessions.close(&session);
                (refusal(3, "Bad request"), None)
            }
        }
        (Some("polling" | "websocket"), ..) => (refusal(2, "Bad handshake method"), None),
        _ => (refusal(0, "Transport unknown"), None),
    }
}

fn refusal(code: u8, message: &str) -> Answer {
    let mut answer = Answer::new(400, json!({ "code": code, "message": message }).to_string());
    answer.headers = "content-type: application/json\r\n".to_owned();
    answer
}

/// Opens a session with the options in the URL.
fn open(state: &Arc<ChatState>, request: &UpgradeRequest) -> Result<Arc<Session>, Box<Answer>> {
    let mut behaviour = state.behaviour.clone();
    for pair in request.query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        // Other parameters belong to the protocol or to the test.
        if OPTIONS.contains(&name) {
            let set = behaviour.set(name, value);
            set.map_err(|advice| Box::new(Answer::new(400, format!("{pair}: {advice}\n"))))?;
        }
    }
    Ok(state.sessions.open(state.seed, behaviour))
}

fn upgrade(
    state: &Arc<ChatState>,
    request: &UpgradeRequest,
    key: &str,
    session: Option<Arc<Session>>,
) -> (Answer, Option<SocketIoUpgrade>) {
    let is_probe = session.is_some();
    let session = match session.map_or_else(|| open(state, request), Ok) {
        Ok(session) => session,
        Err(answer) => return (*answer, None),
    };
    if !is_probe {
        session.upgrade();
    }
    let mut answer = Answer::new(101, String::new());
    answer.headers = format!(
        "upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {}\r\n",
        String::from_utf8_lossy(&handshake::accept_key(key.as_bytes()))
    );
    (answer, Some(SocketIoUpgrade { session, is_probe }))
}

/// Waits until the session has packets. A second concurrent request ends the session, as with other
/// servers.
async fn poll(state: &Arc<ChatState>, session: &Arc<Session>) -> Answer {
    if !session.begin_poll() {
        state.sessions.close(session);
        return refusal(3, "Bad request");
    }
    let ping = tokio::time::sleep(session.ping_interval());
    tokio::pin!(ping);
    loop {
        let changed = session.changed.notified();
        tokio::pin!(changed);
        // Register before checking the queue, so that no change is missed.
        changed.as_mut().enable();
        if let Polled::Packets(text) = session.poll() {
            let mut answer = Answer::new(200, text);
            answer.headers = "content-type: text/plain; charset=UTF-8\r\n".to_owned();
            return answer;
        }
        tokio::select! {
            () = changed => {}
            () = &mut ping => {
                session.end_poll();
                state.sessions.totals().pings += 1;
                return Answer::new(200, EnginePacket::Ping("").to_text());
            }
        }
    }
}

/// Serves a WebSocket that belongs to a session.
pub(super) async fn serve(
    state: &Arc<ChatState>,
    mut stream: TcpStream,
    opened: SocketIoUpgrade,
    first: Vec<u8>,
) {
    let SocketIoUpgrade { session, is_probe } = opened;
    let mut socket = Socket {
        state: Arc::clone(state),
        session: Arc::clone(&session),
        reader: Reader::new(Role::Server, Limits::default()),
        out: Vec::new(),
        is_moving: is_probe,
        is_ended: false,
    };
    if !is_probe {
        write_text(&mut socket.out, None, &session.handshake());
    }
    let _ = socket.run(&mut stream, &first).await;
    if !socket.is_moving {
        state.sessions.close(&session);
    }
    let _ = tokio::time::timeout(GRACE, stream.shutdown()).await;
}

struct Socket {
    state: Arc<ChatState>,
    session: Arc<Session>,
    reader: Reader,
    /// Frames to write.
    out: Vec<u8>,
    /// Whether the session still uses polling.
    is_moving: bool,
    is_ended: bool,
}

impl Socket {
    async fn run(&mut self, stream: &mut TcpStream, first: &[u8]) -> io::Result<()> {
        self.take(first);
        let mut ping = tokio::time::interval(self.session.ping_interval());
        ping.tick().await;
        let session = Arc::clone(&self.session);
        loop {
            let changed = session.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.is_moving {
                for packet in session.take() {
                    write_text(&mut self.out, None, &packet);
                }
                if session.is_closed() && !self.is_ended {
                    self.is_ended = true;
                    let _ = write_close(&mut self.out, None, None);
                }
            }
            if !self.out.is_empty() {
                let out = std::mem::take(&mut self.out);
                stream.write_all(&out).await?;
            }
            if self.is_ended {
                return Ok(());
            }
            tokio::select! {
                () = changed => {}
                _ = ping.tick() => {
                    if !self.is_moving {
                        self.state.sessions.totals().pings += 1;
                        write_text(&mut self.out, None, &EnginePacket::Ping("").to_text());
                    }
                }
                ready = stream.readable() => {
                    ready?;
                    let mut chunk = [0; CHUNK];
                    match stream.try_read(&mut chunk) {
                        Ok(0) => return Ok(()),
                        Ok(length) => self.take(&chunk[..length]),
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
    }

    /// Handles received frames.
    fn take(&mut self, mut bytes: &[u8]) {
        let mut texts = Vec::new();
        loop {
            match self.reader.read(&mut bytes) {
                Ok(None) => break,
                Ok(Some(Event::Text(text))) => texts.push(text.to_owned()),
                Ok(Some(Event::Binary(_) | Event::Pong(_))) => {}
                Ok(Some(Event::Ping(payload))) => {
                    let _ = write_pong(&mut self.out, None, payload);
                }
                Ok(Some(Event::Close(_))) => {
                    self.is_ended = true;
                    let _ = write_close(&mut self.out, None, None);
                    break;
                }
                Err(_) => {
                    self.is_ended = true;
                    break;
                }
            }
        }
        for text in texts {
            self.text(&text);
        }
    }

    fn text(&mut self, text: &str) {
        match EnginePacket::parse(text) {
            Some(EnginePacket::Ping(PROBE)) if self.is_moving => {
                write_text(&mut self.out, None, &EnginePacket::Pong(PROBE).to_text());
            }
            Some(EnginePacket::Upgrade) if self.is_moving => {
                self.is_moving = false;
                self.state.sessions.totals().upgraded += 1;
                self.session.upgrade();
            }
            _ if receive(&self.state, &self.session, text) => {}
            _ => self.is_ended = true,
        }
    }
}
