//! A request in flight on a stream, with the data received for it.

use std::{
    cell::RefCell,
    rc::Rc,
    task::{Context, Waker},
};

use codec::{
    Response, Want,
    h2::{Outcome, ResponseHead},
    reply::{Keep, MAX_BODY},
};
use measure::Fault;

use crate::{
    client::{EXCERPT, streamed::StreamedResponse},
    memory::Held,
};

/// Length of a frame header.
const FRAME_HEADER: usize = 9;

/// State that a request's connection and sender share.
#[derive(Debug)]
pub(super) struct StreamState {
    /// Time immediately before the first byte of the request was written.
    pub(super) first_write: Option<u64>,
    /// When the first byte of the response was read.
    pub(super) first_read: Option<u64>,
    /// When the head of the response was complete. 0 until then.
    pub(super) head_ns: u64,
    /// When bytes of the response were last read. 0 until then.
    pub(super) last_read_ns: u64,
    /// Number of bytes received, including frame headers and padding.
    pub(super) bytes_in: u64,
    pub(super) response: Response,
    pub(super) end: Option<StreamEnd>,
    pub(super) reserved: Held,
    /// Whether each part of the response wakes the sender, because its limits must move.
    pub(super) wakes_on_progress: bool,
    /// Events, if the plan expects a streamed response.
    pub(super) streamed: Option<Box<StreamedResponse>>,
    /// When an event of the stream was last read. 0 until then.
    pub(super) last_event_ns: u64,
    want: Want,
    waker: Option<Waker>,
}

/// How a stream has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// The connection reported this outcome.
    Outcome(Outcome),
    /// The client cancelled the stream.
    Fault(Fault),
}

impl StreamState {
    pub(super) fn new(
        want: Want,
        reserved: Held,
        wakes_on_progress: bool,
    ) -> Rc<RefCell<StreamState>> {
        Rc::new(RefCell::new(StreamState {
            first_write: None,
            first_read: None,
            head_ns: 0,
            last_read_ns: 0,
            bytes_in: 0,
            response: Response::default(),
            end: None,
            reserved,
            wakes_on_progress,
            streamed: None,
            last_event_ns: 0,
            want,
            waker: None,
        }))
    }

    /// Registers the sender, which is woken when the stream ends.
    pub(super) fn watch(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waker = Some(cx.waker().clone()),
        }
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn progress(&mut self) {
        if self.wakes_on_progress {
            self.wake();
        }
    }

    pub(super) fn on_started(&mut self, now_ns: u64) {
        self.first_write.get_or_insert(now_ns);
        self.progress();
    }

    /// Notes that a part of the response was read.
    pub(super) fn on_read(&mut self, now_ns: u64) {
        self.first_read.get_or_insert(now_ns);
        self.last_read_ns = now_ns;
        self.progress();
    }

    pub(super) fn on_head(&mut self, head: &ResponseHead, now_ns: u64) {
        self.on_read(now_ns);
        self.head_ns = now_ns;
        if let Some(streamed) = &mut self.streamed {
            streamed.on_head(head.status);
        }
        self.bytes_in += (head.block_len + FRAME_HEADER) as u64;
        self.response = Response::from_http2(head, self.want);
    }

    pub(super) fn on_trailers(&mut self, trailers: &ResponseHead, now_ns: u64) {
        self.on_read(now_ns);
        self.bytes_in += (trailers.block_len + FRAME_HEADER) as u64;
        self.response.add_trailers(trailers);
    }

    /// Stores a part of the body and reads its events, as far as they are needed. Fails if the
    /// memory budget is exceeded, or if an event ends the stream.
    pub(super) fn on_data(
        &mut self,
        bytes: &[u8],
        wire_bytes: usize,
        now_ns: u64,
    ) -> Result<(), Fault> {
        self.on_read(now_ns);
        self.bytes_in += wire_bytes as u64;
        self.keep(bytes)?;
        if let Some(streamed) = &mut self.streamed {
            let notable = self.response.notable.as_deref();
            if streamed.read(self.response.status, notable, bytes, now_ns)? {
                self.last_event_ns = now_ns;
            }
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let response = &mut self.response;
        response.body_bytes += bytes.len() as u64;
        let most = match self.want.keep() {
            Keep::Body => MAX_BODY,
            _ if response.status >= 400 => EXCERPT,
            _ => return Ok(()),
        };
        let room = most.saturating_sub(response.body.len());
        response.body_cut |= self.want.body && bytes.len() > room;
        let kept = &bytes[..bytes.len().min(room)];
        response.body.extend_from_slice(kept);
        if self.reserved.hold(response.body.capacity() as u64) {
            return Ok(());
        }
        response.body = Vec::new();
        self.reserved.hold(0);
        Err(Fault::OutOfMemory)
    }

    pub(super) fn on_end(&mut self, end: StreamEnd, now_ns: u64) {
        self.last_read_ns = now_ns;
        self.end = Some(end);
        self.wake();
    }
}
