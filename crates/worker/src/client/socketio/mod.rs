//! A Socket.IO session of a virtual user, over long polling or a WebSocket.
//!
//! Like a [`WebSocket`], a session is read only while its user waits: by the step that waits for a
//! packet, and by [`Session::read_idle`] during all other waits.

mod open;
mod polling;
mod requests;
mod state;
mod upgrade;

use std::{
    rc::Rc,
    task::{Context, Poll, ready},
};

use codec::socketio::{EnginePacket, Handshake, Packet, PacketKind};
use measure::{
    Fault, NoAnswer,
    interval::SocketIoCounts,
    outcome::{SocketIoFault, WebSocketFault},
};

use super::{
    conn::OpenCount,
    websocket::{Claim, Message, SentMessage, WebSocket},
};
use crate::{
    deadlines::{Cut, Limit},
    worker::Worker,
};
pub use open::{SessionRequest, Transports};
use polling::Polling;
use requests::SessionRequests;
use state::{Read, SessionState};

/// Maximum time for closing a session, in nanoseconds.
const CLOSE_WAIT_NS: u64 = 1_000_000_000;
/// Close code that stands for a close frame without a code, as Socket.IO clients send it.
const NO_CODE: u16 = 1005;

/// An open Socket.IO session.
pub struct Session {
    worker: Rc<Worker>,
    requests: SessionRequests,
    transport: Transport,
    state: SessionState,
    handshake: Handshake,
    /// Counts the session while it is open.
    open: Option<OpenCount>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Session");
        shown
            .field("handshake", &self.handshake)
            .field("state", &self.state);
        shown.finish_non_exhaustive()
    }
}

enum Transport {
    Polling(Box<Polling>),
    WebSocket(Box<WebSocket>),
}

/// Why an operation of a session failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionError {
    /// Fault to record.
    pub fault: Fault,
    /// HTTP status, if the server refused a polling request.
    pub status: Option<u16>,
    /// Message of the server, if it refused a namespace.
    pub message: Option<String>,
}

impl From<Fault> for SessionError {
    fn from(fault: Fault) -> SessionError {
        SessionError {
            fault,
            status: None,
            message: None,
        }
    }
}

impl From<SocketIoFault> for SessionError {
    fn from(fault: SocketIoFault) -> SessionError {
        Fault::SocketIo(fault).into()
    }
}

impl Session {
    /// Returns whether the session is open and the user has joined the namespace.
    #[must_use]
    pub fn has_joined(&self, namespace: &str) -> bool {
        self.state.has_joined(namespace)
    }

    /// Returns whether the session has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.state.ended.is_some()
    }

    /// Returns whether the session can be upgraded from polling to a WebSocket.
    #[must_use]
    pub fn can_upgrade(&self) -> bool {
        let polls = matches!(self.transport, Transport::Polling(_));
        polls && self.state.ended.is_none() && self.handshake.offers_websocket()
    }

    /// Returns a new number for an event, which the server repeats in its acknowledgement.
    pub fn next_id(&mut self) -> u64 {
        self.state.next_id()
    }

    /// Returns the total size of the received packets in bytes.
    #[must_use]
    pub fn bytes_received(&self) -> u64 {
        self.state.bytes_received
    }

    /// Joins a namespace.
    pub async fn join(
        &mut self,
        namespace: &str,
        auth: &str,
        limit: &Limit,
    ) -> Result<u64, SessionError> {
        let packet = Packet::new(PacketKind::Connect, namespace, auth);
        self.send_text(packet, limit).await?;
        let mut refusal = None;
        let mut receive = |packet: &Packet<'_>, _: u64| {
            if packet.namespace != namespace {
                return Claim::Unclaimed;
            }
            match packet.kind {
                PacketKind::Connect => Claim::Last,
                PacketKind::ConnectError => {
                    refusal = Some(state::refusal(packet.json));
                    Claim::Last
                }
                _ => Claim::Unclaimed,
            }
        };
        let joined_ns = self.receive(None, limit, &mut receive).await?;
        let Some(message) = refusal else {
            self.state.namespaces.push(namespace.to_owned());
            return Ok(joined_ns);
        };
        self.count(|counts| counts.refused += 1);
        Err(SessionError {
            message: Some(message),
            ..SocketIoFault::Refused.into()
        })
    }

    /// Sends an event.
    pub async fn emit(
        &mut self,
        packet: Packet<'_>,
        limit: &Limit,
    ) -> Result<SentMessage, SessionError> {
        self.check_pings()?;
        if !self.state.has_joined(packet.namespace) {
            return Err(self.state.fault(packet.namespace).into());
        }
        let sent = self.send_text(packet, limit).await?;
        self.count(|counts| counts.sent += 1);
        Ok(sent)
    }

    async fn send_text(
        &mut self,
        packet: Packet<'_>,
        limit: &Limit,
    ) -> Result<SentMessage, SessionError> {
        if let Some(fault) = self.state.ended {
            return Err(fault.into());
        }
        let text = packet.to_text();
        let text = EnginePacket::Message(&text).to_text();
        let sent = match &mut self.transport {
            Transport::WebSocket(socket) => {
                let sent = socket.send(&text, limit).await;
                sent.map_err(SessionError::from)
            }
            Transport::Polling(polling) => polling.send(text, &self.requests, limit).await,
        };
        sent.map_err(|error| self.note_failure(error))
    }

    /// Reads packets until `receiver` has received the last packet it waits for. Returns the time
    /// at which that packet was read. Fails if the server disconnects the user from `namespace`.
    pub async fn receive(
        &mut self,
        namespace: Option<&str>,
        limit: &Limit,
        receiver: &mut dyn FnMut(&Packet<'_>, u64) -> Claim,
    ) -> Result<u64, SessionError> {
        self.check_pings()?;
        std::future::poll_fn(|cx| {
            let polled = self.poll_packets(cx, namespace, receiver);
            match polled {
                Poll::Ready(read) => Poll::Ready(read),
                Poll::Pending => limit.poll(cx).map(|cut| Err(cut_fault(cut).into())),
            }
        })
        .await
    }

    /// Reads packets that arrive while no step waits for them.
    pub fn read_idle(&mut self, cx: &mut Context<'_>) {
        if self.state.ended.is_none() {
            let _ = self.poll_packets(cx, None, &mut |_, _| Claim::Unclaimed);
        }
    }

    /// Fails if the server stopped sending pings.
    fn check_pings(&mut self) -> Result<(), SessionError> {
        let handshake = &self.handshake;
        let allowed_ms = handshake
            .ping_interval
            .saturating_add(handshake.ping_timeout);
        let now = self.worker.clock.now();
        let silent_ns = now.saturating_sub(self.state.last_heard_ns);
        if self.state.ended.is_some() || silent_ns <= allowed_ms.saturating_mul(1_000_000) {
            return Ok(());
        }
        let fault = Fault::SocketIo(SocketIoFault::PingTimeout);
        self.end(fault, |counts| counts.ping_timeouts += 1);
        Err(fault.into())
    }

    /// Reads packets. Returns the time at which the last awaited packet was read.
    fn poll_packets(
        &mut self,
        cx: &mut Context<'_>,
        namespace: Option<&str>,
        receiver: &mut dyn FnMut(&Packet<'_>, u64) -> Claim,
    ) -> Poll<Result<u64, SessionError>> {
        loop {
            if let Some(fault) = self.state.ended {
                return Poll::Ready(Err(fault.into()));
            }
            if let Some(name) = namespace.filter(|name| !self.has_joined(name)) {
                return Poll::Ready(Err(self.state.fault(name).into()));
            }
            let read = match &mut self.transport {
                Transport::WebSocket(socket) => {
                    ready!(read_socket(socket, &mut self.state, cx, receiver))
                }
                Transport::Polling(polling) => {
                    let polled = polling.poll_packet(cx, &self.requests);
                    let polled = ready!(polled);
                    polled.map(|(text, at_ns)| self.state.read(&text, at_ns, receiver))
                }
            };
            match read {
                Ok(Read::Last(at_ns)) => return Poll::Ready(Ok(at_ns)),
                Ok(Read::More) => {}
                Ok(Read::Pong(content)) => {
                    let pong = EnginePacket::Pong(&content).to_text();
                    self.queue(pong);
                }
                Ok(Read::Closed) => self.end_by_server(),
                Ok(Read::Bad) => self.end_by_violation(),
                Err(error) => return Poll::Ready(Err(self.note_failure(error))),
            }
        }
    }

    fn end_by_server(&mut self) {
        let fault = Fault::SocketIo(SocketIoFault::Disconnected);
        self.end(fault, |counts| counts.closed_by_server += 1);
    }

    fn end_by_violation(&mut self) {
        let fault = Fault::SocketIo(SocketIoFault::BadPacket);
        self.end(fault, |counts| counts.lost += 1);
    }

    fn queue(&mut self, text: String) {
        match &mut self.transport {
            // Queueing fails only for texts that are too large for the connection. A pong is never
            // too large.
            Transport::WebSocket(socket) => drop(socket.queue(&text)),
            Transport::Polling(polling) => polling.queue(text),
        }
    }

    fn count(&self, count: impl FnOnce(&mut SocketIoCounts)) {
        count(&mut self.worker.recorder.borrow_mut().run.socketio);
    }

    /// Ends the session. If it was open, calls `count` to count its end.
    fn end(&mut self, fault: Fault, count: impl FnOnce(&mut SocketIoCounts)) {
        if self.state.ended.is_none() {
            self.state.ended = Some(fault);
            if self.open.take().is_some() {
                self.count(count);
            }
        }
    }

    /// Ends the session after the transport failed, unless only a time limit expired. Returns the
    /// error to report.
    fn note_failure(&mut self, mut error: SessionError) -> SessionError {
        error.fault = session_fault(error.fault);
        match error.fault {
            Fault::ResponseTimeout | Fault::Unfinished => {}
            fault @ Fault::SocketIo(SocketIoFault::Disconnected) => {
                self.end(fault, |counts| counts.closed_by_server += 1);
            }
            fault => self.end(fault, |counts| counts.lost += 1),
        }
        error
    }

    /// Closes the session, and waits up to a second for the server. Returns `false` if the run was
    /// aborted first.
    pub async fn close(mut self, limit: &Rc<Limit>) -> bool {
        if self.state.ended.is_some() {
            self.close_in_background();
            return true;
        }
        self.begin_close();
        match self.transport {
            Transport::WebSocket(socket) => socket.close(NO_CODE, limit).await,
            Transport::Polling(mut polling) => {
                let until = self.worker.clock.now() + CLOSE_WAIT_NS;
                self.worker.deadlines.borrow_mut().limit(limit, until);
                polling.flush(&self.requests, limit).await;
                limit.disarm();
                !limit.is_aborted()
            }
        }
    }

    /// Closes the session in the background.
    pub fn close_in_background(mut self) {
        let has_ended = self.state.ended.is_some();
        if !has_ended {
            self.begin_close();
        }
        match self.transport {
            // The server may have ended only the session, and not the connection.
            Transport::WebSocket(socket) => socket.close_in_background(),
            Transport::Polling(_) if has_ended => {}
            Transport::Polling(mut polling) => {
                // The task never runs if the run ends now.
                polling.begin_flush(&self.requests);
                let worker = Rc::clone(&self.worker);
                let limit = Rc::new(Limit::default());
                let until = worker.clock.now() + CLOSE_WAIT_NS;
                worker.deadlines.borrow_mut().limit(&limit, until);
                let requests = self.requests;
                tokio::task::spawn_local(async move {
                    polling.flush(&requests, &limit).await;
                    limit.retire();
                });
            }
        }
    }

    fn begin_close(&mut self) {
        for namespace in std::mem::take(&mut self.state.namespaces) {
            let packet = Packet::new(PacketKind::Disconnect, &namespace, "").to_text();
            self.queue(EnginePacket::Message(&packet).to_text());
        }
        if matches!(self.transport, Transport::Polling(_)) {
            self.queue(EnginePacket::Close.to_text());
        }
        let fault = Fault::SocketIo(SocketIoFault::NotConnected);
        self.end(fault, |counts| counts.closed_here += 1);
    }
}

/// Reads WebSocket messages until one concerns the session.
fn read_socket(
    socket: &mut WebSocket,
    state: &mut SessionState,
    cx: &mut Context<'_>,
    receiver: &mut dyn FnMut(&Packet<'_>, u64) -> Claim,
) -> Poll<Result<Read, SessionError>> {
    let mut last = Read::More;
    let mut receive = |message: Message<'_>, now_ns: u64| {
        let unclaimed = state.unclaimed;
        last = match message {
            Message::Text(text) => state.read(text, now_ns, receiver),
            Message::Binary(bytes) => state.read_attachment(bytes.len(), now_ns, receiver),
        };
        match last {
            Read::More if state.unclaimed > unclaimed => Claim::Unclaimed,
            Read::More => Claim::Awaited,
            _ => Claim::Last,
        }
    };
    let read = ready!(socket.poll_messages(cx, &mut receive));
    Poll::Ready(match read {
        Ok(_) => Ok(last),
        Err(fault) => Err(fault.into()),
    })
}

/// Converts the fault that ended a connection to the fault of its session.
fn session_fault(fault: Fault) -> Fault {
    match fault {
        // Servers close the WebSocket to end a session.
        Fault::WebSocket(WebSocketFault::Closed) => Fault::SocketIo(SocketIoFault::Disconnected),
        Fault::SocketIo(_) => fault,
        fault if fault.class() == NoAnswer::Reset => Fault::SocketIo(SocketIoFault::Lost),
        fault => fault,
    }
}

fn cut_fault(cut: Cut) -> Fault {
    match cut {
        Cut::Aborted => Fault::Unfinished,
        Cut::Expired => Fault::ResponseTimeout,
    }
}
