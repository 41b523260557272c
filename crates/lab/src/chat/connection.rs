//! Serves connections: receives messages and passes them to the outboxes of their receivers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use codec::websocket::{Event, Limits, Reader, Role};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::ChatState;
use super::behaviour::ABORT;
use super::ledger::Closing;
use super::outbox::{Message, MessagePayload, Outbox, Outgoing};
use super::socketio;
use super::upgrade::{self, Accepted, Session};
use crate::clock;

const CHUNK: usize = 16 * 1024;
/// How long a client may take to end the connection after the lab's close frame.
const GRACE: Duration = Duration::from_secs(1);
/// Number of reads per second on slow connections.
const SLOW_READS: u64 = 10;
/// Receive buffer of slow connections. It is small, so that unread data stays at the client.
const SLOW_BUFFER: usize = 4096;

/// Serves HTTP requests until one opens a WebSocket, then serves the WebSocket.
pub(super) async fn serve(state: Arc<ChatState>, mut stream: TcpStream, _: u64) {
    let mut buffer = Vec::new();
    let accepted = upgrade::accept(&state, &mut stream, &mut buffer).await;
    let session = match accepted {
        Ok(Some(Accepted::WebSocket(session))) => session,
        Ok(Some(Accepted::SocketIo(opened))) => {
            return socketio::serve(&state, stream, opened, buffer).await;
        }
        Ok(None) | Err(_) => return,
    };
    if session.behaviour.read.is_some() {
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&stream, SLOW_BUFFER);
    }
    // Faults depend on this number, so HTTP requests on other connections must not change it.
    let number = state.ledger.opened(&session.path, clock::monotonic_ns());
    let path: Arc<str> = session.path.as_str().into();
    let (outbox, outgoing) = unbounded_channel();
    let (read_half, write_half) = stream.into_split();
    let behaviour = session.behaviour.clone();
    let writer = Outbox::new(Arc::clone(&state), number, path, behaviour, session.deflate);
    let mut writer = tokio::spawn(writer.run(write_half, outgoing));
    let mut reader = Reader::new(Role::Server, Limits::default());
    if let Some(negotiated) = session.deflate {
        reader = reader.with_deflate(negotiated);
    }
    let mut inbox = Inbox::new(state, session, number, outbox);
    let received = inbox
        .receive(&mut reader, &read_half, buffer, &mut writer)
        .await;
    inbox.closing = received.unwrap_or(Closing::Lost);
    let has_close_frame = match inbox.closing {
        Closing::Client(1005) => inbox.send(Outgoing::Close(None)),
        Closing::Client(code) => inbox.send(Outgoing::Close(Some(code))),
        Closing::Lab(code) if code != ABORT => inbox.send(Outgoing::Close(Some(code))),
        Closing::Violation(error) => inbox.send(Outgoing::Close(Some(error.close_code()))),
        Closing::Lab(_) | Closing::Lost | Closing::Unfinished => false,
    };
    drop(inbox);
    if has_close_frame {
        let ending = async {
            let _ = writer.await;
            drain(&read_half).await
        };
        let _ = tokio::time::timeout(GRACE, ending).await;
    } else {
        writer.abort();
    }
}

/// Reads until the client has ended the connection. Closing earlier could reset it while the close
/// frame is still in transit.
async fn drain(socket: &OwnedReadHalf) -> io::Result<()> {
    loop {
        socket.readable().await?;
        match socket.try_read(&mut [0; CHUNK]) {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
}

/// Receives the messages of one connection.
struct Inbox {
    state: Arc<ChatState>,
    session: Session,
    connection: u64,
    outbox: UnboundedSender<Outgoing>,
    /// Number of messages received.
    received: u64,
    closing: Closing,
}

impl Drop for Inbox {
    fn drop(&mut self) {
        if let Some(room) = &self.session.room {
            self.state.rooms.leave(room, self.connection);
        }
        let ledger = &self.state.ledger;
        ledger.closed(self.connection, self.closing, clock::monotonic_ns());
    }
}

impl Inbox {
    fn new(
        state: Arc<ChatState>,
        session: Session,
        connection: u64,
        outbox: UnboundedSender<Outgoing>,
    ) -> Self {
        if let Some(room) = &session.room {
            state.rooms.join(room, connection, outbox.clone());
        }
        Self {
            state,
            session,
            connection,
            outbox,
            received: 0,
            closing: Closing::Unfinished,
        }
    }

    /// Returns whether the connection can still write.
    fn send(&self, outgoing: Outgoing) -> bool {
        self.outbox.send(outgoing).is_ok()
    }

    /// Receives messages until the connection ends. `first` contains the bytes read together with
    /// the request.
    async fn receive(
        &mut self,
        reader: &mut Reader,
        socket: &OwnedReadHalf,
        first: Vec<u8>,
        writer: &mut JoinHandle<io::Result<()>>,
    ) -> io::Result<Closing> {
        if let Some(closing) = self.take(reader, &first) {
            return Ok(closing);
        }
        drop(first);
        loop {
            tokio::select! {
                // A close frame may be waiting when writing fails.
                biased;
                ready = socket.readable() => ready?,
                // The writer ends before the reader only if it cannot write.
                _ = &mut *writer => return Ok(Closing::Lost),
            }
            if let Some(closing) = self.read_ready(reader, socket)? {
                return Ok(closing);
            }
            if self.session.behaviour.read.is_some() {
                tokio::time::sleep(Duration::from_secs(1) / SLOW_READS as u32).await;
            }
        }
    }

    fn read_ready(
        &mut self,
        reader: &mut Reader,
        socket: &OwnedReadHalf,
    ) -> io::Result<Option<Closing>> {
        let mut chunk = [0; CHUNK];
        let limit = match self.session.behaviour.read {
            Some(per_second) => usize::try_from(per_second.div_ceil(SLOW_READS)).unwrap_or(CHUNK),
            None => CHUNK,
        };
        match socket.try_read(&mut chunk[..limit.min(CHUNK)]) {
            Ok(0) => Ok(Some(Closing::Lost)),
            Ok(length) => Ok(self.take(reader, &chunk[..length])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Handles the events in the bytes. If the connection ends, returns how.
    fn take(&mut self, reader: &mut Reader, mut bytes: &[u8]) -> Option<Closing> {
        let arrival_ns = clock::monotonic_ns();
        loop {
            let payload = match reader.read(&mut bytes) {
                Err(error) => return Some(Closing::Violation(error)),
                Ok(None) => return None,
                Ok(Some(Event::Text(text))) => MessagePayload::Text(text.to_owned()),
                Ok(Some(Event::Binary(bytes))) => MessagePayload::Binary(bytes.to_vec()),
                Ok(Some(Event::Ping(payload))) => {
                    self.state.ledger.totals().pings_received += 1;
                    self.send(Outgoing::Pong(payload.to_vec()));
                    continue;
                }
                Ok(Some(Event::Pong(_))) => {
                    self.state.ledger.totals().pongs_received += 1;
                    continue;
                }
                Ok(Some(Event::Close(close))) => {
                    return Some(Closing::Client(close.map_or(1005, |close| close.code)));
                }
            };
            self.message(payload, arrival_ns);
            if self.session.behaviour.close_after == Some(self.received) {
                return Some(Closing::Lab(self.session.behaviour.code));
            }
        }
    }

    fn message(&mut self, payload: MessagePayload, arrival_ns: u64) {
        let mut message = Message {
            payload: Arc::new(payload),
            sender: self.connection,
            number: self.received,
            arrival_ns,
            sequence: None,
        };
        self.received += 1;
        let ledger = &self.state.ledger;
        let Some(room) = &self.session.room else {
            ledger.received(&self.session.path, &message, None);
            self.send(Outgoing::Message(message));
            return;
        };
        let publication = self.state.rooms.publish(room, message.clone());
        message.sequence = Some(publication.sequence);
        ledger.received(&self.session.path, &message, Some(publication.members));
        if let Some(id) = publication.id {
            let acknowledgement = json!({ "ack": id }).to_string();
            self.send(Outgoing::Acknowledgement(acknowledgement));
        }
    }
}
