//! One connection: its socket, the reader of its requests, and the answers that wait for their moment, in order.
//! Decides nothing about time; the loop says when to release.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};

use super::journal::RequestEntry;
use super::mode::When;
use super::reader::RequestReader;

/// An answer that waits.
pub(super) struct Pending {
    /// Not to be written before: its own moment, or that of an answer before it on this connection.
    pub(super) turn: u64,
    pub(super) what: What,
    pub(super) is_head: bool,
    pub(super) keep_alive: bool,
    /// What the log will tell; None for requests that are about the lab.
    pub(super) told: Option<RequestEntry>,
}

/// What to answer.
#[derive(Clone, Copy)]
pub(super) enum What {
    Ok,
    Error,
    Reset(When),
    Stats,
    /// A refusal of this code, outside of every mode.
    Refusal(u16),
}

/// What still comes from the client.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Intake {
    Requests,
    /// The last answer has been asked for: only the end of the connection is waited for.
    Discard,
    /// Nothing.
    Ended,
}

/// What a read brought.
pub(super) enum Brought {
    Bytes(usize),
    Nothing,
    End,
}

pub(super) struct Conn {
    /// In order of acceptance, from 0.
    pub(super) number: u64,
    /// None: the client has gone. Its answers still have their moments, because the work is done all the same.
    pub(super) socket: Option<OwnedFd>,
    pub(super) reader: RequestReader,
    pub(super) queue: VecDeque<Pending>,
    pub(super) last_turn: u64,
    pub(super) intake: Intake,
    /// A request here is never answered, so none behind it can be.
    pub(super) muted: bool,
    /// The part of an answer that the socket would not take yet.
    rest: Option<(Arc<[u8]>, std::ops::Range<usize>)>,
    /// Close when the rest is out.
    closing: bool,
    /// What epoll was last told to look for.
    pub(super) interest: EventFlags,
}

impl Conn {
    pub(super) fn new(number: u64, socket: OwnedFd) -> Self {
        Self {
            number,
            socket: Some(socket),
            reader: RequestReader::default(),
            queue: VecDeque::new(),
            last_turn: 0,
            intake: Intake::Requests,
            muted: false,
            rest: None,
            closing: false,
            interest: EventFlags::IN,
        }
    }

    /// What epoll should look for now.
    pub(super) fn wanted(&self) -> EventFlags {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, self.intake != Intake::Ended);
        flags.set(EventFlags::OUT, self.rest.is_some());
        flags
    }

    pub(super) fn is_writing(&self) -> bool {
        self.rest.is_some()
    }

    /// Whether nothing will ever happen here again.
    pub(super) fn is_over(&self) -> bool {
        let deaf = self.socket.is_none() || self.intake == Intake::Ended;
        deaf && self.queue.is_empty() && self.rest.is_none()
    }

    /// The next answer, if its moment has come and nothing is in its way.
    pub(super) fn next(&mut self, now: u64) -> Option<Pending> {
        if self.rest.is_some() || self.queue.front()?.turn > now {
            return None;
        }
        self.queue.pop_front()
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Brought {
        let Some(socket) = &self.socket else {
            return Brought::Nothing;
        };
        match recv(socket, buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => {
                self.intake = Intake::Ended;
                Brought::End
            }
            Ok((n, _)) => Brought::Bytes(n),
            Err(Errno::AGAIN | Errno::INTR) => Brought::Nothing,
            Err(_) => {
                self.vanish();
                Brought::End
            }
        }
    }

    /// Writes the first `length` bytes, now or as soon as the socket takes them. False if the client has gone.
    pub(super) fn write(&mut self, bytes: &Arc<[u8]>, length: usize) -> bool {
        let sent = self.send(bytes.get(..length).unwrap_or(bytes));
        if let Some(sent) = sent.filter(|&sent| sent < length) {
            self.rest = Some((Arc::clone(bytes), sent..length));
        }
        sent.is_some()
    }

    /// Goes on with an answer that the socket did not take in one piece.
    pub(super) fn write_rest(&mut self) {
        let Some((bytes, range)) = self.rest.take() else {
            return;
        };
        match self.send(bytes.get(range.clone()).unwrap_or_default()) {
            Some(sent) if sent < range.len() => {
                self.rest = Some((bytes, range.start + sent..range.end));
            }
            Some(_) if self.closing => self.close_writing(),
            _ => {}
        }
    }

    /// Writes what fits; None if the client has gone.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Option<usize> {
        let socket = self.socket.as_ref()?;
        match send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(sent) => Some(sent),
            Err(Errno::AGAIN | Errno::INTR) => Some(0),
            Err(_) => {
                self.vanish();
                None
            }
        }
    }

    /// Nothing will be written any more. The client is left to close: closing at once could destroy an answer on its way.
    pub(super) fn close_writing(&mut self) {
        self.closing = true;
        if self.rest.is_none()
            && let Some(socket) = &self.socket
        {
            // Fails only on a connection that is already gone.
            let _ = shutdown(socket, Shutdown::Write);
        }
    }

    /// Ends the connection with RST.
    pub(super) fn reset(&mut self) {
        if let Some(socket) = &self.socket {
            let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
        }
        self.vanish();
    }

    /// The other side is there no more.
    pub(super) fn vanish(&mut self) {
        self.socket = None;
        self.rest = None;
        self.intake = Intake::Ended;
    }
}
