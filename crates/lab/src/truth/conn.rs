//! A connection: socket, request reader and queued responses. Independent of time.

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

pub(super) struct Pending {
    pub(super) turn: u64,
    pub(super) what: What,
    pub(super) is_head: bool,
    pub(super) keep_alive: bool,
    pub(super) entry: Option<RequestEntry>,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    Ok,
    Error,
    Reset(When),
    Stats,
    Refusal(u16),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Intake {
    Requests,
    Discard,
    Ended,
}

pub(super) enum Brought {
    Bytes(usize),
    Nothing,
    End,
}

pub(super) struct Conn {
    pub(super) number: u64,
    /// The socket. `None` if the client has disconnected.
    pub(super) socket: Option<OwnedFd>,
    pub(super) reader: RequestReader,
    pub(super) queue: VecDeque<Pending>,
    pub(super) last_turn: u64,
    pub(super) intake: Intake,
    /// Whether a request on this connection is never answered, which blocks all later ones.
    pub(super) muted: bool,
    rest: Option<(Arc<[u8]>, std::ops::Range<usize>)>,
    closing: bool,
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

    pub(super) fn wanted(&self) -> EventFlags {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, self.intake != Intake::Ended);
        flags.set(EventFlags::OUT, self.rest.is_some());
        flags
    }

    pub(super) fn is_writing(&self) -> bool {
        self.rest.is_some()
    }

    pub(super) fn is_over(&self) -> bool {
        let deaf = self.socket.is_none() || self.intake == Intake::Ended;
        deaf && self.queue.is_empty() && self.rest.is_none()
    }

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

    pub(super) fn write(&mut self, bytes: &Arc<[u8]>, length: usize) -> bool {
        let sent = self.send(bytes.get(..length).unwrap_or(bytes));
        if let Some(sent) = sent.filter(|&sent| sent < length) {
            self.rest = Some((Arc::clone(bytes), sent..length));
        }
        sent.is_some()
    }

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

    /// Closes only the writing direction, because closing both could discard a response that is
    /// still in transit.
    pub(super) fn close_writing(&mut self) {
        self.closing = true;
        if self.rest.is_none()
            && let Some(socket) = &self.socket
        {
            let _ = shutdown(socket, Shutdown::Write);
        }
    }

    pub(super) fn reset(&mut self) {
        if let Some(socket) = &self.socket {
            let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
        }
        self.vanish();
    }

    pub(super) fn vanish(&mut self) {
        self.socket = None;
        self.rest = None;
        self.intake = Intake::Ended;
    }
}
