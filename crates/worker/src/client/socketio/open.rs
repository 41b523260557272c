//! Opening of a session: the handshake, and joining the first namespace.

use std::{borrow::Cow, rc::Rc};

use codec::{
    Want,
    socketio::{EnginePacket, Handshake, split_payload},
    websocket::Offer,
};
use measure::{interval::SocketIoCounts, outcome::SocketIoFault};

use super::{
    super::{
        Agent, Call, Caller, Client, Exchange,
        conn::OpenCount,
        pool::OutgoingRequest,
        websocket::{Claim, Message, UpgradeRequest},
    },
    Session, SessionError, Transport,
    polling::Polling,
    requests::SessionRequests,
    state::SessionState,
};

/// Transports that a session uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transports {
    /// A WebSocket from the start.
    WebSocket,
    /// Polling at the start. [`Session::upgrade`] may move the session to a WebSocket.
    Polling,
}

/// Parameters of a new session.
#[derive(Debug, Clone, Copy)]
pub struct SessionRequest<'a> {
    /// Transport to start with.
    pub transports: Transports,
    /// Namespace to join.
    pub namespace: &'a str,
    /// Credentials for the namespace, as JSON. Empty if there are none.
    pub auth: &'a str,
    /// Random bytes for the key of a WebSocket.
    pub random: [u8; 16],
}

impl Client {
    /// Opens a session, and joins its first namespace. `call` is the first request, without the
    /// Engine.IO parameters. Returns `None` if the server refuses with an HTTP status, which
    /// `exchange` then contains.
    pub async fn open_session(
        self: &Rc<Client>,
        agent: &mut Agent<'_>,
        call: &Call<'_>,
        wanted: SessionRequest<'_>,
        caller: &mut impl Caller,
        exchange: &mut Exchange,
    ) -> Result<Option<Session>, SessionError> {
        let opened = match wanted.transports {
            Transports::Polling => self.open_polling(agent, call, caller, exchange).await,
            Transports::WebSocket => {
                let opened = self.open_websocket(agent, call, wanted.random, caller, exchange);
                opened.await
            }
        };
        let opened = opened.inspect_err(|_| exchange.moments.done = self.worker.clock.now())?;
        let Some(mut session) = opened else {
            self.count_session(|counts| counts.refused += 1);
            return Ok(None);
        };
        let joined = session.join(wanted.namespace, wanted.auth, agent.limit);
        match joined.await {
            Ok(joined_ns) => {
                exchange.moments.done = joined_ns;
                self.count_session(|counts| counts.opened += 1);
                session.open = Some(OpenCount::new(&self.worker.socketio));
                Ok(Some(session))
            }
            Err(error) => {
                exchange.moments.done = self.worker.clock.now();
                session.close_in_background();
                Err(error)
            }
        }
    }

    fn count_session(&self, count: impl FnOnce(&mut SocketIoCounts)) {
        count(&mut self.worker.recorder.borrow_mut().run.socketio);
    }

    async fn open_polling(
        self: &Rc<Client>,
        agent: &mut Agent<'_>,
        call: &Call<'_>,
        caller: &mut impl Caller,
        exchange: &mut Exchange,
    ) -> Result<Option<Session>, SessionError> {
        let mut requests = SessionRequests::new(&call.request);
        let now = exchange.moments.started;
        caller.sending(now);
        // Box the future, because it is large and connecting is rare.
        let wanted = self.checkout_of(&call.request, call, agent);
        let mut conn = Box::pin(self.open(wanted, exchange)).await?;
        if let Some(cookie) = self.cookies_for(&call.request, call, agent.jar, now) {
            requests.set_cookie(&cookie);
        }
        let request = requests.get();
        self.draw_trace(&request, now, exchange);
        let bytes = &*request.completed(None, exchange.trace);
        let want = Want {
            headers: true,
            body: true,
            ..self.wanted(call)
        };
        self.trace_request(&request.target, bytes, "HTTP/1.1");
        let outgoing = OutgoingRequest {
            built: &request,
            bytes,
            to_head: false,
            want,
            limit: agent.limit,
            was_refused: false,
        };
        let result = self.exchange(&mut conn, &outgoing, exchange).await;
        self.trace_answer(exchange, result.err());
        result?;
        self.keep_cookies(&request.target, agent.jar, caller, exchange);
        if exchange.answer.status != 200 {
            self.count_session(|counts| {
                counts.polls += 1;
                counts.refused_polls += 1;
            });
            return Ok(None);
        }
        self.count_session(|counts| counts.polls += 1);
        let body = String::from_utf8_lossy(&exchange.answer.body).into_owned();
        let mut packets = split_payload(&body);
        let handshake = packets.next().and_then(read_open);
        let handshake = handshake.ok_or(SocketIoFault::BadHandshake)?;
        requests.sid.clone_from(&handshake.sid);
        // A load balancer may select the server by a cookie from the handshake.
        if let Some(cookie) = self.cookies_for(&call.request, call, agent.jar, now) {
            requests.set_cookie(&cookie);
        }
        let mut polling = Polling::new(self, call.label, handshake.max_payload);
        polling.keep(conn);
        polling.received(packets, exchange.moments.done);
        Ok(Some(Session {
            worker: Rc::clone(&self.worker),
            requests,
            transport: Transport::Polling(Box::new(polling)),
            state: SessionState::new(&self.worker),
            handshake,
            open: None,
        }))
    }

    async fn open_websocket(
        self: &Rc<Client>,
        agent: &mut Agent<'_>,
        call: &Call<'_>,
        random: [u8; 16],
        caller: &mut impl Caller,
        exchange: &mut Exchange,
    ) -> Result<Option<Session>, SessionError> {
        let mut requests = SessionRequests::new(&call.request);
        let call = Call {
            request: Cow::Owned(requests.websocket()),
            ..call.clone()
        };
        let upgrade = upgrade_request(random);
        let socket = self
            .upgrade(agent, &call, upgrade, caller, exchange)
            .await?;
        let Some(mut socket) = socket else {
            return Ok(None);
        };
        let mut handshake = None;
        let mut receive = |message: Message<'_>, _: u64| {
            handshake = match message {
                Message::Text(text) => read_open(text),
                Message::Binary(_) => None,
            };
            Claim::Last
        };
        let received = socket.receive(agent.limit, &mut receive).await;
        let handshake = match (received, handshake) {
            (Ok(_), Some(handshake)) => handshake,
            (received, _) => {
                socket.close_in_background();
                received?;
                return Err(SocketIoFault::BadHandshake.into());
            }
        };
        requests.sid.clone_from(&handshake.sid);
        Ok(Some(Session {
            worker: Rc::clone(&self.worker),
            requests,
            transport: Transport::WebSocket(Box::new(socket)),
            state: SessionState::new(&self.worker),
            handshake,
            open: None,
        }))
    }
}

pub(super) fn upgrade_request<'a>(random: [u8; 16]) -> UpgradeRequest<'a> {
    UpgradeRequest {
        random,
        subprotocols: &[],
        deflate: Offer::Off,
        is_recorded: true,
    }
}

fn read_open(text: &str) -> Option<Handshake> {
    match EnginePacket::parse(text)? {
        EnginePacket::Open(json) => Handshake::parse(json),
        _ => None,
    }
}
