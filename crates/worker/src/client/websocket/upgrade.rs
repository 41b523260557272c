//! The request that opens a WebSocket connection.

use std::{cell::RefCell, rc::Rc};

use codec::{
    Want, encode,
    websocket::{
        Compressor, Negotiated, Offer, Role,
        handshake::{self, UpgradeOffer},
    },
};
use measure::{Fault, interval::WebSocketCounts, outcome::WebSocketFault};

use super::{
    super::{Agent, Call, Caller, Client, Exchange, pool::OutgoingRequest},
    WebSocket,
};

/// Parameters of an upgrade request.
#[derive(Debug, Clone, Copy)]
pub struct UpgradeRequest<'a> {
    /// Random bytes for the key.
    pub random: [u8; 16],
    /// Subprotocols in order of preference.
    pub subprotocols: &'a [String],
    /// Compression to offer.
    pub deflate: Offer,
    /// Whether the record counts the connection and its messages.
    pub is_recorded: bool,
}

impl UpgradeRequest<'_> {
    /// Returns the header lines of the upgrade.
    fn lines(&self, key: &[u8]) -> String {
        let mut lines = format!(
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: {}\r\n",
            String::from_utf8_lossy(key)
        );
        if !self.subprotocols.is_empty() {
            let names = self.subprotocols.join(", ");
            lines.push_str(&format!("Sec-WebSocket-Protocol: {names}\r\n"));
        }
        if let Some(offer) = self.deflate.header() {
            lines.push_str(&format!("Sec-WebSocket-Extensions: {offer}\r\n"));
        }
        lines
    }
}

impl Client {
    /// Requests a WebSocket connection, always on a new connection. Returns `None` if the server
    /// refuses. `exchange` contains the response.
    ///
    /// # Errors
    ///
    /// Fails with [`Fault::Declared`] if a subprotocol is not a token, and with the fault of the
    /// request if it has no valid response.
    pub async fn upgrade(
        &self,
        agent: &mut Agent<'_>,
        call: &Call<'_>,
        upgrade: UpgradeRequest<'_>,
        caller: &mut impl Caller,
        exchange: &mut Exchange,
    ) -> Result<Option<WebSocket>, Fault> {
        // The text of a subprotocol may come from a server.
        if !upgrade
            .subprotocols
            .iter()
            .all(|name| encode::is_token(name))
        {
            return Err(Fault::Declared);
        }
        let request = &*call.request;
        let now = exchange.moments.started;
        caller.sending(now);
        // Box the future, because it is large and connecting is rare.
        let wanted = self.checkout_of(request, call, agent);
        let mut conn = Box::pin(self.open(wanted, exchange)).await?;
        let key = handshake::request_key(upgrade.random);
        let completed = self.completed(request, call, agent.jar, now, exchange);
        let after_lines = request.bytes.len() - request.cookie_at;
        let (head, rest) = completed.split_at(completed.len() - after_lines);
        let bytes = [head, upgrade.lines(&key).as_bytes(), rest].concat();
        let want = Want {
            headers: true,
            ..self.wanted(call)
        };
        self.trace_request(&request.target, &bytes, "HTTP/1.1");
        let outgoing = OutgoingRequest {
            built: request,
            bytes: &bytes,
            to_head: call.method == "HEAD",
            want,
            limit: agent.limit,
            was_refused: false,
        };
        let result = self.exchange(&mut conn, &outgoing, exchange).await;
        self.trace_answer(exchange, result.err());
        result?;
        // Frames that arrived together with the response count as messages.
        exchange.moments.bytes_in -= conn.bytes_after_upgrade();
        self.keep_cookies(&request.target, agent.jar, caller, exchange);
        let counts = |count: fn(&mut WebSocketCounts)| {
            if upgrade.is_recorded {
                count(&mut self.worker.recorder.borrow_mut().run.websocket);
            }
        };
        if exchange.answer.status != 101 {
            counts(|counts| counts.refused += 1);
            return Ok(None);
        }
        let offer = UpgradeOffer {
            key: &key,
            subprotocols: upgrade.subprotocols,
            deflate: upgrade.deflate,
        };
        let headers = &exchange.answer.headers;
        let Ok(upgraded) = handshake::check_response(101, headers, offer) else {
            counts(|counts| counts.refused += 1);
            return Err(Fault::WebSocket(WebSocketFault::BadUpgrade));
        };
        counts(|counts| counts.opened += 1);
        let seed = u64::from_le_bytes(std::array::from_fn(|i| upgrade.random[i]));
        let mut socket = WebSocket::new(self, conn, &upgraded, seed);
        socket.is_recorded = upgrade.is_recorded;
        Ok(Some(socket))
    }

    /// Returns the compressor of a connection. Connections whose messages do not refer to earlier
    /// ones share one compressor, because each compressor needs about 260 kB.
    pub(super) fn compressor(&self, negotiated: Negotiated) -> Option<Rc<RefCell<Compressor>>> {
        let mut shared = self.compressor.borrow_mut();
        if let Some((known, compressor)) = &*shared
            && *known == negotiated
        {
            return Some(Rc::clone(compressor));
        }
        let compressor = Compressor::new(Role::Client, negotiated)?;
        let takes_over = compressor.takes_over();
        let compressor = Rc::new(RefCell::new(compressor));
        if !takes_over {
            *shared = Some((negotiated, Rc::clone(&compressor)));
        }
        Some(compressor)
    }
}
