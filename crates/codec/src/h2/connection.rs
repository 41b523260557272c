//! A client connection: configuration, events, and state that sending and receiving share.

use std::{collections::VecDeque, rc::Rc};

use super::{
    counters::Counters,
    error::{ConnectionError, ErrorCode, Outcome, StreamError},
    frame::{self, DEFAULT_WINDOW, MAX_WINDOW, MIN_FRAME_SIZE, PREFACE, setting},
    hpack::{Encoder, TABLE_SIZE, encoder::Indexing},
    output::Output,
    reader::FrameReader,
    receive::HeaderBlock,
    response::{HeadDecoder, ResponseHead},
    streams::{StreamId, Streams},
};

/// Maximum size of a decoded header list, announced as SETTINGS_MAX_HEADER_LIST_SIZE.
pub(super) const MAX_HEADER_LIST: usize = 256 << 10;
/// Number of requests after which a connection is exhausted. Stream numbers end at 2^31 - 1.
pub(super) const MAX_REQUESTS: u32 = 1 << 30;
/// Number of streams that the client has reset and still recognises.
const REMEMBERED_RESETS: usize = 256;

/// Settings of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// Maximum number of concurrent streams. The server's limit applies as well.
    pub max_streams: u32,
    /// Receive window of the connection and of each stream in bytes, at most 2^31 - 1. The
    /// connection's window is at least 65,535 bytes.
    pub window: u32,
    /// How request headers are compressed.
    pub indexing: Indexing,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            max_streams: 100,
            window: 1 << 30,
            indexing: Indexing::Dynamic,
        }
    }
}

/// Something that the server did. `'b` is the receive buffer's lifetime.
#[derive(Debug)]
pub enum Event<'b> {
    /// SETTINGS were received, so [`Connection::free_streams`] may have changed.
    Settings,
    /// A 1xx response, which precedes the final head.
    Interim {
        /// The stream.
        stream: StreamId,
        /// The status.
        status: u16,
    },
    /// The final response head.
    Head {
        /// The stream.
        stream: StreamId,
        /// The head.
        head: Rc<ResponseHead>,
    },
    /// A part of the response body. A part is independent of frames and may have any length.
    Data {
        /// The stream.
        stream: StreamId,
        /// The bytes.
        bytes: &'b [u8],
        /// Number of bytes on the wire: the part, and the frame header and padding before it.
        wire_bytes: usize,
    },
    /// Trailers after the body. [`Event::Ended`] follows.
    Trailers {
        /// The stream.
        stream: StreamId,
        /// The fields.
        trailers: Rc<ResponseHead>,
    },
    /// The stream has ended, and the connection has forgotten it.
    Ended {
        /// The stream.
        stream: StreamId,
        /// How it ended.
        outcome: Outcome,
    },
    /// An answer to [`Connection::ping`].
    Pong([u8; 8]),
    /// The server accepts no more streams on this connection. Streams end with events of their own.
    GoAway {
        /// The error code.
        code: ErrorCode,
        /// The number of the last stream that the server may process.
        last_stream: u32,
        /// The first 200 bytes of the server's explanation.
        debug: Box<[u8]>,
    },
    /// The server broke the protocol. GOAWAY is in the output, and all streams end.
    Broken(ConnectionError),
}

/// An HTTP/2 connection of a client.
#[derive(Debug)]
pub struct Connection {
    pub(super) output: Output,
    pub(super) streams: Streams,
    pub(super) encoder: Encoder,
    pub(super) heads: HeadDecoder,
    pub(super) reader: FrameReader,
    pub(super) block: HeaderBlock,
    pub(super) counters: Counters,
    pub(super) peer: PeerSettings,
    pub(super) max_streams: u32,
    /// Number of the next stream.
    pub(super) next_stream: u32,
    pub(super) send_window: i64,
    pub(super) receive: ReceiveWindows,
    /// Slots of streams with an upload that may continue.
    pub(super) uploads: VecDeque<u32>,
    pub(super) blocked_uploads: usize,
    /// Ends that [`Connection::next_event`] has not returned yet.
    pub(super) ended: VecDeque<EndedStream>,
    pub(super) state: ConnectionState,
    /// Streams that the client has reset, whose frames may still arrive. Oldest first.
    pub(super) reset: VecDeque<u32>,
    /// Streams up to this number may have been reset and forgotten.
    pub(super) forgotten_reset: u32,
    /// Control and empty frames since a stream made progress or the second began.
    pub(super) idle_frames: u32,
}

/// A stream whose end has not been returned yet.
#[derive(Debug)]
pub(super) struct EndedStream {
    pub(super) stream: StreamId,
    pub(super) outcome: Outcome,
}

/// Whether new streams are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionState {
    Open,
    /// The server sent GOAWAY with this last stream.
    GoingAway {
        last_stream: u32,
    },
    Closed,
}

/// What the server has announced.
#[derive(Debug)]
pub(super) struct PeerSettings {
    pub(super) has_arrived: bool,
    pub(super) max_streams: u32,
    pub(super) initial_window: i64,
    pub(super) max_frame: usize,
}

/// Flow control of received data.
#[derive(Debug)]
pub(super) struct ReceiveWindows {
    /// Initial window of a stream.
    pub(super) stream: i64,
    /// Size of the connection's window.
    pub(super) connection: i64,
    /// How much the server may send on the connection.
    pub(super) available: i64,
    /// Received bytes that no WINDOW_UPDATE has returned yet.
    pub(super) unreturned: i64,
}

impl Connection {
    /// Creates a connection whose output starts with the preface and the client's SETTINGS.
    #[must_use]
    pub fn new(config: &Config) -> Connection {
        let window = i64::from(config.window).min(MAX_WINDOW);
        let connection_window = window.max(DEFAULT_WINDOW);
        let mut output = Output::default();
        let out = output.buffer();
        out.extend_from_slice(PREFACE);
        frame::write_settings(
            out,
            &[
                (setting::ENABLE_PUSH, 0),
                (setting::INITIAL_WINDOW_SIZE, window as u32),
                (setting::MAX_HEADER_LIST_SIZE, MAX_HEADER_LIST as u32),
            ],
        );
        if connection_window > DEFAULT_WINDOW {
            let increment = connection_window - DEFAULT_WINDOW;
            frame::write_window_update(out, 0, increment as u32);
        }
        Connection {
            output,
            streams: Streams::default(),
            encoder: Encoder::new(config.indexing),
            heads: HeadDecoder::default(),
            reader: FrameReader::default(),
            block: HeaderBlock::default(),
            counters: Counters::default(),
            peer: PeerSettings {
                has_arrived: false,
                max_streams: u32::MAX,
                initial_window: DEFAULT_WINDOW,
                max_frame: MIN_FRAME_SIZE,
            },
            max_streams: config.max_streams,
            next_stream: 1,
            send_window: DEFAULT_WINDOW,
            receive: ReceiveWindows {
                stream: window,
                connection: connection_window,
                available: connection_window,
                unreturned: 0,
            },
            uploads: VecDeque::new(),
            blocked_uploads: 0,
            ended: VecDeque::new(),
            state: ConnectionState::Open,
            reset: VecDeque::new(),
            forgotten_reset: 0,
            idle_frames: 0,
        }
    }

    /// Returns how many more requests can be sent now.
    ///
    /// At most one before the server's SETTINGS have arrived, and 0 once the connection accepts no
    /// more requests.
    #[must_use]
    pub fn free_streams(&self) -> u32 {
        if !self.accepts_requests() {
            return 0;
        }
        let open = self.streams.len() as u32;
        self.stream_limit()
            .saturating_sub(open)
            .min(self.unused_numbers())
    }

    /// Returns the number of concurrent streams that both sides allow. It is 1 before the server's
    /// SETTINGS have arrived.
    #[must_use]
    pub fn stream_limit(&self) -> u32 {
        if self.peer.has_arrived {
            self.max_streams.min(self.peer.max_streams)
        } else {
            self.max_streams.min(1)
        }
    }

    /// Whether the connection will accept requests once a stream is free. If not, the caller needs
    /// a new connection for further requests.
    #[must_use]
    pub fn accepts_requests(&self) -> bool {
        self.state == ConnectionState::Open && self.unused_numbers() > 0
    }

    fn unused_numbers(&self) -> u32 {
        MAX_REQUESTS - self.next_stream / 2
    }

    /// Returns the number of open streams.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// Whether the connection is unusable and should be closed, after its output was written.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state == ConnectionState::Closed
    }

    /// Whether the server's SETTINGS have arrived.
    #[must_use]
    pub fn has_settings(&self) -> bool {
        self.peer.has_arrived
    }

    /// Returns the server's limit of concurrent streams. `None` if it announced none.
    #[must_use]
    pub fn server_stream_limit(&self) -> Option<u32> {
        (self.peer.max_streams < u32::MAX).then_some(self.peer.max_streams)
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the counters and restarts them at zero.
    pub fn take_counters(&mut self) -> Counters {
        std::mem::take(&mut self.counters)
    }

    /// Returns the number of requests sent.
    #[must_use]
    pub fn requests(&self) -> u64 {
        u64::from(self.next_stream / 2)
    }

    /// Returns the number of uploads that wait for a flow-control window.
    #[must_use]
    pub fn blocked_uploads(&self) -> usize {
        self.blocked_uploads
    }

    /// Starts a new second for the limit of frames without progress. Must be called about once a
    /// second, otherwise an idle connection is ended after 1,000 control frames.
    pub fn begin_second(&mut self) {
        self.idle_frames = 0;
    }

    /// Gives up a stream with RST_STREAM. No event follows. Does nothing if it has ended.
    pub fn cancel(&mut self, stream: StreamId) {
        if self.close(stream) {
            self.reset(stream, ErrorCode::CANCEL);
        }
    }

    /// Sends GOAWAY, so that the server can release the connection. All streams must have ended.
    pub fn shut_down(&mut self) {
        if self.state != ConnectionState::Closed {
            frame::write_goaway(self.output.buffer(), ErrorCode::NO_ERROR);
            self.state = ConnectionState::Closed;
        }
    }

    /// Sends a PING. [`Event::Pong`] returns its payload.
    pub fn ping(&mut self, payload: [u8; 8]) {
        frame::write_ping(self.output.buffer(), payload, false);
    }

    /// Reports that the socket failed or was closed. All streams end, see
    /// [`Connection::next_event`].
    pub fn lose(&mut self) {
        self.end_all(Outcome::ConnectionLost);
        self.state = ConnectionState::Closed;
    }

    /// Ends all streams.
    pub(super) fn end_all(&mut self, outcome: Outcome) {
        for stream in self.streams.ids() {
            self.end(stream, outcome);
        }
    }

    /// Ends a stream with an event.
    pub(super) fn end(&mut self, stream: StreamId, outcome: Outcome) {
        if self.close(stream) {
            self.ended.push_back(EndedStream { stream, outcome });
        }
    }

    /// Ends a stream on which the server broke the protocol.
    pub(super) fn fail(&mut self, stream: StreamId, error: StreamError) {
        self.end(stream, Outcome::StreamError(error));
        self.reset(stream, error.violation().code);
    }

    /// Forgets an open stream. Returns whether it was open.
    fn close(&mut self, stream: StreamId) -> bool {
        if self.streams.get(stream).is_some_and(|open| open.is_blocked) {
            self.blocked_uploads -= 1;
        }
        self.streams.close(stream)
    }

    /// Sends RST_STREAM and remembers it, because frames of the stream may still arrive.
    pub(super) fn reset(&mut self, stream: StreamId, code: ErrorCode) {
        frame::write_rst_stream(self.output.buffer(), stream.id, code);
        self.counters.resets_sent.count(code.into(), 1);
        if self.reset.len() == REMEMBERED_RESETS
            && let Some(oldest) = self.reset.pop_front()
        {
            self.forgotten_reset = self.forgotten_reset.max(oldest);
        }
        self.reset.push_back(stream.id);
    }

    /// Whether the client may have reset the stream.
    pub(super) fn may_be_reset(&self, id: u32) -> bool {
        id <= self.forgotten_reset || self.reset.contains(&id)
    }
}

// The decoder's table has the default size, so no setting announces it.
const _: () = assert!(TABLE_SIZE == 4096);

#[cfg(test)]
#[path = "connection_tests/mod.rs"]
mod tests;
