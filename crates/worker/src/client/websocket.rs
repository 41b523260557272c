//! A WebSocket connection of a virtual user, and the upgrade that opens it.
//!
//! A connection is read only while its user waits: by the step that waits for a message, and by
//! [`WebSocket::read_idle`] during all other waits. The latter answers pings, and counts messages
//! that no step waits for.

mod closing;
mod events;
mod output;
mod sending;
mod upgrade;

use std::{
    cell::RefCell,
    rc::Rc,
    task::{Context, Poll, ready},
};

use codec::websocket::{
    self, Compressor, Event, FrameError, Limits, Reader, Role, handshake::Upgraded,
};
use measure::{Fault, interval::WebSocketCounts, outcome::WebSocketFault};

use super::{
    Client,
    conn::{Conn, OpenCount, UpgradedStream},
};
use crate::{
    deadlines::Limit,
    memory::Held,
    net::{Stream, fault::socket_fault},
    worker::Worker,
};
use output::Output;

pub use events::SocketEvent;
pub use output::WrittenFrames;
pub use sending::WriteObserver;
pub use upgrade::UpgradeRequest;

const NORMAL_CLOSURE: u16 = 1000;
/// Close code that stands for a connection that ended without a close frame.
const ABNORMAL_CLOSURE: u16 = 1006;
/// Maximum time to wait for the server's close frame after the client closed the connection, in
/// nanoseconds.
const CLOSE_WAIT_NS: u64 = 1_000_000_000;
/// Number of unwritten pong bytes above which the client stops reading. The server does not read
/// the pongs, and its pings could continue without end.
const MAX_PONGS: u64 = 1 << 20;
/// Maximum number of bytes to read ahead while a message is being written, and to discard before
/// the server's close frame. Four of the largest messages fit.
const MAX_UNREAD: usize = 64 << 20;
/// Maximum number of bytes to discard when the caller does not wait for the server's close frame.
const MAX_DISCARDED: usize = 1 << 20;

/// A message from the server.
#[derive(Debug, Clone, Copy)]
pub enum Message<'m> {
    /// Text.
    Text(&'m str),
    /// Bytes.
    Binary(&'m [u8]),
}

impl<'m> Message<'m> {
    /// Returns the content.
    #[must_use]
    pub fn bytes(self) -> &'m [u8] {
        match self {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
        }
    }
}

/// The receiver's decision about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// No step waits for the message.
    Unclaimed,
    /// A step waits for the message, and for others.
    Awaited,
    /// The message is the last one that a step waits for.
    Last,
}

/// Times and size of a sent message.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentMessage {
    /// When the first byte was written.
    pub first_write_ns: u64,
    /// When the operating system accepted the last byte.
    pub done_ns: u64,
    /// Length of the frame in bytes.
    pub bytes: u64,
}

/// An open WebSocket connection.
pub struct WebSocket {
    worker: Rc<Worker>,
    stream: Stream,
    reader: Reader,
    compressor: Option<Rc<RefCell<Compressor>>>,
    /// Bytes that were read together with a message, of which a part has been handled. Empty unless
    /// more messages arrived together with an awaited message.
    ahead: Vec<u8>,
    handled: usize,
    out: Output,
    observer: Option<WriteObserver>,
    masks: u64,
    /// Why the connection no longer transports messages. `None` while it is open.
    ended: Option<End>,
    /// The reason in the server's close frame.
    close_reason: Box<str>,
    /// Number of the last numbered message.
    sequence: u64,
    /// Bytes of frames received, including frame headers.
    bytes_received: u64,
    held: Held,
    /// Whether the caller receives pings and pongs.
    keeps_control: bool,
    /// The last ping or pong, until the caller takes it.
    control: Option<SocketEvent>,
    /// Limit on the wait for the server's close frame. `None` until the caller starts to close.
    closing: Option<Rc<Limit>>,
    /// Number of bytes that may still be read before the server's close frame. `None` until the
    /// client starts to close.
    discards: Option<usize>,
    /// Whether received bytes and messages count in the record.
    counts_received: bool,
    /// Whether the connection and its messages count in the record.
    is_recorded: bool,
    /// Counts the connection while it is open.
    open: Option<OpenCounts>,
}

/// Counts of open connections that include a WebSocket connection.
#[derive(Debug)]
struct OpenCounts {
    _websocket: OpenCount,
    _tcp: Option<OpenCount>,
}

impl std::fmt::Debug for WebSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("WebSocket");
        shown
            .field("stream", &self.stream)
            .field("ended", &self.ended);
        shown.finish_non_exhaustive()
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Fault that steps on the connection report.
    pub fault: Fault,
    /// Close code sent by the server.
    pub code: Option<u16>,
}

impl WebSocket {
    fn new(client: &Client, conn: Box<Conn>, upgraded: &Upgraded, seed: u64) -> WebSocket {
        let worker = &client.worker;
        let deflate = upgraded.deflate;
        let compressor = deflate.and_then(|negotiated| client.compressor(negotiated));
        let UpgradedStream {
            stream,
            ahead,
            open,
        } = conn.into_upgraded();
        let mut reader = Reader::new(Role::Client, Limits::default());
        if let Some(negotiated) = deflate {
            reader = reader.with_deflate(negotiated);
        }
        WebSocket {
            stream,
            reader,
            compressor,
            ahead,
            handled: 0,
            out: Output::default(),
            observer: None,
            masks: seed,
            ended: None,
            close_reason: Box::default(),
            sequence: 0,
            bytes_received: 0,
            held: Held::nothing(&worker.memory),
            keeps_control: false,
            control: None,
            closing: None,
            discards: None,
            counts_received: true,
            is_recorded: true,
            open: Some(OpenCounts {
                _websocket: OpenCount::new(&worker.websockets),
                _tcp: open,
            }),
            worker: Rc::clone(worker),
        }
    }

    /// Returns how the connection ended. `None` while it is open.
    #[must_use]
    pub fn ended(&self) -> Option<End> {
        self.ended
    }

    /// Returns the reason in the server's close frame.
    #[must_use]
    pub fn close_reason(&self) -> &str {
        &self.close_reason
    }

    /// Returns the number of the last numbered message. The first message has number 1.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Assigns a number to the next message.
    pub fn next_sequence(&mut self) {
        self.sequence += 1;
    }

    /// Returns the number of bytes of frames received, including frame headers.
    #[must_use]
    pub fn bytes_received(&self) -> u64 {
        self.bytes_received
    }

    /// Reads messages until `receiver` has received the last message it waits for. Returns the time
    /// at which that message was read.
    pub async fn receive(
        &mut self,
        limit: &Limit,
        receiver: &mut dyn FnMut(Message<'_>, u64) -> Claim,
    ) -> Result<u64, Fault> {
        std::future::poll_fn(|cx| match self.poll_messages(cx, receiver) {
            Poll::Ready(read) => Poll::Ready(read),
            Poll::Pending => limit.poll(cx).map(|cut| Err(cut_fault(cut))),
        })
        .await
    }

    /// Reads messages that arrive while no step waits for them.
    pub fn read_idle(&mut self, cx: &mut Context<'_>) {
        if self.ended.is_none() {
            let _ = self.poll_messages(cx, &mut |_, _| Claim::Unclaimed);
        }
    }

    fn count(&self, count: impl FnOnce(&mut WebSocketCounts)) {
        if self.is_recorded {
            count(&mut self.worker.recorder.borrow_mut().run.websocket);
        }
    }

    /// Reads messages. Returns the time at which the last awaited message was read.
    pub(super) fn poll_messages(
        &mut self,
        cx: &mut Context<'_>,
        receiver: &mut dyn FnMut(Message<'_>, u64) -> Claim,
    ) -> Poll<Result<u64, Fault>> {
        if let Some(end) = self.ended
            && end.code.is_some()
        {
            return Poll::Ready(Err(end.fault));
        }
        let worker = Rc::clone(&self.worker);
        loop {
            // If the server accepts no messages, read, because it may wait for the client to read.
            if !self.out.is_empty()
                && self.poll_write(cx).is_pending()
                && self.out.pong_bytes() > MAX_PONGS
            {
                return Poll::Pending;
            }
            let read = if self.ahead.is_empty() {
                let mut buffer = worker.buffer.borrow_mut();
                let n = match ready!(self.stream.poll_read(cx, &mut buffer)) {
                    Ok(n) => n,
                    Err(e) => return Poll::Ready(Err(self.lost(socket_fault(&e)))),
                };
                if n == 0 {
                    return Poll::Ready(Err(self.lost(Fault::ClosedEarly)));
                }
                let (handled, read) = self.handle(&buffer[..n], receiver);
                self.ahead = buffer[handled..n].to_vec();
                read
            } else {
                let ahead = std::mem::take(&mut self.ahead);
                let (handled, read) = self.handle(&ahead[self.handled..], receiver);
                self.handled += handled;
                if self.handled < ahead.len() {
                    self.ahead = ahead;
                } else {
                    self.handled = 0;
                }
                read
            };
            if read.is_ok() && !self.reserve(0) {
                return Poll::Ready(Err(self.lost(Fault::OutOfMemory)));
            }
            if !self.out.is_empty() {
                // The next read also writes the remaining bytes.
                let _ = self.poll_write(cx);
            }
            if let Some(at_ns) = read? {
                return Poll::Ready(Ok(at_ns));
            }
            if self.discards == Some(0) {
                return Poll::Ready(Err(Fault::WebSocket(WebSocketFault::NotConnected)));
            }
        }
    }

    /// Handles received bytes up to the last awaited message. Returns how many bytes it handled,
    /// and the time if that message was among them.
    fn handle(
        &mut self,
        bytes: &[u8],
        receiver: &mut dyn FnMut(Message<'_>, u64) -> Claim,
    ) -> (usize, Result<Option<u64>, Fault>) {
        let now = self.worker.clock.now();
        let mut input = bytes;
        let mut read = ReadSummary::default();
        let result = loop {
            match self.reader.read(&mut input) {
                Ok(None) => break Ok(None),
                Ok(Some(Event::Text(text))) => {
                    if read.message(receiver(Message::Text(text), now)) {
                        break Ok(Some(now));
                    }
                }
                Ok(Some(Event::Binary(bytes))) => {
                    if read.message(receiver(Message::Binary(bytes), now)) {
                        break Ok(Some(now));
                    }
                }
                Ok(Some(Event::Ping(payload))) => {
                    read.pings += 1;
                    read.pongs.push(payload.to_vec());
                    if self.keeps_control {
                        self.control = Some(SocketEvent::Ping(payload.to_vec()));
                        break Ok(Some(now));
                    }
                }
                Ok(Some(Event::Pong(payload))) => {
                    if self.keeps_control {
                        self.control = Some(SocketEvent::Pong(payload.to_vec()));
                        break Ok(Some(now));
                    }
                }
                Ok(Some(Event::Close(close))) => {
                    self.close_reason =
                        close.map_or_else(Box::default, |close| close.reason.into());
                    break Err(ReadEnd::Closed(close.map(|close| close.code)));
                }
                Err(error) => break Err(ReadEnd::Violation(error)),
            }
        };
        if input.is_empty() && matches!(result, Ok(Some(_))) {
            // Free the memory of the message.
            let _ = self.reader.read(&mut input);
        }
        let start = self.out.end();
        for payload in &read.pongs {
            let mask = self.mask();
            // The payload of a received ping is never too long for a pong.
            let _ = websocket::write_pong(self.out.buffer(), mask, payload);
        }
        self.out.note_pongs(start);
        let handled = bytes.len() - input.len();
        self.bytes_received += handled as u64;
        if let Some(left) = &mut self.discards {
            *left = left.saturating_sub(handled);
        }
        if self.counts_received {
            self.count(|counts| {
                counts.received += read.received;
                counts.unclaimed += read.unclaimed;
                counts.pings += read.pings;
                counts.bytes_received += handled as u64;
            });
        }
        let result = match result {
            Ok(at_ns) => Ok(at_ns),
            Err(ReadEnd::Closed(code)) => Err(self.closed_by_server(code.unwrap_or(1005))),
            Err(ReadEnd::Violation(error)) => Err(self.violated(error)),
        };
        (handled, result)
    }
}

/// Results of handling received bytes.
#[derive(Default)]
struct ReadSummary {
    received: u64,
    unclaimed: u64,
    pings: u64,
    pongs: Vec<Vec<u8>>,
}

impl ReadSummary {
    /// Counts a message. Returns whether it is the last awaited message.
    fn message(&mut self, claim: Claim) -> bool {
        self.received += 1;
        self.unclaimed += u64::from(claim == Claim::Unclaimed);
        claim == Claim::Last
    }
}

/// Why reading of messages ended.
enum ReadEnd {
    Closed(Option<u16>),
    Violation(FrameError),
}

fn cut_fault(cut: crate::deadlines::Cut) -> Fault {
    match cut {
        crate::deadlines::Cut::Aborted => Fault::Unfinished,
        crate::deadlines::Cut::Expired => Fault::ResponseTimeout,
    }
}

fn frame_fault(error: FrameError) -> Fault {
    Fault::WebSocket(match error {
        FrameError::MessageTooLarge => WebSocketFault::TooLarge,
        FrameError::Utf8 | FrameError::CloseReason => WebSocketFault::BadText,
        _ => WebSocketFault::BadFrame,
    })
}
