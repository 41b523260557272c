//! A request in flight on a stream, with the data received for it.

use std::{
    cell::RefCell,
    rc::Rc,
    task::{Context, Waker},
};

use codec::{
    Want,
    h2::{Outcome, ResponseHead, StreamId},
    reply::{Keep, MAX_BODY, Reply},
};
use measure::Fault;

use super::connection::Http2Connection;
use crate::{
    client::{
        EXCERPT,
        exchange::{Exchange, OneAnswer},
        observer::{ExchangeError, ExchangeObserver, ExchangeStage},
        pool::OutgoingRequest,
    },
    deadlines::{Cut, Limit},
    worker::Worker,
};

/// Length of a frame header.
const FRAME_HEADER: usize = 9;

/// State that a request's connection and sender share.
pub(super) struct StreamState {
    worker: Rc<Worker>,
    limit: Rc<Limit>,
    want: Want,
    /// The exchange, lent by the sender until the stream ends.
    exchange: Exchange,
    /// The response received so far.
    reply: Reply,
    /// Number of bytes of head and body of the request.
    pub(super) request_bytes: u64,
    pub(super) end: Option<StreamEnd>,
    waker: Option<Waker>,
}

/// Lends the exchange of a request to a stream. Takes it back when dropped.
pub(super) struct ExchangeLoan<'e> {
    lender: &'e mut Exchange,
    pub(super) state: Rc<RefCell<StreamState>>,
}

/// A request that was sent on a stream. Cancels the stream when dropped before its end.
pub(super) struct SentStream {
    pub(super) connection: Rc<Http2Connection>,
    pub(super) id: StreamId,
    pub(super) state: Rc<RefCell<StreamState>>,
}

impl Drop for SentStream {
    fn drop(&mut self) {
        if self.state.borrow().end.is_none() {
            self.connection.cancel(self.id);
        }
    }
}

/// How a stream has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// The connection reported this outcome.
    Outcome(Outcome),
    /// The client cancelled the stream.
    Fault(Fault),
}

impl<'e> ExchangeLoan<'e> {
    pub(super) fn new(
        worker: &Rc<Worker>,
        request: &OutgoingRequest<'_>,
        exchange: &'e mut Exchange,
    ) -> ExchangeLoan<'e> {
        let state = Rc::new(RefCell::new(StreamState {
            worker: Rc::clone(worker),
            limit: Rc::clone(request.limit),
            want: request.want,
            exchange: exchange.take(),
            reply: Reply::default(),
            request_bytes: 0,
            end: None,
            waker: None,
        }));
        ExchangeLoan {
            lender: exchange,
            state,
        }
    }
}

impl Drop for ExchangeLoan<'_> {
    fn drop(&mut self) {
        let state = &mut *self.state.borrow_mut();
        let result = match state.end {
            Some(StreamEnd::Outcome(Outcome::Answered)) => Ok(state.exchange.moments.done),
            Some(StreamEnd::Fault(fault)) => Err(ExchangeError(fault, ExchangeStage::Read)),
            _ => Err(ExchangeError(Fault::ClosedEarly, ExchangeStage::Read)),
        };
        let (mut observer, reply) = state.observe(0);
        observer.on_end(reply, result);
        std::mem::swap(self.lender, &mut state.exchange);
    }
}

impl StreamState {
    /// Returns the observer of the exchange, and the response received so far.
    fn observe(&mut self, began: u64) -> (OneAnswer<'_>, &mut Reply) {
        let observer = OneAnswer {
            worker: &self.worker,
            exchange: &mut self.exchange,
            limit: &self.limit,
            want: self.want,
            // The codec knows which responses have no body.
            to_head: false,
            began,
        };
        (observer, &mut self.reply)
    }

    /// Registers the sender, which is woken when the stream ends.
    pub(super) fn watch(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waker = Some(cx.waker().clone()),
        }
    }

    /// Notes that the first byte of the request was written. `now_ns` is the time before the write.
    pub(super) fn on_started(&mut self, now_ns: u64) {
        let bytes = self.request_bytes as usize;
        let (mut observer, _) = self.observe(now_ns);
        observer.wrote(bytes);
        observer.sent_at(now_ns);
    }

    /// Notes that an interim response was read.
    pub(super) fn on_interim(&mut self, now_ns: u64) -> Result<(), Fault> {
        self.received(0, now_ns, |_, _| {})
    }

    pub(super) fn on_head(&mut self, head: &Rc<ResponseHead>, now_ns: u64) -> Result<(), Fault> {
        let keeps_head = self.want.head || self.want.headers;
        let bytes = head.block_len + FRAME_HEADER;
        self.received(bytes, now_ns, |reply, _| {
            reply.begin_http2(head, keeps_head)
        })
    }

    pub(super) fn on_trailers(
        &mut self,
        trailers: &Rc<ResponseHead>,
        now_ns: u64,
    ) -> Result<(), Fault> {
        let bytes = trailers.block_len + FRAME_HEADER;
        self.received(bytes, now_ns, |reply, _| {
            if let Some(sections) = &mut reply.sections {
                sections.trailers = Some(Rc::clone(trailers));
            }
        })
    }

    /// Keeps a part of the body, as far as it is needed.
    pub(super) fn on_data(
        &mut self,
        bytes: &[u8],
        wire_bytes: usize,
        now_ns: u64,
    ) -> Result<(), Fault> {
        self.received(wire_bytes, now_ns, |reply, keep| {
            let most = match keep {
                Keep::Body => MAX_BODY,
                _ if reply.status >= 400 => EXCERPT,
                _ => 0,
            };
            reply.add_body(bytes, most, keep == Keep::Body);
        })
    }

    /// Adds a part of the response and reports it to the observer. Fails if there is no memory for
    /// it, or if the stream ends with it.
    fn received(
        &mut self,
        bytes: usize,
        now_ns: u64,
        add: impl FnOnce(&mut Reply, Keep),
    ) -> Result<(), Fault> {
        let (mut observer, reply) = self.observe(0);
        observer.on_read(now_ns, bytes);
        reply.bytes += bytes as u64;
        add(reply, observer.next().keep);
        observer.on_partial(reply, now_ns)
    }

    /// Ends the stream, and wakes the sender.
    pub(super) fn on_end(&mut self, mut end: StreamEnd, now_ns: u64) {
        if end == StreamEnd::Outcome(Outcome::Answered) {
            let (mut observer, reply) = self.observe(0);
            if let Err(fault) = observer.answered(reply, now_ns) {
                end = StreamEnd::Fault(fault);
            }
        }
        self.end = Some(end);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Returns the fault of a request whose limit expired.
    pub(super) fn on_deadline(&mut self, cut: Cut) -> Option<Fault> {
        self.observe(0).0.on_deadline(cut)
    }
}
