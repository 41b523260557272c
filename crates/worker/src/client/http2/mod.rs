//! HTTP/2: connections that many requests share, and the requests that wait for their streams.

mod connection;
mod connection_stats;
pub mod heads;
mod notes;
pub mod pool;
mod stream;

use std::{
    cell::Cell,
    rc::Rc,
    task::{Context, Poll},
};

use codec::{
    Origin,
    h2::{self, ErrorCode, Outcome},
};
use measure::{
    DurationSample, Fault, NegotiatedVersion, OutcomeClass, TimeKind, label, outcome::Http2Fault,
};
use plan::{HttpVersion, HttpVersions};

use self::{
    connection::{Http2Connection, NewConnection},
    heads::RequestParts,
    pool::{Grant, OpenPermit, Reservation, StreamPool},
    stream::{ExchangeLoan, SentStream, StreamEnd},
};
use super::{
    Client, Purpose,
    exchange::Exchange,
    pool::{Checkout, ConnectionPool, OriginId, OutgoingRequest, SendResult},
};
use crate::{
    deadlines::{Cut, Limit},
    net::{Alpn, ConnectionInfo},
};

/// The HTTP protocol of an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    /// Always HTTP/2, over TLS or with prior knowledge.
    Http2,
    /// HTTP/2 over TLS, which is impossible because the origin does not use TLS.
    Impossible,
    /// The server chooses for each connection.
    Negotiated,
}

impl Protocol {
    pub(super) fn new(origin: &Origin, versions: &HttpVersions) -> Protocol {
        match versions.of_origin(&origin.text()) {
            HttpVersion::Http1 => Protocol::Http1,
            HttpVersion::Http2PriorKnowledge => Protocol::Http2,
            HttpVersion::Http2 if origin.tls => Protocol::Http2,
            HttpVersion::Http2 => Protocol::Impossible,
            HttpVersion::Auto if origin.tls => Protocol::Negotiated,
            HttpVersion::Auto => Protocol::Http1,
        }
    }
}

/// The protocol of an origin, which can change when the server chooses HTTP/1.1.
pub(super) type ProtocolCell = Rc<Cell<Protocol>>;

/// Result of one attempt to send a request.
enum Attempt {
    Ended(StreamEnd, Rc<Http2Connection>),
    /// The connection stopped accepting requests before the request was encoded.
    NotSent,
}

/// A request that needs a stream.
pub(super) struct StreamRequest<'s> {
    /// Connections of the virtual user or of the worker.
    pub(super) pool: &'s ConnectionPool,
    pub(super) protocol: ProtocolCell,
    pub(super) origin_id: OriginId,
    pub(super) wanted: Checkout<'s>,
}

/// A stream of a pool, which one request may use.
#[derive(Debug)]
pub(super) struct PooledStream {
    reservation: Reservation,
    protocol: ProtocolCell,
}

impl StreamRequest<'_> {
    /// Waits for a stream, and opens a connection if that is permitted. Returns `None` if the
    /// server chose HTTP/1.1.
    pub(super) async fn checkout(
        self,
        exchange: &mut Exchange,
    ) -> Result<Option<PooledStream>, Fault> {
        if self.protocol.get() == Protocol::Impossible {
            return Err(Fault::Http2(Http2Fault::Cleartext));
        }
        let http = self.wanted.client.http();
        let streams = self.pool.streams(self.origin_id, http.versions.spread);
        if let Some(idle_close_ns) = http.idle_close_ns {
            streams.close_idle(self.wanted.client.worker.clock.now(), idle_close_ns);
        }
        let reservation = match streams.try_checkout() {
            Some(Grant::Stream(reservation)) => Some(reservation),
            // The future is boxed, because it would enlarge every user of HTTP/1.1.
            grant => Box::pin(self.reserve(&streams, grant, exchange)).await?,
        };
        let protocol = self.protocol;
        Ok(reservation.map(|reservation| PooledStream {
            reservation,
            protocol,
        }))
    }

    /// Waits for a grant unless there is one, and opens a connection if that was granted.
    async fn reserve(
        &self,
        streams: &Rc<StreamPool>,
        grant: Option<Grant>,
        exchange: &mut Exchange,
    ) -> Result<Option<Reservation>, Fault> {
        let grant = match grant {
            Some(grant) => grant,
            None => self.wait(streams, exchange).await?,
        };
        if self.protocol.get() == Protocol::Http1 {
            return Ok(None);
        }
        match grant {
            Grant::Stream(reservation) => Ok(Some(reservation)),
            Grant::Open(permit) => self.open(permit, exchange).await,
        }
    }

    /// Waits for a stream or for a permit to open a connection.
    async fn wait(
        &self,
        streams: &Rc<StreamPool>,
        exchange: &mut Exchange,
    ) -> Result<Grant, Fault> {
        let Checkout { client, limit, .. } = self.wanted;
        let worker = &client.worker;
        let is_for_stream = streams.waits_for_streams();
        let since = worker.clock.now();
        let granted = streams.wait(exchange.intended.ns(), limit).await;
        if is_for_stream && client.is_recorded {
            let now = worker.clock.now();
            let duration = DurationSample {
                label: label::ALL,
                intended: exchange.intended,
                kind: TimeKind::StreamWait,
                outcome: OutcomeClass::Ok,
                ns: now - since,
            };
            worker.recorder.borrow_mut().time(now, duration);
        }
        granted.map_err(|fault| match fault {
            Fault::ResponseTimeout => exchange.limits.fault(Cut::Expired),
            fault => fault,
        })
    }

    /// Opens a connection. Returns `None` if the server chose HTTP/1.1.
    async fn open(
        &self,
        permit: OpenPermit,
        exchange: &mut Exchange,
    ) -> Result<Option<Reservation>, Fault> {
        let Checkout {
            client,
            origin,
            label,
            limit,
        } = self.wanted;
        let purpose = Purpose {
            label,
            intended: Some(exchange.intended),
        };
        let alpn = match self.protocol.get() {
            Protocol::Negotiated => Alpn::Both,
            _ => Alpn::Http2,
        };
        let opened = client.open_stream(origin, None, alpn, purpose, limit);
        let opened = opened.await.map_err(|fault| match fault {
            Fault::ResponseTimeout => exchange.limits.fault(Cut::Expired),
            fault => fault,
        })?;
        exchange.moments.opening = opened.opening();
        if alpn == Alpn::Both && !opened.info.is_http2 {
            use_http1(client, &self.protocol, origin, "the server chose it (ALPN)");
            self.pool.put(client.http1_on(opened, self.origin_id)?);
            return Ok(None);
        }
        let config = h2::Config {
            max_streams: client.http.versions.streams,
            window: client.http.versions.window,
            ..h2::Config::default()
        };
        let new = NewConnection {
            origin: origin.text(),
            stream: Client::watched(opened.stream)?,
            info: ConnectionInfo {
                is_http2: true,
                ..opened.info
            },
            open: client.open_count(),
        };
        let connection = Http2Connection::start(&client.worker, permit.pool(), new, &config);
        Ok(Some(permit.add(connection)))
    }
}

impl PooledStream {
    /// Returns what is known of the connection.
    pub(super) fn info(&self) -> ConnectionInfo {
        self.reservation.connection().info
    }

    /// Sends a request on the stream, and waits for its end.
    pub(super) async fn send(
        &mut self,
        client: &Client,
        request: &OutgoingRequest<'_>,
        exchange: &mut Exchange,
    ) -> Result<SendResult, Fault> {
        let protocol = &self.protocol;
        let of_earlier_hop = (exchange.moments.first_write, exchange.moments.first_read);
        let attempt = attempt(self.reservation.take(), client, request, exchange).await?;
        let Attempt::Ended(end, connection) = attempt else {
            return Ok(SendResult::NotProcessed { is_refusal: false });
        };
        let outcome = match end {
            StreamEnd::Outcome(outcome) => outcome,
            StreamEnd::Fault(fault) => return Err(fault),
        };
        let is_refusal = !connection.is_retired(outcome);
        // A server that has begun to respond has processed the request, whatever it says later.
        let has_response = exchange.moments.head > 0;
        if outcome.may_resend() && !has_response && !(request.was_refused && is_refusal) {
            if client.is_recorded {
                client.worker.recorder.borrow_mut().run.http2.resent += 1;
            }
            // Until the server accepts the request, it waits.
            (exchange.moments.first_write, exchange.moments.first_read) = of_earlier_hop;
            return Ok(SendResult::NotProcessed { is_refusal });
        }
        if outcome == Outcome::Reset(ErrorCode::HTTP_1_1_REQUIRED)
            && protocol.get() == Protocol::Negotiated
        {
            let origin = &request.built.target.origin;
            let reason = "the server requires it (HTTP_1_1_REQUIRED)";
            use_http1(client, protocol, origin, reason);
        }
        match outcome {
            Outcome::ConnectionLost => Err(connection.lost_fault()),
            outcome => match outcome.fault() {
                Some(fault) => Err(Fault::Http2(fault)),
                None => Ok(SendResult::Answered),
            },
        }
    }
}

/// Sends a request on a granted stream of a connection, and waits for its end.
async fn attempt(
    connection: Rc<Http2Connection>,
    client: &Client,
    request: &OutgoingRequest<'_>,
    exchange: &mut Exchange,
) -> Result<Attempt, Fault> {
    let loan = ExchangeLoan::new(&client.worker, request, exchange);
    let parts = RequestParts::from_encoded(request.built, request.bytes);
    let sent = {
        let mut heads = client.request_heads.borrow_mut();
        let head = match heads.fill(parts) {
            Ok(head) => head,
            Err(_) => {
                connection.release();
                connection.serve_waiters();
                return Err(Fault::Declared);
            }
        };
        connection.send(&head, parts.body, Rc::clone(&loan.state))
    };
    let sent = match sent {
        Ok(sent) => sent,
        Err(error) => {
            connection.serve_waiters();
            return match error {
                h2::SendError::InvalidField => Err(Fault::Declared),
                h2::SendError::NoFreeStream | h2::SendError::NotAccepting => Ok(Attempt::NotSent),
            };
        }
    };
    let end = std::future::poll_fn(|cx| poll_end(cx, &sent, request.limit)).await?;
    Ok(Attempt::Ended(end, Rc::clone(&sent.connection)))
}

/// Waits for the end of a stream, within the limits of the request.
fn poll_end(
    cx: &mut Context<'_>,
    sent: &SentStream,
    limit: &Limit,
) -> Poll<Result<StreamEnd, Fault>> {
    let mut state = sent.state.borrow_mut();
    loop {
        if let Some(end) = state.end {
            return Poll::Ready(Ok(end));
        }
        let Poll::Ready(cut) = limit.poll(cx) else {
            state.watch(cx);
            return Poll::Pending;
        };
        if let Some(fault) = state.on_deadline(cut) {
            return Poll::Ready(Err(fault));
        }
    }
}

/// Uses HTTP/1.1 for the origin from now on, because the server chose or requires it.
fn use_http1(client: &Client, protocol: &ProtocolCell, origin: &Origin, reason: &str) {
    protocol.set(Protocol::Http1);
    let origin = origin.text();
    client.worker.negotiated(
        NegotiatedVersion::http1(&origin),
        format!("{origin} is loaded over HTTP/1.1: {reason}"),
    );
}
