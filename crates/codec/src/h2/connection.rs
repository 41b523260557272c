//! A client connection: configuration, events, and the state that sending and receiving share.

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
/// Number of requests after which a connection accepts no more. Stream IDs end at 2^31 - 1.
pub(super) const MAX_REQUESTS: u32 = 1 << 30;
/// Number of reset streams whose IDs the client remembers.
const REMEMBERED_RESETS: usize = 256;

/// Settings of a client connection.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// Maximum number of concurrent streams. The server's limit also applies.
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

/// An event on a connection. `'b` is the lifetime of the receive buffer.
#[derive(Debug)]
pub enum Event<'b> {
    /// SETTINGS were received, so [`Connection::free_streams`] may have changed.
    Settings,
    /// A 1xx response, which precedes the final head.
    Interim {
        /// Stream of the response.
        stream: StreamId,
        /// HTTP status code.
        status: u16,
    },
    /// The final response head.
    Head {
        /// Stream of the response.
        stream: StreamId,
        /// Status and header fields.
        head: Rc<ResponseHead>,
    },
    /// A part of the response body. Parts are independent of frames and may have any length.
    Data {
        /// Stream of the response.
        stream: StreamId,
        /// Bytes of the part.
        bytes: &'b [u8],
        /// Number of bytes on the wire: the part, and the preceding frame header and padding.
        wire_bytes: usize,
    },
    /// Trailers after the body. [`Event::Ended`] follows.
    Trailers {
        /// Stream of the response.
        stream: StreamId,
        /// Trailer fields.
        trailers: Rc<ResponseHead>,
    },
    /// The stream has ended, and the connection no longer tracks it.
    Ended {
        /// The ended stream.
        stream: StreamId,
        /// How it ended.
        outcome: Outcome,
    },
    /// The response to [`Connection::ping`].
    Pong([u8; 8]),
    /// The server accepts no more streams on this connection. Each open stream still ends with its
    /// own event.
    GoAway {
        /// Error code of the frame.
        code: ErrorCode,
        /// ID of the last stream that the server may process.
        last_stream: u32,
        /// The first 200 bytes of the server's explanation.
        debug: Box<[u8]>,
    },
    /// The server violated the protocol. GOAWAY is in the output, and all streams end.
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
    /// ID of the next stream.
    pub(super) next_stream: u32,
    pub(super) send_window: i64,
    pub(super) receive: ReceiveWindows,
    /// Slots of the streams whose upload can continue.
    pub(super) uploads: VecDeque<u32>,
    pub(super) blocked_uploads: usize,
    /// Ended streams that [`Connection::next_event`] has not returned yet.
    pub(super) ended: VecDeque<EndedStream>,
    pub(super) state: ConnectionState,
    /// Streams that the client has reset, oldest first. Their frames may still arrive.
    pub(super) reset: VecDeque<u32>,
    /// Streams up to this ID may have been reset and are no longer remembered.
    pub(super) forgotten_reset: u32,
    /// Number of control frames and empty frames since the current second began or a stream made
    /// progress.
    pub(super) idle_frames: u32,
}

/// An ended stream that has not been returned yet.
#[derive(Debug)]
pub(super) struct EndedStream {
    pub(super) stream: StreamId,
    pub(super) outcome: Outcome,
}

/// Whether the connection accepts new streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionState {
    Open,
    /// The server sent GOAWAY with this last stream ID.
    GoingAway {
        last_stream: u32,
    },
    Closed,
}

/// Settings that the server announced.
#[derive(Debug)]
pub(super) struct PeerSettings {
    pub(super) has_arrived: bool,
    pub(super) max_streams: u32,
    pub(super) initial_window: i64,
    pub(super) max_frame: usize,
}

/// Flow control for received data.
#[derive(Debug)]
pub(super) struct ReceiveWindows {
    /// Initial window size of a stream.
    pub(super) stream: i64,
    /// Window size of the connection.
    pub(super) connection: i64,
    /// Number of bytes that the server may still send on the connection.
    pub(super) available: i64,
    /// Number of received bytes for which no WINDOW_UPDATE has been sent yet.
    pub(super) unreturned: i64,
}

impl Connection {
    /// Creates a connection. Its output starts with the preface and the client's SETTINGS.
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
    /// Before the server's SETTINGS have arrived, returns at most 1. Returns 0 once the connection
    /// accepts no more requests.
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

    /// Returns the maximum number of concurrent streams that both sides allow. It is 1 before the
    /// server's SETTINGS have arrived.
    #[must_use]
    pub fn stream_limit(&self) -> u32 {
        if self.peer.has_arrived {
            self.max_streams.min(self.peer.max_streams)
        } else {
            self.max_streams.min(1)
        }
    }

    /// Returns whether the connection can accept further requests, possibly only after a stream
    /// becomes free. If not, the caller needs a new connection.
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

    /// Returns whether the connection is unusable, so that the caller should close it after writing
    /// the output.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state == ConnectionState::Closed
    }

    /// Returns whether the server's SETTINGS have arrived.
    #[must_use]
    pub fn has_settings(&self) -> bool {
        self.peer.has_arrived
    }

    /// Returns the server's limit of concurrent streams. `None` if the server announced no limit.
    #[must_use]
    pub fn server_stream_limit(&self) -> Option<u32> {
        (self.peer.max_streams < u32::MAX).then_some(self.peer.max_streams)
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the counters and resets them to zero.
    pub fn take_counters(&mut self) -> Counters {
        std::mem::take(&mut self.counters)
    }

    /// Returns the number of requests sent.
    #[must_use]
    pub fn requests(&self) -> u64 {
        u64::from(self.next_stream / 2)
    }

    /// Returns the number of uploads that are blocked by flow control.
    #[must_use]
    pub fn blocked_uploads(&self) -> usize {
        self.blocked_uploads
    }

    /// Starts a new second for the limit on frames without progress. The caller must call this
    /// about once a second, otherwise an idle connection ends after 1,000 control frames.
    pub fn begin_second(&mut self) {
        self.idle_frames = 0;
    }

    /// Cancels a stream with RST_STREAM. No event follows. Does nothing if the stream has ended.
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

    /// Sends a PING frame. The payload returns in [`Event::Pong`].
    pub fn ping(&mut self, payload: [u8; 8]) {
        frame::write_ping(self.output.buffer(), payload, false);
    }

    /// Reports that the socket failed or was closed. All streams end, and
    /// [`Connection::next_event`] returns their ends.
    pub fn lose(&mut self) {
        self.end_all(Outcome::ConnectionLost);
        self.state = ConnectionState::Closed;
    }

    /// Ends all streams with this outcome.
    pub(super) fn end_all(&mut self, outcome: Outcome) {
        for stream in self.streams.ids() {
            self.end(stream, outcome);
        }
    }

    /// Ends a stream and queues the event.
    pub(super) fn end(&mut self, stream: StreamId, outcome: Outcome) {
        if self.close(stream) {
            self.ended.push_back(EndedStream { stream, outcome });
        }
    }

    /// Ends a stream on which the server violated the protocol.
    pub(super) fn fail(&mut self, stream: StreamId, error: StreamError) {
        self.end(stream, Outcome::StreamError(error));
        self.reset(stream, error.violation().code);
    }

    /// Removes an open stream. Returns whether it was open.
    fn close(&mut self, stream: StreamId) -> bool {
        if self.streams.get(stream).is_some_and(|open| open.is_blocked) {
            self.blocked_uploads -= 1;
        }
        self.streams.close(stream)
    }

    /// Sends RST_STREAM and remembers the stream, because its frames may still arrive.
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

    /// Returns whether the client may have reset the stream.
    pub(super) fn may_be_reset(&self, id: u32) -> bool {
        id <= self.forgotten_reset || self.reset.contains(&id)
    }
}

// The decoder's table has the default size, so no setting needs to announce it.
const _: () = assert!(TABLE_SIZE == 4096);

#[cfg(test)]
#[path = "connection_tests/mod.rs"]
mod tests;
