//! Sending of requests, and of uploads within the flow-control windows.

use std::rc::Rc;

use super::{
    connection::{Connection, ConnectionState},
    error::ErrorCode,
    fields::Field,
    frame::{self, HEADER_LEN},
    streams::{Stream, StreamId},
    template::HeadTemplate,
};

/// Output length up to which uploads append data.
const OUTPUT_TARGET: usize = 64 << 10;
/// Maximum size of a DATA frame. Uploads take turns, so frames must not be too large.
const MAX_DATA: usize = 16 << 10;

/// A request to be sent.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Compiled head of the request.
    pub head: &'a HeadTemplate,
    /// Function that returns the value of a hole by its number.
    pub values: &'a dyn Fn(u32) -> &'a [u8],
    /// Additional fields, with names in lower case.
    pub extra: &'a [Field<'a>],
    /// Body of the request. `content-length` is added unless the head contains it.
    pub body: Body<'a>,
}

/// A request body.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// No body.
    None,
    /// Bytes of this request only. The connection copies the part that flow control does not allow
    /// yet.
    Bytes(&'a [u8]),
    /// Bytes that several requests share. The connection never copies them.
    Shared(&'a Rc<[u8]>),
}

impl Body<'_> {
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Body::None => None,
            Body::Bytes(bytes) => Some(bytes),
            Body::Shared(bytes) => Some(bytes),
        }
    }
}

/// Why a request was not sent. The connection is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendError {
    /// No stream is free, see [`Connection::free_streams`].
    NoFreeStream,
    /// The connection accepts no more requests.
    NotAccepting,
    /// A value contains a line end or NUL, or an extra field is invalid.
    InvalidField,
}

impl Connection {
    /// Appends a request to the output, with as much of its body as flow control allows.
    pub fn send(&mut self, request: &Request<'_>) -> Result<StreamId, SendError> {
        if !self.accepts_requests() {
            return Err(SendError::NotAccepting);
        }
        if self.free_streams() == 0 {
            return Err(SendError::NoFreeStream);
        }
        let Request {
            head,
            values,
            extra,
            body,
        } = *request;
        if !head.accepts(values, extra) {
            return Err(SendError::InvalidField);
        }
        let stream = self.streams.open(self.next_stream);
        self.next_stream += 2;
        let length = body.bytes().map(<[u8]>::len);
        let has_data = length.is_some_and(|length| length > 0);
        self.output.mark_request(stream);
        let out = self.output.buffer();
        let at = out.len();
        out.extend_from_slice(&[0; HEADER_LEN]);
        let bytes = head.encode(&mut self.encoder, values, extra, length, out);
        self.counters.header_bytes_sent += bytes as u64;
        self.counters.block_bytes_sent += (out.len() - at - HEADER_LEN) as u64;
        frame::finish_headers(out, at, stream.id, !has_data, self.peer.max_frame);
        let (send_window, receive_window) = (self.peer.initial_window, self.receive.stream);
        if let Some(open) = self.streams.get_mut(stream) {
            open.send_window = send_window;
            open.receive_window = receive_window.max(frame::DEFAULT_WINDOW);
            open.is_head = head.is_head(values);
        }
        if has_data {
            self.start_upload(stream, body);
        }
        Ok(stream)
    }

    fn start_upload(&mut self, stream: StreamId, body: Body<'_>) {
        let bytes = body.bytes().unwrap_or_default();
        let mut sent = 0;
        // A body that fits is copied only once, into the output.
        if let Some(open) = self.streams.get_mut(stream)
            && self.uploads.is_empty()
        {
            let room = OUTPUT_TARGET.saturating_sub(self.output.pending().len());
            while let n @ 1.. = bytes[sent..]
                .len()
                .min(allowance(open, self.send_window, self.peer.max_frame))
                .min(room.saturating_sub(sent))
            {
                let ends = sent + n == bytes.len();
                frame::write_data(
                    self.output.buffer(),
                    stream.id,
                    &bytes[sent..sent + n],
                    ends,
                );
                sent += n;
                open.send_window -= n as i64;
                self.send_window -= n as i64;
            }
        }
        if sent == bytes.len() {
            return;
        }
        if let Some(open) = self.streams.get_mut(stream) {
            match body {
                Body::Shared(shared) => open.upload.share(shared, sent),
                _ => open.upload.copy(&bytes[sent..]),
            }
        }
        self.queue_upload(stream);
        self.continue_uploads();
    }

    /// Puts a stream in the queue of uploads.
    pub(super) fn queue_upload(&mut self, stream: StreamId) {
        if let Some(open) = self.streams.get_mut(stream)
            && !open.is_queued
            && !open.upload.rest().is_empty()
        {
            open.is_queued = true;
            self.uploads.push_back(stream.slot);
        }
    }

    /// Appends parts of the uploads in turn, as far as flow control and the output length allow.
    pub(super) fn continue_uploads(&mut self) {
        let mut turns = self.uploads.len();
        while turns > 0
            && self.output.pending().len() < OUTPUT_TARGET
            && let Some(slot) = self.uploads.pop_front()
        {
            turns -= 1;
            let Some(open) = self.streams.slot_mut(slot) else {
                continue;
            };
            open.is_queued = false;
            let rest = open.upload.rest();
            if open.id == 0 || rest.is_empty() {
                continue;
            }
            let n = allowance(open, self.send_window, self.peer.max_frame).min(rest.len());
            if n == 0 {
                if !open.is_blocked {
                    open.is_blocked = true;
                    self.blocked_uploads += 1;
                    self.counters.uploads_blocked += 1;
                }
                // A stream that waits for its own window is queued again by WINDOW_UPDATE.
                if open.send_window > 0 {
                    open.is_queued = true;
                    self.uploads.push_back(slot);
                }
                continue;
            }
            if std::mem::take(&mut open.is_blocked) {
                self.blocked_uploads -= 1;
            }
            let ends = n == rest.len();
            frame::write_data(self.output.buffer(), open.id, &rest[..n], ends);
            open.upload.advance(n);
            open.send_window -= n as i64;
            self.send_window -= n as i64;
            if ends {
                open.upload.clear();
            } else {
                open.is_queued = true;
                self.uploads.push_back(slot);
                turns += 1;
            }
        }
    }

    /// Drops the rest of an upload whose response is already complete.
    pub(super) fn drop_upload(&mut self, stream: StreamId) -> bool {
        let is_incomplete = |open: &Stream| !open.upload.rest().is_empty();
        let drops = self.streams.get(stream).is_some_and(is_incomplete);
        if drops {
            self.reset(stream, ErrorCode::NO_ERROR);
        }
        drops
    }

    /// Returns the bytes to write to the socket. Empty if there are none.
    pub fn output(&mut self) -> &[u8] {
        if self.state != ConnectionState::Closed {
            self.continue_uploads();
        }
        self.output.pending()
    }

    /// Reports that the first `n` bytes of the output were written, and calls `started` for each
    /// request whose first byte is among them.
    ///
    /// A reported stream may have been cancelled since it was sent.
    #[inline]
    pub fn wrote(&mut self, n: usize, started: impl FnMut(StreamId)) {
        self.output.advance(n, started);
    }
}

/// Returns how many bytes of an upload may be sent in one frame.
fn allowance(open: &Stream, connection: i64, max_frame: usize) -> usize {
    let window = open.send_window.min(connection).max(0) as usize;
    window.min(max_frame).min(MAX_DATA)
}
