//! An HTTP/2 connection, shared by the streams of a pool.
//!
//! Each connection has a task that reads and writes for all streams, so that an idle connection
//! also answers PING and notices GOAWAY. Senders encode requests into the output and wake the task.
//! The task runs after all ready senders, and writes their requests with one call.

use std::{
    cell::{Cell, RefCell},
    rc::{Rc, Weak},
    task::{Context, Poll, Waker},
};

use codec::h2::{self, Body, Event, Outcome, Request, SendError, StreamId};
use measure::{Fault, interval::Http2Close};

use super::{
    connection_stats::ConnectionStats,
    heads::FilledHead,
    pool::StreamPool,
    stream::{SentStream, StreamEnd, StreamState},
};
use crate::{
    client::conn::OpenCount,
    net::{ConnectionInfo, Stream, fault::socket_fault},
    worker::Worker,
};

/// Number of reads after which the task yields to others.
const READS_PER_TURN: u32 = 16;
const SECOND_NS: u64 = 1_000_000_000;

/// An HTTP/2 connection.
pub struct Http2Connection {
    me: Weak<Http2Connection>,
    pub(super) worker: Rc<Worker>,
    pool: RefCell<Weak<StreamPool>>,
    /// Scheme, host and port, for notes.
    pub(super) origin: String,
    pub(super) info: ConnectionInfo,
    /// Whether the pool's list of idle connections contains the connection.
    pub(super) is_listed_idle: Cell<bool>,
    state: RefCell<State>,
}

/// A new stream of bytes on which an HTTP/2 connection starts.
pub(super) struct NewConnection {
    /// Scheme, host and port, for notes.
    pub(super) origin: String,
    pub(super) stream: Stream,
    pub(super) info: ConnectionInfo,
    pub(super) open: Option<OpenCount>,
}

struct State {
    codec: h2::Connection,
    /// The stream of bytes. `None` once the connection is closed.
    stream: Option<Stream>,
    /// Requests in flight, by stream slot.
    streams: Vec<Option<OpenStream>>,
    /// Number of streams reserved by senders that have not used them yet.
    reserved: u32,
    idle_since_ns: u64,
    next_second_ns: u64,
    /// Why the socket failed. `None` if it did not.
    lost: Option<Fault>,
    /// Whether the server has responded to a request.
    has_answered: bool,
    task: Option<Waker>,
    stats: ConnectionStats,
}

struct OpenStream {
    id: StreamId,
    state: Rc<RefCell<StreamState>>,
}

/// What the caller must do after handling events.
#[derive(Debug, Default, Clone, Copy)]
struct Effects {
    /// A stream ended or the stream limit changed, so waiting requests may be served.
    frees_streams: bool,
}

impl std::fmt::Debug for Http2Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http2Connection")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

impl Http2Connection {
    /// Creates a connection on a new stream of bytes, and starts the task that serves it.
    pub(super) fn start(
        worker: &Rc<Worker>,
        pool: &Rc<StreamPool>,
        new: NewConnection,
        config: &h2::Config,
    ) -> Rc<Http2Connection> {
        let now = worker.clock.now();
        let connection = Rc::new_cyclic(|me| Http2Connection {
            me: Weak::clone(me),
            worker: Rc::clone(worker),
            pool: RefCell::new(Rc::downgrade(pool)),
            origin: new.origin,
            info: new.info,
            is_listed_idle: Cell::new(false),
            state: RefCell::new(State {
                codec: h2::Connection::new(config),
                stream: Some(new.stream),
                streams: Vec::new(),
                reserved: 0,
                idle_since_ns: now,
                next_second_ns: now + SECOND_NS,
                lost: None,
                has_answered: false,
                task: None,
                stats: ConnectionStats::open(worker, new.open, now),
            }),
        });
        let served = Rc::clone(&connection);
        tokio::task::spawn_local(async move {
            std::future::poll_fn(|cx| served.poll(cx)).await;
        });
        connection
    }

    pub(super) fn downgrade(&self) -> Weak<Http2Connection> {
        Weak::clone(&self.me)
    }

    /// Returns whether the connection accepts requests, now or after a stream ends.
    pub(super) fn accepts_requests(&self) -> bool {
        self.state.borrow().codec.accepts_requests()
    }

    /// Returns how many streams can be reserved.
    pub(super) fn free_streams(&self) -> u32 {
        let state = self.state.borrow();
        state.codec.free_streams().saturating_sub(state.reserved)
    }

    /// Returns the number of used and reserved streams.
    pub(super) fn used_streams(&self) -> usize {
        let state = self.state.borrow();
        state.codec.open_streams() + state.reserved as usize
    }

    /// Returns whether the server's stream limit is known.
    pub(super) fn has_settings(&self) -> bool {
        self.state.borrow().codec.has_settings()
    }

    /// Returns the time since which no stream is open. `None` if a stream is open.
    pub(super) fn idle_since_ns(&self) -> Option<u64> {
        (self.used_streams() == 0).then(|| self.state.borrow().idle_since_ns)
    }

    /// Reserves a stream. Must be paired with [`Http2Connection::release`] or
    /// [`Http2Connection::send`].
    pub(super) fn reserve(&self) {
        self.state.borrow_mut().reserved += 1;
    }

    /// Releases a reserved stream.
    pub(super) fn release(&self) {
        self.state.borrow_mut().reserved -= 1;
    }

    /// Sends a request on a reserved stream.
    ///
    /// Fails if the connection no longer accepts the request.
    pub(super) fn send(
        self: &Rc<Http2Connection>,
        head: &FilledHead<'_>,
        body: Option<&[u8]>,
        stream: Rc<RefCell<StreamState>>,
    ) -> Result<SentStream, SendError> {
        let state = &mut *self.state.borrow_mut();
        state.reserved -= 1;
        let before = state.codec.output().len();
        let id = state.codec.send(&Request {
            head: head.template(),
            values: &|hole| head.value(hole),
            extra: &[],
            body: body.map_or(Body::None, Body::Bytes),
        })?;
        let added = state.codec.output().len() - before;
        let slot = id.slot();
        if state.streams.len() <= slot {
            state.streams.resize_with(slot + 1, || None);
        }
        state.streams[slot] = Some(OpenStream {
            id,
            state: Rc::clone(&stream),
        });
        state.stats.on_stream_opened(&self.worker);
        state.wake_task();
        // Part of the body may wait for flow control. It is sent later, unless the response ends
        // first.
        let bytes = added.max(body.map_or(0, <[u8]>::len)) as u64;
        stream.borrow_mut().request_bytes = bytes;
        Ok(SentStream {
            connection: Rc::clone(self),
            id,
            state: stream,
        })
    }

    /// Returns whether the server only retires the connection: it has responded to requests, and
    /// ends the connection without an error.
    pub(super) fn is_retired(&self, outcome: Outcome) -> bool {
        outcome == Outcome::NotProcessed(h2::ErrorCode::NO_ERROR)
            && self.state.borrow().has_answered
    }

    /// Returns the fault of a stream that ended because its connection was lost.
    pub(super) fn lost_fault(&self) -> Fault {
        self.state.borrow().lost.unwrap_or(Fault::ClosedEarly)
    }

    /// Cancels a stream. The connection stays open.
    pub(super) fn cancel(&self, id: StreamId) {
        {
            let state = &mut *self.state.borrow_mut();
            state.codec.cancel(id);
            if state.take(id).is_some() {
                state.stats.on_stream_closed(&self.worker);
            }
            state.note_idle(self.worker.clock.now());
            state.wake_task();
        }
        self.serve_waiters();
    }

    /// Closes a connection that is no longer needed.
    pub(super) fn close(&self) {
        let state = &mut *self.state.borrow_mut();
        state.codec.shut_down();
        // The run may end before the task runs again.
        state.report(&self.worker);
        state.wake_task();
    }

    /// Moves the connection to a pool. Afterwards, that pool manages its streams.
    pub(super) fn move_to(&self, pool: &Rc<StreamPool>) {
        *self.pool.borrow_mut() = Rc::downgrade(pool);
        self.is_listed_idle.set(false);
    }

    /// Gives free streams to the requests that wait for them.
    pub(super) fn serve_waiters(&self) {
        let pool = self.pool.borrow().upgrade();
        if let Some(pool) = pool {
            if self.used_streams() == 0 {
                pool.on_idle(self);
            }
            pool.serve_waiters();
        }
    }

    /// Writes pending output and reads available input. Returns `Ready` when the connection is
    /// closed.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut effects = Effects::default();
        let closed = self.poll_io(cx, &mut effects);
        self.state.borrow_mut().report(&self.worker);
        if effects.frees_streams || closed.is_ready() {
            self.serve_waiters();
        }
        closed
    }

    fn poll_io(&self, cx: &mut Context<'_>, effects: &mut Effects) -> Poll<()> {
        let state = &mut *self.state.borrow_mut();
        match &mut state.task {
            Some(task) => task.clone_from(cx.waker()),
            None => state.task = Some(cx.waker().clone()),
        }
        for _ in 0..READS_PER_TURN {
            if !state.codec.accepts_requests() && state.codec.open_streams() == 0 {
                state.codec.shut_down();
            }
            self.write(state, cx, effects);
            if state.codec.is_closed() && state.codec.output().is_empty() {
                state.stream = None;
                state.task = None;
                return Poll::Ready(());
            }
            if self.read(state, cx, effects).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes as much output as the socket accepts.
    fn write(&self, state: &mut State, cx: &mut Context<'_>, effects: &mut Effects) {
        let Some(stream) = &mut state.stream else {
            return;
        };
        let mut result = Ok(());
        loop {
            let output = state.codec.output();
            if output.is_empty() {
                break;
            }
            let now = self.worker.clock.now();
            match stream.poll_write(cx, output) {
                Poll::Pending => break,
                Poll::Ready(Ok(0)) => result = Err(Fault::BrokenPipe),
                Poll::Ready(Err(error)) => result = Err(socket_fault(&error)),
                Poll::Ready(Ok(n)) => {
                    let streams = &state.streams;
                    state.codec.wrote(n, |id| {
                        // A stream may have been cancelled before its request was written.
                        let open = streams.get(id.slot()).and_then(Option::as_ref);
                        if let Some(open) = open.filter(|open| open.id == id) {
                            open.state.borrow_mut().on_started(now);
                        }
                    });
                    continue;
                }
            }
            break;
        }
        if result.is_ok()
            && let Poll::Ready(Err(error)) = stream.poll_flush(cx)
        {
            result = Err(socket_fault(&error));
        }
        if let Err(fault) = result {
            self.lose(state, fault, effects);
        }
    }

    /// Reads once and handles the events. Returns `Pending` if no input is available.
    fn read(&self, state: &mut State, cx: &mut Context<'_>, effects: &mut Effects) -> Poll<()> {
        let Some(stream) = &mut state.stream else {
            return Poll::Pending;
        };
        let mut buffer = self.worker.buffer.borrow_mut();
        let read = match stream.poll_read(cx, &mut buffer) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(read) => read,
        };
        match read {
            Ok(0) => self.lose(state, Fault::ClosedEarly, effects),
            Err(error) => self.lose(state, socket_fault(&error), effects),
            Ok(n) => {
                let now = self.worker.clock.now();
                self.worker.sample_levels(now);
                if now >= state.next_second_ns {
                    state.next_second_ns = now + SECOND_NS;
                    state.codec.begin_second();
                }
                let mut input = &buffer[..n];
                self.handle_events(state, &mut input, now, effects);
            }
        }
        Poll::Ready(())
    }

    fn lose(&self, state: &mut State, fault: Fault, effects: &mut Effects) {
        state.lost.get_or_insert(fault);
        let requests = state.codec.open_streams();
        state.stats.on_lost(&self.worker, requests as u64);
        state.codec.lose();
        state.stream = None;
        effects.frees_streams = true;
        let now = self.worker.clock.now();
        self.handle_events(state, &mut &[][..], now, effects);
        // Drop output that can no longer be written.
        let rest = state.codec.output().len();
        state.codec.wrote(rest, |_| {});
    }

    fn handle_events(
        &self,
        state: &mut State,
        input: &mut &[u8],
        now_ns: u64,
        effects: &mut Effects,
    ) {
        while let Some(event) = state.codec.next_event(input) {
            match event {
                Event::Settings => {
                    effects.frees_streams = true;
                    let limit = state.codec.stream_limit();
                    let changes = state.stats.on_settings(&self.worker, limit);
                    self.note_settings(state.codec.server_stream_limit(), changes);
                }
                Event::Interim { stream, .. } => {
                    self.pass_on(state, stream, effects, now_ns, |open| {
                        open.on_interim(now_ns)
                    });
                }
                Event::Head { stream, head } => {
                    self.pass_on(state, stream, effects, now_ns, |open| {
                        open.on_head(&head, now_ns)
                    });
                }
                Event::Trailers { stream, trailers } => {
                    let add = |open: &mut StreamState| open.on_trailers(&trailers, now_ns);
                    self.pass_on(state, stream, effects, now_ns, add);
                }
                Event::Data {
                    stream,
                    bytes,
                    wire_bytes,
                } => {
                    let add = |open: &mut StreamState| open.on_data(bytes, wire_bytes, now_ns);
                    self.pass_on(state, stream, effects, now_ns, add);
                }
                Event::Ended { stream, outcome } => {
                    self.end(state, stream, StreamEnd::Outcome(outcome), now_ns);
                    effects.frees_streams = true;
                }
                Event::GoAway { code, debug, .. } => {
                    effects.frees_streams = true;
                    state.stats.on_goaway(&self.worker, code);
                    self.note_goaway(code, &debug);
                }
                Event::Broken(_) => {
                    effects.frees_streams = true;
                    state.stats.on_closing(Http2Close::Violation);
                }
                Event::Pong(_) => {}
            }
        }
    }

    /// Passes on a part of a response. Cancels the stream if its request takes no more.
    fn pass_on(
        &self,
        state: &mut State,
        id: StreamId,
        effects: &mut Effects,
        now_ns: u64,
        add: impl FnOnce(&mut StreamState) -> Result<(), Fault>,
    ) {
        let added = state.get(id).map(|open| add(&mut open.borrow_mut()));
        if let Some(Err(fault)) = added {
            state.codec.cancel(id);
            self.end(state, id, StreamEnd::Fault(fault), now_ns);
            effects.frees_streams = true;
        }
    }

    fn end(&self, state: &mut State, id: StreamId, end: StreamEnd, now_ns: u64) {
        state.has_answered |= end == StreamEnd::Outcome(Outcome::Answered);
        if let Some(open) = state.take(id) {
            state.stats.on_stream_closed(&self.worker);
            open.state.borrow_mut().on_end(end, now_ns);
        }
        state.note_idle(now_ns);
    }
}

impl State {
    fn get(&self, id: StreamId) -> Option<&RefCell<StreamState>> {
        let open = self.streams.get(id.slot())?.as_ref()?;
        (open.id == id).then_some(&*open.state)
    }

    /// Removes and returns a stream.
    fn take(&mut self, id: StreamId) -> Option<OpenStream> {
        let slot = self.streams.get_mut(id.slot())?;
        slot.take_if(|open| open.id == id)
    }

    /// Adds all changes since the last call to the statistics.
    fn report(&mut self, worker: &Worker) {
        let is_closed = self.codec.is_closed();
        self.stats.report(worker, &mut self.codec, is_closed);
    }

    fn note_idle(&mut self, now_ns: u64) {
        if self.codec.open_streams() == 0 {
            self.idle_since_ns = now_ns;
        }
    }

    fn wake_task(&self) {
        if let Some(task) = &self.task {
            task.wake_by_ref();
        }
    }
}
