//! The loop: one thread that accepts, reads, and releases each answer at its moment on the clock.
//! It sleeps until shortly before the next release and stays awake for the rest, so that no release is late by a wake-up.

mod intake;
mod release;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use rustix::event::epoll::EventFlags;

use super::answers::Answers;
use super::conn::Intake;
use super::conns::Conns;
use super::ledger::LabLedger;
use super::mode::ModeServer;
use super::poll::{Poll, Ready, Wait};
use super::reader::FinishedRequest;
use super::settings::TruthConfig;
use crate::{LabError, clock};

/// How long before a release the loop is awake: what a wake-up takes at worst on a machine that has a core free.
const AWAKE: u64 = 50_000;
/// How long answers under way may take when the lab ends; the promise is "within a second".
const GRACE: u64 = 500_000_000;
/// How long to leave `accept` alone when the process is out of descriptors.
const ACCEPT_PAUSE: u64 = 20_000_000;
/// Releases, and connections, taken in one go before looking at what has arrived: a long row of them must not make arrivals
/// look later than they were.
const IN_A_ROW: usize = 32;
const BUFFER: usize = 64 * 1024;

const LISTENER: u64 = u64::MAX - 1;
const STOP: u64 = u64::MAX - 2;

/// The lab at work.
pub(super) struct Serve {
    poll: Poll,
    listener: Option<TcpListener>,
    /// When to try `accept` again.
    accept_again: Option<u64>,
    conns: Conns,
    /// Moments at which a connection has something to release; in order of arrival where they are the same.
    turns: BinaryHeap<Reverse<(u64, u64, u64)>>,
    turns_set: u64,
    server: ModeServer,
    answers: Answers,
    ledger: LabLedger,
    buffer: Vec<u8>,
    requests: Vec<FinishedRequest>,
    /// When the lab has been told to stop: the end of its grace.
    deadline: Option<u64>,
    /// The clock when it was last read.
    now: u64,
    last_arrival: u64,
}

impl Serve {
    pub(super) fn new(
        listener: TcpListener,
        stop: &OwnedFd,
        settings: TruthConfig,
        seed: u64,
        ledger: LabLedger,
    ) -> Result<Self, LabError> {
        let open = || {
            let poll = Poll::new()?;
            poll.add(&listener, LISTENER, EventFlags::IN)?;
            // Edge-triggered, so that nobody has to read it.
            poll.add(stop, STOP, EventFlags::IN | EventFlags::ET)?;
            Ok(poll)
        };
        Ok(Self {
            poll: open().map_err(LabError::Runtime)?,
            listener: Some(listener),
            accept_again: None,
            conns: Conns::default(),
            turns: BinaryHeap::new(),
            turns_set: 0,
            answers: Answers::new(settings.body, settings.error_code),
            server: ModeServer::new(settings.mode, seed),
            ledger,
            buffer: vec![0; BUFFER],
            requests: Vec::new(),
            deadline: None,
            now: 0,
            last_arrival: 0,
        })
    }

    /// Serves until told to stop, then writes out the log.
    pub(super) fn run(mut self) -> Result<(), LabError> {
        let served = self.turn_until_stopped();
        // What still waits has not been answered, and the log says so.
        for conn in self.conns.iter_mut() {
            for told in conn.queue.drain(..).filter_map(|pending| pending.told) {
                self.ledger.unanswered(told);
            }
        }
        self.ledger.stalls(self.server.begun(self.last_arrival));
        let logged = self.ledger.finish();
        served.map_err(LabError::Runtime).and(logged)
    }

    fn turn_until_stopped(&mut self) -> io::Result<()> {
        let mut ready = Vec::new();
        self.now = clock::monotonic_ns();
        loop {
            self.release_due();
            if self.is_over() {
                return Ok(());
            }
            self.accept_again_if_due()?;
            self.poll.wait(self.next_wake(), &mut ready)?;
            self.now = clock::monotonic_ns();
            for Ready { token, flags } in ready.drain(..) {
                match token {
                    LISTENER => self.accept()?,
                    STOP => self.stop(),
                    _ => self.serve(token, flags),
                }
                // Reading tells the time, so that a release among many arrivals is not late either.
                self.release_due();
            }
            self.now = clock::monotonic_ns();
        }
    }

    fn next_wake(&self) -> Wait {
        let turn = self.turns.peek().map(|Reverse((turn, ..))| *turn);
        let moments = [turn, self.accept_again, self.deadline];
        match moments.into_iter().flatten().min() {
            None => Wait::Forever,
            Some(moment) if moment <= self.now + AWAKE => Wait::No,
            Some(moment) => Wait::Until(moment - AWAKE),
        }
    }

    /// Takes nothing in any more; what is due within the grace is still released at its moment.
    fn stop(&mut self) {
        self.listener = None;
        self.accept_again = None;
        self.deadline = Some(self.now + GRACE);
        for token in self.conns.tokens() {
            if let Some(conn) = self.conns.get(token) {
                conn.intake = Intake::Ended;
            }
            self.settle(token);
        }
    }

    fn is_over(&mut self) -> bool {
        let Some(deadline) = self.deadline else {
            return false;
        };
        let turn = self.turns.peek().map(|Reverse((turn, ..))| *turn);
        let nothing_due = turn.is_none_or(|turn| turn > deadline);
        self.now >= deadline || nothing_due && !self.conns.iter_mut().any(|conn| conn.is_writing())
    }

    /// Lets epoll look for what the connection waits for now, or forgets it if that is nothing.
    fn settle(&mut self, token: u64) {
        let Some(conn) = self.conns.get(token) else {
            return;
        };
        if conn.is_over() {
            self.conns.remove(token);
            return;
        }
        let wanted = conn.wanted();
        if wanted != conn.interest
            && let Some(socket) = &conn.socket
        {
            // Fails only for want of memory, and then the connection is stuck, not the lab.
            let _ = self.poll.change(socket, token, wanted);
            conn.interest = wanted;
        }
    }
}
