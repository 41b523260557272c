//! Processing of received frames.

use super::{
    connection::{Connection, ConnectionState, EndedStream, Event, MAX_HEADER_LIST},
    error::{ConnectionError, ErrorCode, Outcome, StreamError},
    frame::{
        self, FrameHeader, HEADER_LEN, MAX_FRAME_SIZE, MAX_WINDOW, MIN_FRAME_SIZE, flag, kind,
        setting,
    },
    hpack::Limits,
    reader::{DataPart, FramePart, Payload, header_fragment},
    streams::StreamId,
};

/// Maximum size of a compressed header block.
const MAX_BLOCK: usize = 64 << 10;
/// Maximum number of CONTINUATION frames of a header block.
const MAX_CONTINUATIONS: u32 = 8;
/// Maximum number of control frames or empty frames within a second without progress on a stream.
const MAX_IDLE_FRAMES: u32 = 1000;
/// Number of bytes to keep of the debug data in GOAWAY.
const MAX_DEBUG: usize = 200;

/// A header block that continues in further frames.
#[derive(Debug, Default)]
pub(super) struct HeaderBlock {
    bytes: Vec<u8>,
    stream: u32,
    ends_stream: bool,
    continuations: u32,
}

type Received<'b> = Result<Option<Event<'b>>, ConnectionError>;

impl Connection {
    /// Returns the next event and advances `input`. Returns `None` when `input` is consumed and all
    /// ended streams have been returned.
    ///
    /// The caller must call this until it returns `None`. After [`Connection::lose`], pass an empty
    /// input.
    #[inline]
    pub fn next_event<'b>(&mut self, input: &mut &'b [u8]) -> Option<Event<'b>> {
        loop {
            if let Some(EndedStream { stream, outcome }) = self.ended.pop_front() {
                return Some(Event::Ended { stream, outcome });
            }
            if self.state == ConnectionState::Closed {
                *input = &[];
                return None;
            }
            let received = match self.reader.next(input) {
                Ok(None) => return None,
                Ok(Some(FramePart::Data(part))) => self.data(&part),
                Ok(Some(FramePart::Frame(header, payload))) => self.frame(header, payload),
                Ok(Some(FramePart::Unknown)) => self.idle_frame(),
                Err(error) => Err(error),
            };
            match received {
                Ok(None) => {}
                Ok(Some(event)) => return Some(event),
                Err(error) => return Some(self.broken(error)),
            }
        }
    }

    #[cold]
    fn broken<'b>(&mut self, error: ConnectionError) -> Event<'b> {
        frame::write_goaway(self.output.buffer(), error.violation().code);
        self.end_all(Outcome::ConnectionError(error));
        self.state = ConnectionState::Closed;
        Event::Broken(error)
    }

    fn frame<'b>(&mut self, header: FrameHeader, payload: Payload<'b>) -> Received<'b> {
        let bytes = payload.bytes();
        let received = match header.kind {
            kind::HEADERS => self.headers(header, bytes),
            kind::CONTINUATION => self.continuation(header, bytes),
            kind::PRIORITY => self.priority(header),
            kind::RST_STREAM => self.rst_stream(header, bytes),
            kind::SETTINGS => self.settings(header, bytes),
            kind::PUSH_PROMISE => Err(ConnectionError::Push),
            kind::PING => self.received_ping(header, bytes),
            kind::GOAWAY => self.goaway(bytes),
            _ => self.window_update(header, bytes),
        };
        self.reader.recycle(payload);
        received
    }

    /// Counts a frame that makes no progress on a stream.
    fn idle_frame<'b>(&mut self) -> Received<'b> {
        self.idle_frames += 1;
        if self.idle_frames > MAX_IDLE_FRAMES {
            return Err(ConnectionError::ControlFlood);
        }
        Ok(None)
    }

    /// Returns the open stream with this ID. `None` if the client has reset the stream.
    fn stream(&self, id: u32) -> Result<Option<StreamId>, ConnectionError> {
        match self.streams.find(id) {
            Some(stream) => Ok(Some(stream)),
            None if !self.was_opened(id) => Err(ConnectionError::IdleStream),
            None if self.may_be_reset(id) => Ok(None),
            None => Err(ConnectionError::ClosedStream),
        }
    }

    fn was_opened(&self, id: u32) -> bool {
        id % 2 == 1 && id < self.next_stream
    }

    #[inline]
    fn data<'b>(&mut self, part: &DataPart<'b>) -> Received<'b> {
        let (header, length) = (part.header, part.header.length as i64);
        let stream = self.stream_of_data(part)?;
        if part.is_first {
            self.receive.available -= length;
            if self.receive.available < 0 {
                return Err(ConnectionError::WindowExceeded);
            }
            self.receive.unreturned += length;
            if self.receive.unreturned * 2 >= self.receive.connection {
                let increment = std::mem::take(&mut self.receive.unreturned);
                self.receive.available += increment;
                frame::write_window_update(self.output.buffer(), 0, increment as u32);
            }
            if part.frame_data == 0 && !header.has(flag::END_STREAM) {
                self.idle_frame()?;
            }
        }
        let Some(stream) = stream else {
            return if part.is_first {
                self.idle_frame()
            } else {
                Ok(None)
            };
        };
        if part.is_first
            && let Err(error) = self.begin_data(stream, part)
        {
            self.fail(stream, error);
            return Ok(None);
        }
        let ends = part.is_last && header.has(flag::END_STREAM);
        if !part.bytes.is_empty() || ends {
            self.idle_frames = 0;
        }
        if ends {
            self.answered(stream);
        }
        let bytes = part.bytes;
        let overhead = if part.is_first {
            HEADER_LEN + part.header.length - part.frame_data
        } else {
            0
        };
        let wire_bytes = overhead + bytes.len();
        Ok((wire_bytes > 0).then_some(Event::Data {
            stream,
            bytes,
            wire_bytes,
        }))
    }

    /// Returns the stream of a DATA frame. The stream may end within a frame, so only the first
    /// part of a frame requires an open stream.
    #[inline]
    fn stream_of_data(&self, part: &DataPart<'_>) -> Result<Option<StreamId>, ConnectionError> {
        if part.is_first {
            self.stream(part.header.stream)
        } else {
            Ok(self.streams.find(part.header.stream))
        }
    }

    /// Checks a DATA frame when its first part arrives, so that the result does not depend on how
    /// the frame was split.
    fn begin_data(&mut self, stream: StreamId, part: &DataPart<'_>) -> Result<(), StreamError> {
        let window = self.receive.stream;
        let Some(open) = self.streams.get_mut(stream) else {
            return Ok(());
        };
        if !open.has_head {
            return Err(StreamError::BodyBeforeHead);
        }
        let length = part.header.length as i64;
        open.receive_window -= length;
        if open.receive_window < 0 {
            return Err(StreamError::WindowExceeded);
        }
        open.received += part.frame_data as u64;
        if open.has_no_body && open.received > 0 {
            return Err(StreamError::UnexpectedBody);
        }
        let ends = part.header.has(flag::END_STREAM);
        let is_wrong = |expected| open.received > expected || (ends && open.received < expected);
        if open.expected_length.is_some_and(is_wrong) {
            return Err(StreamError::BodyLength);
        }
        open.unreturned += length;
        if open.unreturned > 0 && open.unreturned * 2 >= window && !ends {
            let increment = std::mem::take(&mut open.unreturned);
            open.receive_window += increment;
            let out = self.output.buffer();
            frame::write_window_update(out, stream.id, increment as u32);
        }
        Ok(())
    }

    /// Ends a stream whose response is complete.
    fn answered(&mut self, stream: StreamId) {
        self.drop_upload(stream);
        self.end(stream, Outcome::Answered);
    }

    fn headers<'b>(&mut self, header: FrameHeader, payload: &[u8]) -> Received<'b> {
        let fragment = header_fragment(header, payload)?;
        let ends_stream = header.has(flag::END_STREAM);
        if header.has(flag::END_HEADERS) {
            return self.head(header.stream, ends_stream, fragment);
        }
        self.block.bytes.clear();
        self.block.bytes.extend_from_slice(fragment);
        self.block.stream = header.stream;
        self.block.ends_stream = ends_stream;
        self.block.continuations = 0;
        Ok(None)
    }

    fn continuation<'b>(&mut self, header: FrameHeader, payload: &[u8]) -> Received<'b> {
        let block = &mut self.block;
        if header.stream != block.stream {
            return Err(ConnectionError::Continuation);
        }
        block.continuations += 1;
        if block.continuations > MAX_CONTINUATIONS {
            return Err(ConnectionError::TooManyContinuations);
        }
        block.bytes.extend_from_slice(payload);
        if block.bytes.len() > MAX_BLOCK {
            return Err(ConnectionError::HeaderBlockTooLarge);
        }
        if !header.has(flag::END_HEADERS) {
            return Ok(None);
        }
        let (stream, ends_stream) = (block.stream, block.ends_stream);
        let bytes = std::mem::take(&mut block.bytes);
        let received = self.head(stream, ends_stream, &bytes);
        self.block.bytes = bytes;
        received
    }

    /// Processes a complete header block.
    #[inline]
    fn head<'b>(&mut self, id: u32, ends_stream: bool, block: &[u8]) -> Received<'b> {
        let stream = self.stream(id)?;
        let is_trailer = stream
            .and_then(|stream| self.streams.get(stream))
            .is_some_and(|open| open.has_head);
        // Decode the block even if the stream was reset, so that the table stays in sync with the
        // peer.
        let limits = Limits {
            list: MAX_HEADER_LIST,
        };
        let head = self
            .heads
            .decode(block, is_trailer, limits)
            .map_err(ConnectionError::Hpack)?;
        self.counters.block_bytes_received += block.len() as u64;
        self.counters.header_bytes_received += head.byte_len() as u64;
        let Some(stream) = stream else {
            return self.idle_frame();
        };
        self.idle_frames = 0;
        let error = head.error.or({
            let is_final = !head.is_interim();
            match (is_trailer, ends_stream) {
                (true, false) => Some(StreamError::Trailers),
                (false, true) if !is_final => Some(StreamError::Interim),
                (false, _) if head.status == 101 => Some(StreamError::Interim),
                _ => None,
            }
        });
        let Some(open) = self.streams.get_mut(stream) else {
            return Ok(None);
        };
        let error = error.or_else(|| {
            if !is_trailer && !head.is_interim() {
                open.has_head = true;
                open.has_no_body = open.is_head || matches!(head.status, 204 | 304);
                open.expected_length = head.content_length.filter(|_| !open.has_no_body);
            }
            let is_short = open
                .expected_length
                .is_some_and(|length| open.received < length);
            (ends_stream && is_short).then_some(StreamError::BodyLength)
        });
        if let Some(error) = error {
            self.fail(stream, error);
            return Ok(None);
        }
        if ends_stream {
            self.answered(stream);
        }
        Ok(Some(if is_trailer {
            Event::Trailers {
                stream,
                trailers: head,
            }
        } else if head.is_interim() {
            let status = head.status;
            Event::Interim { stream, status }
        } else {
            Event::Head { stream, head }
        }))
    }

    fn priority<'b>(&mut self, header: FrameHeader) -> Received<'b> {
        if header.length != 5
            && let Some(stream) = self.streams.find(header.stream)
        {
            self.fail(stream, StreamError::PrioritySize);
        }
        self.idle_frame()
    }

    fn rst_stream<'b>(&mut self, header: FrameHeader, payload: &[u8]) -> Received<'b> {
        let code = ErrorCode(number(payload, 0));
        self.counters.resets_received.count(code.into(), 1);
        let Some(stream) = self.streams.find(header.stream) else {
            // The server may reset a stream whose response is complete.
            return if self.was_opened(header.stream) {
                self.idle_frame()
            } else {
                Err(ConnectionError::IdleStream)
            };
        };
        self.idle_frames = 0;
        let outcome = match code {
            ErrorCode::REFUSED_STREAM => Outcome::Refused,
            code => Outcome::Reset(code),
        };
        self.end(stream, outcome);
        Ok(None)
    }

    fn settings<'b>(&mut self, header: FrameHeader, payload: &[u8]) -> Received<'b> {
        self.idle_frame()?;
        if header.has(flag::ACK) {
            return Ok(None);
        }
        for entry in payload.chunks_exact(6) {
            let id = u16::from_be_bytes([entry[0], entry[1]]);
            self.apply_setting(id, number(entry, 2))?;
        }
        self.peer.has_arrived = true;
        self.counters.settings_received += 1;
        self.output.mark_acknowledgement()?;
        frame::write_settings_ack(self.output.buffer());
        Ok(Some(Event::Settings))
    }

    fn apply_setting(&mut self, id: u16, value: u32) -> Result<(), ConnectionError> {
        match id {
            setting::HEADER_TABLE_SIZE => self.encoder.limit_table(value as usize),
            setting::ENABLE_PUSH if value != 0 => return Err(ConnectionError::Setting),
            setting::MAX_CONCURRENT_STREAMS => self.peer.max_streams = value,
            setting::INITIAL_WINDOW_SIZE => {
                let window = i64::from(value);
                if window > MAX_WINDOW {
                    return Err(ConnectionError::WindowOverflow);
                }
                let change = window - self.peer.initial_window;
                self.peer.initial_window = window;
                self.change_windows(change)?;
            }
            setting::MAX_FRAME_SIZE => {
                let size = value as usize;
                if !(MIN_FRAME_SIZE..=MAX_FRAME_SIZE).contains(&size) {
                    return Err(ConnectionError::Setting);
                }
                self.peer.max_frame = size;
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds `change` to the send windows of all streams.
    fn change_windows(&mut self, change: i64) -> Result<(), ConnectionError> {
        for stream in self.streams.ids() {
            if let Some(open) = self.streams.get_mut(stream) {
                open.send_window += change;
                if open.send_window > MAX_WINDOW {
                    return Err(ConnectionError::WindowOverflow);
                }
            }
            self.queue_upload(stream);
        }
        Ok(())
    }

    fn received_ping<'b>(&mut self, header: FrameHeader, payload: &[u8]) -> Received<'b> {
        self.idle_frame()?;
        let Some(payload) = payload.first_chunk() else {
            return Err(ConnectionError::FrameSize);
        };
        if header.has(flag::ACK) {
            return Ok(Some(Event::Pong(*payload)));
        }
        self.output.mark_acknowledgement()?;
        frame::write_ping(self.output.buffer(), *payload, true);
        Ok(None)
    }

    fn goaway<'b>(&mut self, payload: &[u8]) -> Received<'b> {
        let last_stream = number(payload, 0) & 0x7fff_ffff;
        let code = ErrorCode(number(payload, 4));
        match self.state {
            ConnectionState::GoingAway { last_stream: known } if last_stream > known => {
                return Err(ConnectionError::GoAwayIncreased);
            }
            _ => self.state = ConnectionState::GoingAway { last_stream },
        }
        self.idle_frame()?;
        for stream in self.streams.ids() {
            if stream.id > last_stream {
                self.end(stream, Outcome::NotProcessed(code));
            } else if code != ErrorCode::NO_ERROR {
                self.end(stream, Outcome::GoAway(code));
            }
        }
        if code != ErrorCode::NO_ERROR {
            self.state = ConnectionState::Closed;
        }
        let debug = &payload[8..];
        Ok(Some(Event::GoAway {
            code,
            last_stream,
            debug: debug[..debug.len().min(MAX_DEBUG)].into(),
        }))
    }

    fn window_update<'b>(&mut self, header: FrameHeader, payload: &[u8]) -> Received<'b> {
        let increment = i64::from(number(payload, 0) & 0x7fff_ffff);
        // A window update counts as progress only if an upload can use it.
        if self.uploads.is_empty() && self.blocked_uploads == 0 {
            self.idle_frame()?;
        }
        if header.stream == 0 {
            self.send_window += increment;
            return match (increment, self.send_window) {
                (0, _) => Err(ConnectionError::WindowIncrement),
                (_, window) if window > MAX_WINDOW => Err(ConnectionError::WindowOverflow),
                _ => Ok(None),
            };
        }
        let Some(stream) = self.streams.find(header.stream) else {
            return if self.was_opened(header.stream) {
                self.idle_frame()
            } else {
                Err(ConnectionError::IdleStream)
            };
        };
        let Some(open) = self.streams.get_mut(stream) else {
            return Ok(None);
        };
        open.send_window += increment;
        match (increment, open.send_window) {
            (0, _) => self.fail(stream, StreamError::WindowIncrement),
            (_, window) if window > MAX_WINDOW => self.fail(stream, StreamError::WindowOverflow),
            _ => self.queue_upload(stream),
        }
        Ok(None)
    }
}

/// Reads a 32-bit number. The reader has already checked the length of the payload.
fn number(payload: &[u8], at: usize) -> u32 {
    match payload.get(at..at + 4) {
        Some(&[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]),
        _ => 0,
    }
}
