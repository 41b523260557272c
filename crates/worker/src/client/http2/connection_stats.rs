//! Statistics of an HTTP/2 connection. The worker's recorder sums them up.

use codec::h2::{self, ErrorCode};
use measure::interval::{Http2Close, RequestSpread};

use crate::{client::conn::OpenCount, worker::Worker};

/// What a connection reports to the worker's statistics. An unrecorded connection reports nothing.
#[derive(Debug)]
pub(super) struct ConnectionStats {
    /// `None` for an unrecorded connection, and once the connection is closed.
    open: Option<OpenCount>,
    /// Why the connection will close. Only the first cause counts.
    cause: Option<Http2Close>,
    /// Number of uploads that wait for flow control. It has not changed since the time below.
    blocked_uploads: u64,
    blocked_since_ns: u64,
    open_streams: u64,
    /// Stream limit that both sides allow. `None` before the server's SETTINGS.
    stream_limit: Option<u32>,
}

/// A change that SETTINGS caused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsChange {
    /// These are the first SETTINGS.
    First,
    /// The stream limit changed.
    Limit,
    None,
}

impl ConnectionStats {
    /// Creates the statistics of a new connection. `open` is `None` for an unrecorded connection.
    pub(super) fn open(worker: &Worker, open: Option<OpenCount>, now_ns: u64) -> ConnectionStats {
        if open.is_some() {
            let levels = &worker.http2;
            let connections = levels.connections.get().unwrap_or(0) + 1;
            levels.connections.set(Some(connections));
            let counts = &mut worker.recorder.borrow_mut().run.http2;
            counts.opened += 1;
            counts.connections.set(connections);
        }
        ConnectionStats {
            open,
            cause: None,
            blocked_uploads: 0,
            blocked_since_ns: now_ns,
            open_streams: 0,
            stream_limit: None,
        }
    }

    pub(super) fn on_stream_opened(&mut self, worker: &Worker) {
        if self.open.is_some() {
            self.open_streams += 1;
            worker.http2.streams.set(worker.http2.streams.get() + 1);
        }
    }

    pub(super) fn on_stream_closed(&mut self, worker: &Worker) {
        if self.open.is_some() {
            self.open_streams -= 1;
            worker.http2.streams.set(worker.http2.streams.get() - 1);
        }
    }

    pub(super) fn on_settings(&mut self, worker: &Worker, limit: u32) -> SettingsChange {
        let change = match self.stream_limit.replace(limit) {
            None => SettingsChange::First,
            Some(before) if before != limit => SettingsChange::Limit,
            Some(_) => SettingsChange::None,
        };
        if self.open.is_some() {
            worker.recorder.borrow_mut().run.http2.stream_limit = u64::from(limit);
        }
        change
    }

    pub(super) fn on_goaway(&mut self, worker: &Worker, code: ErrorCode) {
        self.on_closing(Http2Close::GoAway);
        if self.open.is_some() {
            let counts = &mut worker.recorder.borrow_mut().run.http2;
            counts.goaways.count(code.into(), 1);
        }
    }

    /// Records that the socket failed with this number of requests in flight.
    pub(super) fn on_lost(&mut self, worker: &Worker, requests: u64) {
        if requests == 0 {
            self.on_closing(Http2Close::Idle);
            return;
        }
        self.on_closing(Http2Close::Lost);
        if self.open.is_some() {
            worker.recorder.borrow_mut().run.http2.lost_requests += requests;
        }
    }

    /// Records why the connection will close.
    pub(super) fn on_closing(&mut self, cause: Http2Close) {
        self.cause.get_or_insert(cause);
    }

    /// Adds the codec's counts since the last call, and the end of the connection, to the
    /// statistics.
    pub(super) fn report(&mut self, worker: &Worker, codec: &mut h2::Connection, is_closed: bool) {
        if self.open.is_none() {
            return;
        }
        let counts = &mut worker.recorder.borrow_mut().run.http2;
        let blocked = codec.blocked_uploads() as u64;
        if blocked > 0 || self.blocked_uploads > 0 {
            let now = worker.clock.now();
            counts.upload_blocked_ns += self.blocked_uploads * (now - self.blocked_since_ns);
            (self.blocked_uploads, self.blocked_since_ns) = (blocked, now);
        }
        let counted = codec.take_counters();
        counts.header_bytes_sent += counted.header_bytes_sent;
        counts.block_bytes_sent += counted.block_bytes_sent;
        counts.header_bytes_received += counted.header_bytes_received;
        counts.block_bytes_received += counted.block_bytes_received;
        counts.resets_received.merge(&counted.resets_received);
        counts.resets_sent.merge(&counted.resets_sent);
        if is_closed {
            self.open = None;
            let cause = self.cause.unwrap_or(Http2Close::Client);
            counts.closed[cause as usize] += 1;
            counts.requests.add(RequestSpread::one(codec.requests()));
            let levels = &worker.http2;
            let connections = levels.connections.get().unwrap_or(1) - 1;
            levels.connections.set(Some(connections));
            counts.connections.set(connections);
            levels.streams.set(levels.streams.get() - self.open_streams);
        }
    }
}
