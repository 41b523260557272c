//! Long polling: GET requests, which the server holds open, receive packets. POST requests send
//! them. At most one request of each kind is in flight.

use std::{
    collections::VecDeque,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use codec::{
    Want,
    socketio::{SEPARATOR, split_payload},
};
use measure::{Fault, LabelId, outcome::SocketIoFault, sample::Intended};

use super::{
    super::{
        Built, Client, Exchange, Purpose, conn::Conn, exchange::Moments, pool::OutgoingRequest,
        websocket::SentMessage,
    },
    SessionError, cut_fault,
    requests::SessionRequests,
};
use crate::deadlines::Limit;

/// Maximum number of connections to keep: one for each kind of request.
const MOST_CONNECTIONS: usize = 2;

/// Number of unsent packets above which the client stops receiving. Otherwise, a server could
/// request pongs without end.
const MOST_QUEUED: usize = 1000;

type Transaction = Pin<Box<dyn Future<Output = Result<Transacted, Fault>>>>;

/// A polling request and its response.
struct Transacted {
    /// The connection, if it is reusable.
    conn: Option<Box<Conn>>,
    moments: Moments,
    status: u16,
    body: String,
}

pub(super) struct Polling {
    client: Rc<Client>,
    label: LabelId,
    receiving: Option<Transaction>,
    sending: Option<Transaction>,
    #[allow(
        clippy::vec_box,
        reason = "boxed, because connections move at each request"
    )]
    idle: Vec<Box<Conn>>,
    /// Received packets, with their arrival times.
    inbox: VecDeque<(String, u64)>,
    outbox: VecDeque<String>,
    max_payload: usize,
    /// The last request that sent packets.
    sent: SentMessage,
    /// Why receiving failed while packets were being sent.
    failed: Option<SessionError>,
}

impl Polling {
    pub fn new(client: &Rc<Client>, label: LabelId, max_payload: usize) -> Polling {
        Polling {
            client: Rc::clone(client),
            label,
            receiving: None,
            sending: None,
            idle: Vec::new(),
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            max_payload,
            sent: SentMessage::default(),
            failed: None,
        }
    }

    /// Stores a connection for later requests.
    pub fn keep(&mut self, conn: Box<Conn>) {
        if conn.is_reusable() && self.idle.len() < MOST_CONNECTIONS {
            self.idle.push(conn);
        }
    }

    /// Adds received packets.
    pub fn received<'p>(&mut self, packets: impl Iterator<Item = &'p str>, at_ns: u64) {
        let packets = packets.map(|packet| (packet.to_owned(), at_ns));
        self.inbox.extend(packets);
    }

    /// Queues a packet.
    pub fn queue(&mut self, text: String) {
        self.outbox.push_back(text);
    }

    /// Sends a packet. Returns when the server has accepted it.
    pub async fn send(
        &mut self,
        text: String,
        requests: &SessionRequests,
        limit: &Limit,
    ) -> Result<SentMessage, SessionError> {
        let bytes = text.len() as u64;
        self.queue(text);
        std::future::poll_fn(|cx| match self.poll_send(cx, requests) {
            Poll::Ready(sent) => Poll::Ready(sent),
            Poll::Pending => {
                // An acknowledgement may arrive before the response to the POST, and has its own
                // arrival time.
                if let Poll::Ready(Err(error)) = self.poll_receive(cx) {
                    self.failed = Some(error);
                }
                limit.poll(cx).map(|cut| Err(cut_fault(cut).into()))
            }
        })
        .await?;
        Ok(SentMessage { bytes, ..self.sent })
    }

    /// Starts to send the queued packets.
    pub fn begin_flush(&mut self, requests: &SessionRequests) {
        let _ = self.poll_send(&mut Context::from_waker(Waker::noop()), requests);
    }

    /// Sends the queued packets, as far as the server accepts them.
    pub async fn flush(&mut self, requests: &SessionRequests, limit: &Limit) {
        std::future::poll_fn(|cx| match self.poll_send(cx, requests) {
            Poll::Ready(_) => Poll::Ready(()),
            Poll::Pending => limit.poll(cx).map(|_| ()),
        })
        .await;
    }

    /// Waits until no receiving request is in flight, so that switching the transport loses no
    /// packet.
    pub async fn pause(&mut self, limit: &Limit) -> Result<(), SessionError> {
        std::future::poll_fn(|cx| match self.poll_receive(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ if self.receiving.is_none() => Poll::Ready(Ok(())),
            _ => limit.poll(cx).map(|cut| Err(cut_fault(cut).into())),
        })
        .await
    }

    /// Returns the packets that were received but not read.
    pub fn take_inbox(&mut self) -> VecDeque<(String, u64)> {
        std::mem::take(&mut self.inbox)
    }

    /// Returns the next packet. Meanwhile, sends queued answers to pings.
    pub fn poll_packet(
        &mut self,
        cx: &mut Context<'_>,
        requests: &SessionRequests,
    ) -> Poll<Result<(String, u64), SessionError>> {
        if let Poll::Ready(Err(error)) = self.poll_send(cx, requests) {
            return Poll::Ready(Err(error));
        }
        loop {
            if let Some(packet) = self.inbox.pop_front() {
                return Poll::Ready(Ok(packet));
            }
            if let Some(error) = self.failed.take() {
                return Poll::Ready(Err(error));
            }
            if self.receiving.is_none() && self.outbox.len() > MOST_QUEUED {
                // The sending request wakes this task.
                return Poll::Pending;
            }
            if self.receiving.is_none() {
                self.receiving = Some(self.start(requests.get()));
            }
            match self.poll_receive(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SessionError>> {
        let Some(receiving) = &mut self.receiving else {
            return Poll::Ready(Ok(()));
        };
        let Poll::Ready(done) = receiving.as_mut().poll(cx) else {
            return Poll::Pending;
        };
        self.receiving = None;
        Poll::Ready(self.finish(done).map(|done| {
            self.received(split_payload(&done.body), done.moments.done);
        }))
    }

    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        requests: &SessionRequests,
    ) -> Poll<Result<(), SessionError>> {
        loop {
            if self.sending.is_none() {
                let Some(body) = self.next_body() else {
                    return Poll::Ready(Ok(()));
                };
                self.sending = Some(self.start(requests.post(&body)));
            }
            let Some(sending) = &mut self.sending else {
                return Poll::Ready(Ok(()));
            };
            let Poll::Ready(done) = sending.as_mut().poll(cx) else {
                return Poll::Pending;
            };
            self.sending = None;
            match self.finish(done) {
                Ok(done) => {
                    let moments = done.moments;
                    self.sent = SentMessage {
                        first_write_ns: moments.first_write.unwrap_or(moments.started),
                        done_ns: moments.done,
                        bytes: 0,
                    };
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Returns as many queued packets as the server accepts in one request.
    fn next_body(&mut self) -> Option<String> {
        let mut body = self.outbox.pop_front()?;
        while let Some(next) = self.outbox.front()
            && body.len() + 1 + next.len() <= self.max_payload
        {
            body.push(SEPARATOR);
            body.push_str(next);
            self.outbox.pop_front();
        }
        Some(body)
    }

    /// Checks a response, and stores its connection for reuse.
    fn finish(&mut self, done: Result<Transacted, Fault>) -> Result<Transacted, SessionError> {
        let mut done = done?;
        if let Some(conn) = done.conn.take() {
            self.keep(conn);
        }
        let is_refused = done.status != 200;
        {
            let mut recorder = self.client.worker.recorder.borrow_mut();
            let counts = &mut recorder.run.socketio;
            counts.polls += 1;
            counts.refused_polls += u64::from(is_refused);
        }
        if is_refused {
            return Err(SessionError {
                status: Some(done.status),
                ..SocketIoFault::PollRefused.into()
            });
        }
        Ok(done)
    }

    fn start(&mut self, request: Built) -> Transaction {
        self.idle.retain_mut(|conn| !conn.is_stale());
        let conn = self.idle.pop();
        let client = Rc::clone(&self.client);
        Box::pin(transact(client, conn, request, self.label))
    }
}

/// Sends a polling request, and reads its response. The waiting step enforces the time limit.
async fn transact(
    client: Rc<Client>,
    conn: Option<Box<Conn>>,
    request: Built,
    label: LabelId,
) -> Result<Transacted, Fault> {
    let worker = Rc::clone(&client.worker);
    let limit = Rc::new(Limit::default());
    let started = worker.clock.now();
    let intended = Intended::after_previous(started, 0);
    let timeouts = plan::Timeouts {
        total_ns: None,
        headers_ns: None,
        idle_ns: None,
    };
    let mut exchange = Exchange::begun(intended, started, &timeouts, &worker.memory);
    let mut conn = match conn {
        Some(conn) => conn,
        None => {
            let purpose = Purpose {
                label,
                intended: None,
            };
            let origin = &request.target.origin;
            let (conn, opening) = client.connect(origin, None, purpose, &limit).await?;
            exchange.moments.opening = opening;
            conn
        }
    };
    client.trace_request(&request.target, &request.bytes, "HTTP/1.1");
    let outgoing = OutgoingRequest {
        built: &request,
        bytes: &request.bytes,
        to_head: false,
        want: Want {
            body: true,
            ..Want::default()
        },
        limit: &limit,
        was_refused: false,
    };
    let result = client.exchange(&mut conn, &outgoing, &mut exchange).await;
    client.trace_answer(&exchange, result.err());
    result?;
    Ok(Transacted {
        conn: conn.is_reusable().then_some(conn),
        status: exchange.answer.status,
        body: String::from_utf8_lossy(&exchange.answer.body).into_owned(),
        moments: exchange.moments,
    })
}
