//! A WebSocket connection of a virtual user, and the upgrade that opens it.
//!
//! A connection is read only while its user waits: by the step that waits for a message, and by
//! [`WebSocket::read_idle`] during all other waits, so that pings are answered and messages that no
//! step waits for are counted.

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
    pool::{Conn, OpenCount},
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
/// Stands for a connection that ended without a close frame.
const ABNORMAL_CLOSURE: u16 = 1006;
/// How long a connection that this side closed waits for the server's close frame.
const CLOSE_WAIT_NS: u64 = 1_000_000_000;
/// Number of unwritten bytes of pongs above which nothing is read: the server takes none, and only
/// its pings would follow without an end.
const MAX_PONGS: u64 = 1 << 20;
/// Maximum number of bytes that are read ahead while a message is written, and that are discarded
/// before the server's close frame: four of the largest messages.
const MAX_UNREAD: usize = 64 << 20;
/// Maximum number of bytes that are discarded when nothing waits for the server's close frame.
const MAX_DISCARDED: usize = 1 << 20;

/// A message of the server.
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
    /// The message is one of those that are awaited.
    Awaited,
    /// The message is the last awaited one.
    Last,
}

/// Times and size of a sent message.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentMessage {
    /// When the first byte was written.
    pub first_write_ns: u64,
    /// When the operating system had accepted the last byte.
    pub done_ns: u64,
    /// Number of bytes of the frame.
    pub bytes: u64,
}

/// An open WebSocket connection.
pub struct WebSocket {
    worker: Rc<Worker>,
    stream: Stream,
    reader: Reader,
    compressor: Option<Rc<RefCell<Compressor>>>,
    /// Bytes that were read together with a message, and the part of them that was handled. Empty
    /// unless more messages arrived with the one that a step waited for.
    ahead: Vec<u8>,
    handled: usize,
    out: Output,
    observer: Option<WriteObserver>,
    masks: u64,
    /// Why the connection takes no more messages.
    ended: Option<End>,
    /// The reason in the server's close frame.
    close_reason: Box<str>,
    /// Number of messages that took a number.
    sequence: u64,
    /// Bytes of frames received, with their heads.
    bytes_received: u64,
    held: Held,
    /// Whether pings and pongs are given to the caller.
    keeps_control: bool,
    /// The ping or pong that was read last, until the caller takes it.
    control: Option<SocketEvent>,
    /// Ends the wait for the server's close frame. `None` unless the caller began to close.
    closing: Option<Rc<Limit>>,
    /// Number of bytes that may still be read before the server's close frame. `None` unless this
    /// side began to close.
    discards: Option<usize>,
    /// Whether received bytes and messages count in the record.
    counts_received: bool,
    /// Whether the connection and its messages count in the record.
    is_recorded: bool,
    /// Counts the connection while it is open.
    open: Option<OpenCounts>,
}

/// Counts of open connections that a WebSocket connection is part of.
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

/// The end of a connection.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// What a step on the connection fails with.
    pub fault: Fault,
    /// Close code of the server.
    pub code: Option<u16>,
}

impl WebSocket {
    fn new(client: &Client, conn: Box<Conn>, upgraded: &Upgraded, seed: u64) -> WebSocket {
        let worker = &client.worker;
        let deflate = upgraded.deflate;
        let compressor = deflate.and_then(|negotiated| client.compressor(negotiated));
        let Conn {
            transport, _open, ..
        } = *conn;
        let (stream, ahead) = transport.into_upgraded();
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
                _tcp: _open,
            }),
            worker: Rc::clone(worker),
        }
    }

    /// Returns why the connection takes no more messages. `None` while it is open.
    #[must_use]
    pub fn ended(&self) -> Option<End> {
        self.ended
    }

    /// Returns the reason in the server's close frame.
    #[must_use]
    pub fn close_reason(&self) -> &str {
        &self.close_reason
    }

    /// Returns the number of the last numbered message. The first one has number 1.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Numbers the next message.
    pub fn next_sequence(&mut self) {
        self.sequence += 1;
    }

    /// Returns the number of bytes of frames received, with their heads.
    #[must_use]
    pub fn bytes_received(&self) -> u64 {
        self.bytes_received
    }

    /// Reads messages until `receiver` has the last one it waits for. Returns when that one was
    /// read.
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

    /// Reads what has arrived while no step waits for messages.
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

    /// Reads messages. Returns when the last awaited one was read.
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
            // A server that takes no messages is read, because it may wait for this side to read.
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
                // What is left is written when the connection is read again.
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

    /// Handles received bytes up to the last awaited message. Returns how many it handled, and the
    /// time if that message is among them.
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
            // Frees the memory of the message.
            let _ = self.reader.read(&mut input);
        }
        let start = self.out.end();
        for payload in &read.pongs {
            let mask = self.mask();
            // A control frame of the server is never too long for an answer.
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

/// What received bytes contained.
#[derive(Default)]
struct ReadSummary {
    received: u64,
    unclaimed: u64,
    pings: u64,
    pongs: Vec<Vec<u8>>,
}

impl ReadSummary {
    /// Counts a message. Returns whether it is the last awaited one.
    fn message(&mut self, claim: Claim) -> bool {
        self.received += 1;
        self.unclaimed += u64::from(claim == Claim::Unclaimed);
        claim == Claim::Last
    }
}

/// Why no more messages can be read.
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
