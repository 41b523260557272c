//! Opens the WebSocket connections of scripts, and passes on their events.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll},
};

use codec::websocket::Offer;
use measure::{
    Fault,
    outcome::{Failure, WebSocketFault},
    sample::RequestOutcome,
};
use script::k6::{
    HostFuture, HostSocket, HttpError, HttpOutcome, HttpRequest, OpenedSocket, SocketEvent,
    SocketRequest, VuConnections,
};
use worker::{
    client::websocket::{SocketEvent as Received, UpgradeRequest, WebSocket, WrittenFrames},
    deadlines::Limit,
};

use crate::{
    host::RunHost,
    http::{Place, SentRequest, encode, failed, measured_call, outcome},
};

const METHOD: &str = "GET";
/// Close code to send when an iteration leaves its connection open.
const GOING_AWAY: u16 = 1001;
/// Close code to report if a connection ended without a close frame.
const ABNORMAL_CLOSURE: u16 = 1006;

/// Requests a connection and records the request.
pub async fn open(
    host: &Rc<RunHost>,
    connections: VuConnections,
    request: SocketRequest,
) -> OpenedSocket {
    let upgrade_request = HttpRequest {
        method: METHOD.to_owned(),
        url: request.url,
        headers: request.headers,
        timeout_ns: request.timeout_ns,
        name: request.name,
        ..HttpRequest::default()
    };
    let built = match encode(host, &upgrade_request) {
        Ok(built) => built,
        Err(error) => {
            return OpenedSocket {
                response: failed(error.code, &error.text),
                socket: None,
            };
        }
    };
    let mut random = [0; 16];
    if getrandom::fill(&mut random).is_err() {
        return OpenedSocket {
            response: failed(1000, "the system has no random numbers"),
            socket: None,
        };
    }
    let upgrade = UpgradeRequest {
        random,
        subprotocols: &request.subprotocols,
        deflate: match request.compresses {
            true => Offer::NoContext,
            false => Offer::Off,
        },
        // The connections of `setup` and `teardown` are not part of the load.
        is_recorded: connections.vu > 0,
    };
    let limit = Rc::new(Limit::default());
    let place = Place::new(host, &limit);
    let call = measured_call(host, connections, &upgrade_request, &built);
    let mut sent = SentRequest::new(host, connections.vu, call);
    let upgraded = host
        .client
        .measure_upgrade(&sent.call, upgrade, &mut sent.exchange, &limit)
        .await;
    drop(place);
    let mut measured = upgraded.measured;
    if measured.fault.is_none() && upgraded.socket.is_none() {
        let status = sent.exchange.answer.status;
        measured.sample.ended = RequestOutcome::Failed(Failure::Status(status));
    }
    sent.settle(&measured.sample);
    let fault = measured.fault.take();
    let mut response = outcome(host, &built, &measured, &mut sent.exchange);
    if upgraded.socket.is_none() {
        response.error = Some(match fault {
            Some(fault) if !is_bad_upgrade(Some(fault)) => {
                host.error(&built.target.origin.host, fault)
            }
            _ => HttpError {
                code: 1000,
                text: "websocket: bad handshake".to_owned(),
            },
        });
    }
    if fault.is_some() && !is_bad_upgrade(fault) {
        response = without_response(response);
    }
    let connection = upgraded
        .socket
        .map(|socket| SharedSocket::new(host, connections.vu, socket));
    OpenedSocket {
        response,
        socket: connection.map(|connection| Rc::new(RunSocket(connection)) as Rc<dyn HostSocket>),
    }
}

fn is_bad_upgrade(fault: Option<Fault>) -> bool {
    matches!(fault, Some(Fault::WebSocket(WebSocketFault::BadUpgrade)))
}

fn without_response(response: HttpOutcome) -> HttpOutcome {
    HttpOutcome {
        timings: response.timings,
        remote_ip: response.remote_ip,
        remote_port: response.remote_port,
        error: response.error,
        ..HttpOutcome::default()
    }
}

/// Receives the number of messages that were written, which is at least one in each call.
type SentListener = RefCell<Option<Box<dyn Fn(u64)>>>;

/// A connection that the script's session and its reading task share.
struct SharedSocket {
    host: Rc<RunHost>,
    vu: u64,
    listener: Rc<SentListener>,
    /// Empty only while the connection is being dropped.
    socket: RefCell<Option<WebSocket>>,
    is_closing: Cell<bool>,
}

impl Drop for SharedSocket {
    fn drop(&mut self) {
        if let Some(socket) = self.socket.take() {
            socket.close_in_background_with(GOING_AWAY, "");
        }
    }
}

impl SharedSocket {
    fn new(host: &Rc<RunHost>, vu: u64, mut socket: WebSocket) -> Rc<SharedSocket> {
        let listener = Rc::<SentListener>::default();
        let (traffic, sent) = (Rc::clone(host), Rc::clone(&listener));
        socket.observe_writes(Box::new(move |written: WrittenFrames| {
            traffic.add_traffic(vu, written.bytes, 0);
            if written.messages > 0
                && let Some(listener) = &*sent.borrow()
            {
                listener(written.messages);
            }
        }));
        Rc::new(SharedSocket {
            host: Rc::clone(host),
            vu,
            listener,
            socket: RefCell::new(Some(socket)),
            is_closing: Cell::new(false),
        })
    }

    fn push(&self, push: impl FnOnce(&mut WebSocket) -> Result<(), Fault>) -> Result<(), String> {
        let mut socket = self.socket.borrow_mut();
        if self.is_closing.get() {
            return Err("websocket: close sent".to_owned());
        }
        let pushed = socket.as_mut().map_or(Err(Fault::Other), push);
        pushed.map_err(|fault| fault.text().to_string())
    }

    fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut *self.socket.borrow_mut() {
            Some(socket) => socket.poll_flush(cx).map(|_| ()),
            None => Poll::Ready(()),
        }
    }

    fn poll_event(&self, cx: &mut Context<'_>) -> Poll<SocketEvent> {
        let mut socket = self.socket.borrow_mut();
        let Some(socket) = socket.as_mut() else {
            return Poll::Ready(lost(Fault::Other));
        };
        let before = socket.bytes_received();
        let polled = socket.poll_event(cx);
        let received = socket.bytes_received() - before;
        if received > 0 {
            self.host.add_traffic(self.vu, 0, received);
        }
        polled.map(|event| match event {
            Ok(Received::Text(text)) => SocketEvent::Text(text),
            Ok(Received::Binary(bytes)) => SocketEvent::Binary(bytes),
            Ok(Received::Ping(_)) => SocketEvent::Ping,
            Ok(Received::Pong(payload)) => SocketEvent::Pong(payload),
            Err(fault) => self.closed(socket, fault),
        })
    }

    fn closed(&self, socket: &WebSocket, fault: Fault) -> SocketEvent {
        let code = socket.ended().and_then(|end| end.code);
        let reason = socket.close_reason();
        match code.filter(|code| *code != ABNORMAL_CLOSURE) {
            Some(code) => SocketEvent::Closed {
                code,
                reason: reason.to_owned(),
                error: close_error(code, reason).filter(|_| !self.is_closing.get()),
            },
            None if self.is_closing.get() => SocketEvent::Closed {
                code: ABNORMAL_CLOSURE,
                reason: String::new(),
                error: None,
            },
            None => lost(fault),
        }
    }
}

/// Returns the event for a connection that ended without a close frame.
fn lost(fault: Fault) -> SocketEvent {
    let error = match fault {
        Fault::WebSocket(WebSocketFault::Lost) => {
            "websocket: close 1006 (abnormal closure): unexpected EOF".to_owned()
        }
        fault => fault.text().to_string(),
    };
    SocketEvent::Closed {
        code: ABNORMAL_CLOSURE,
        reason: String::new(),
        error: Some(error),
    }
}

/// Returns the error text for a close code. `None` if the code is not an error.
fn close_error(code: u16, reason: &str) -> Option<String> {
    let meaning = match code {
        1000 | 1001 => return None,
        1002 => " (protocol error)",
        1003 => " (unsupported data)",
        1005 => " (no status)",
        1007 => " (invalid payload data)",
        1008 => " (policy violation)",
        1009 => " (message too big)",
        1010 => " (mandatory extension missing)",
        1011 => " (internal server error)",
        1015 => " (TLS handshake error)",
        _ => "",
    };
    let reason = match reason {
        "" => String::new(),
        reason => format!(": {reason}"),
    };
    Some(format!("websocket: close {code}{meaning}{reason}"))
}

/// A connection, as scripts use it.
struct RunSocket(Rc<SharedSocket>);

impl HostSocket for RunSocket {
    fn on_sent(&self, listener: Box<dyn Fn(u64)>) {
        *self.0.listener.borrow_mut() = Some(listener);
    }

    fn send_text(&self, text: &str) -> Result<(), String> {
        self.0.push(|socket| socket.push_text(text))
    }

    fn send_binary(&self, bytes: &[u8]) -> Result<(), String> {
        self.0.push(|socket| socket.push_binary(bytes))
    }

    fn ping(&self, payload: &[u8]) -> Result<(), String> {
        self.0.push(|socket| socket.push_ping(payload))
    }

    fn unwritten(&self) -> usize {
        let socket = self.0.socket.borrow();
        socket.as_ref().map_or(0, WebSocket::unwritten)
    }

    fn flush(&self) -> HostFuture<()> {
        let connection = Rc::clone(&self.0);
        Box::pin(async move { poll_fn(|cx| connection.poll_flush(cx)).await })
    }

    fn close(&self, code: u16, reason: &str) {
        if let Some(socket) = &mut *self.0.socket.borrow_mut() {
            self.0.is_closing.set(true);
            socket.begin_closing(code, reason);
        }
    }

    fn next(&self) -> HostFuture<SocketEvent> {
        let connection = Rc::clone(&self.0);
        Box::pin(async move {
            // A server that never stops sending must not prevent other virtual users from running.
            tokio::task::consume_budget().await;
            poll_fn(|cx| connection.poll_event(cx)).await
        })
    }
}
