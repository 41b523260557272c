//! Upgrade of a session from polling to a WebSocket.

use std::{borrow::Cow, rc::Rc};

use codec::{
    Want,
    encode::Charset,
    socketio::{EnginePacket, PROBE},
};
use measure::{LabelId, outcome::SocketIoFault};

use super::{
    super::{
        Agent, Call, Client, Exchange, NoCaller,
        websocket::{Claim, Message, WebSocket},
    },
    Session, SessionError, Transport,
    open::upgrade_request,
    state::Read,
};

impl Session {
    /// Upgrades the session to a WebSocket, and returns the time at which it was ready. If the
    /// server refuses, the session continues with polling.
    pub async fn upgrade(
        &mut self,
        client: &Rc<Client>,
        agent: &mut Agent<'_>,
        label: LabelId,
        random: [u8; 16],
        exchange: &mut Exchange,
    ) -> Result<u64, SessionError> {
        let opened = self.open_probe(client, agent, label, random, exchange);
        let upgraded = match opened.await {
            Ok(socket) => self.move_to(socket, agent).await,
            Err(error) => Err(error),
        };
        self.count(|counts| match &upgraded {
            Ok(_) => counts.upgraded += 1,
            Err(_) => counts.not_upgraded += 1,
        });
        upgraded
    }

    /// Opens a WebSocket for the session, and tests that it transports packets in both directions.
    async fn open_probe(
        &self,
        client: &Rc<Client>,
        agent: &mut Agent<'_>,
        label: LabelId,
        random: [u8; 16],
        exchange: &mut Exchange,
    ) -> Result<WebSocket, SessionError> {
        let call = Call {
            label,
            method: "GET",
            request: Cow::Owned(self.requests.websocket()),
            want: Want::default(),
            charset: Charset::Utf8,
            sets_cookies: false,
            redirects: None,
        };
        let upgrade = upgrade_request(random);
        let mut caller = NoCaller;
        let opened = client.upgrade(agent, &call, upgrade, &mut caller, exchange);
        let Some(mut socket) = opened.await? else {
            return Err(SessionError {
                status: Some(exchange.answer.status),
                ..SocketIoFault::PollRefused.into()
            });
        };
        let mut is_pong = false;
        let mut receive = |message: Message<'_>, _: u64| {
            let expected = EnginePacket::Pong(PROBE);
            is_pong = matches!(message, Message::Text(text) if EnginePacket::parse(text) == Some(expected));
            Claim::Last
        };
        let probe = EnginePacket::Ping(PROBE).to_text();
        let mut answered = socket.send(&probe, agent.limit).await.map(|_| 0);
        if answered.is_ok() {
            answered = socket.receive(agent.limit, &mut receive).await;
        }
        if is_pong {
            return Ok(socket);
        }
        socket.close_in_background();
        answered?;
        Err(SocketIoFault::BadPacket.into())
    }

    async fn move_to(
        &mut self,
        mut socket: WebSocket,
        agent: &mut Agent<'_>,
    ) -> Result<u64, SessionError> {
        let Transport::Polling(polling) = &mut self.transport else {
            return Err(SocketIoFault::NotConnected.into());
        };
        polling.pause(agent.limit).await?;
        let upgrade = EnginePacket::Upgrade.to_text();
        let sent = socket.send(&upgrade, agent.limit).await?;
        let received = polling.take_inbox();
        self.transport = Transport::WebSocket(Box::new(socket));
        for (text, at_ns) in received {
            let read = self.state.read(&text, at_ns, &mut |_, _| Claim::Unclaimed);
            match read {
                Read::Pong(content) => self.queue(EnginePacket::Pong(&content).to_text()),
                Read::Closed => self.end_by_server(),
                Read::Bad => self.end_by_violation(),
                Read::More | Read::Last(_) => {}
            }
        }
        Ok(sent.done_ns)
    }
}
