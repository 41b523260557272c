//! Bridge between the engine and a sender on another thread: commands in, completions out, samples
//! recorded when settled. Neither side waits for or calls the other.

#![warn(missing_docs)]

pub mod arrivals;
mod notifier;
mod serve;

use std::{
    io,
    os::fd::BorrowedFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, Receiver, Sender},
    },
};

use measure::{
    Fault, LabelId, Sample,
    sample::{Intended, RequestOutcome},
};

use arrivals::Due;
use engine::{client::Built, clock, run::DriverMaker};
use notifier::Notifier;

/// Number of an order.
pub type Token = u64;
/// Identifies connections; sessions share none.
pub type SessionId = u64;

/// A request to send.
#[derive(Debug)]
pub struct Order {
    /// Session whose connections are used.
    pub session: SessionId,
    /// Whether to verify the certificate.
    pub verifies: bool,
    /// Also in the request's bytes.
    pub method: String,
    /// Label, unless settled otherwise.
    pub name: String,
    /// The request.
    pub request: Built,
    /// Time limit for connecting and writing; `None` means no limit.
    pub connect_ns: Option<u64>,
    /// Time limit for each read; `None` means no limit.
    pub read_ns: Option<u64>,
    /// `CLOCK_MONOTONIC` at the sender's call.
    pub called_ns: u64,
    /// For the first request of an arrival: intended start and start, `CLOCK_MONOTONIC`.
    pub arrival_ns: Option<(u64, u64)>,
}

/// Result of an order.
#[derive(Debug)]
pub struct Completion {
    /// The order.
    pub token: Token,
    /// The response, possibly partial.
    pub answer: Answered,
    /// Why it is incomplete.
    pub fault: Option<Fault>,
    /// For [`Bridge::settle`].
    pub account: PendingSample,
}

/// A response.
#[derive(Debug, Default)]
pub struct Answered {
    /// 0 without a response head.
    pub status: u16,
    /// As received.
    pub head: Vec<u8>,
    /// Decoded, or as received if that fails.
    pub body: Vec<u8>,
    /// Why it could not be decoded.
    pub unreadable: Option<String>,
    /// Redirect target.
    pub location: Option<String>,
    /// Whether it sets cookies.
    pub sets_cookies: bool,
}

/// A measured request awaiting its final name and outcome.
#[derive(Debug, Clone)]
pub struct PendingSample {
    queue: usize,
    /// Zero of the run on `CLOCK_MONOTONIC`.
    zero_ns: u64,
    sample: Sample,
    redirects: u32,
}

impl PendingSample {
    /// First byte written to last byte read; `None` if nothing was written.
    #[must_use]
    pub fn service_ns(&self) -> Option<u64> {
        self.sample.service_ns()
    }

    /// Merges a redirect into one sample that starts with the first request.
    pub fn follows(&mut self, first: &PendingSample) {
        self.redirects = first.redirects + 1;
        let (last, first) = (&mut self.sample, &first.sample);
        last.intended = first.intended;
        last.started_ns = first.started_ns;
        last.first_write_ns = first.first_write_ns.or(last.first_write_ns);
        last.bytes_out += first.bytes_out;
        last.bytes_in += first.bytes_in;
    }

    /// Whether a byte was written.
    #[must_use]
    pub fn was_sent(&self) -> bool {
        self.sample.first_write_ns.is_some()
    }
}

/// The sender's evaluation of a response.
#[derive(Debug)]
pub struct Settlement {
    /// The request's.
    pub account: PendingSample,
    /// Method and name, if changed.
    pub renamed: Option<(String, String)>,
    /// Outcome by the sender's rule.
    pub ended: RequestOutcome,
    /// Failure detail, for the first sample.
    pub detail: String,
    /// When the sender took the response, on `CLOCK_MONOTONIC`; `None` if never.
    pub resumed_ns: Option<u64>,
}

impl Settlement {
    /// A request given up by its sender.
    #[must_use]
    pub fn cancelled(account: PendingSample) -> Settlement {
        Settlement {
            account,
            renamed: None,
            ended: RequestOutcome::Unanswered(Fault::Cancelled),
            detail: String::new(),
            resumed_ns: None,
        }
    }
}

/// A request measured elsewhere.
#[derive(Debug)]
pub struct ExternalSample {
    /// Its method or protocol.
    pub method: String,
    /// Its name.
    pub name: String,
    /// When it ended, on `CLOCK_MONOTONIC`.
    pub done_ns: u64,
    /// Duration; `None` if not measured.
    pub took_ns: Option<u64>,
    /// Bytes of its response, if known.
    pub bytes_in: u64,
    /// How it ended.
    pub ended: RequestOutcome,
    /// Failure detail, for the first sample.
    pub detail: String,
}

#[derive(Debug)]
enum Command {
    Send(Token, Box<Order>),
    /// Gives up an order.
    Cancel(Token),
    Settle(Box<Settlement>),
    Foreign(Box<ExternalSample>),
    /// Closes a session's connections.
    Close(SessionId),
    /// An arrival was started under this name.
    Started(Due, String),
    /// An arrival ended; `CLOCK_MONOTONIC`.
    Over(u64, RequestOutcome, u64),
    /// Ends arrivals from this moment on `CLOCK_MONOTONIC`.
    EndArrivals(u64),
    /// The last command.
    End,
}

#[derive(Debug)]
struct WorkerQueue {
    command: Sender<Command>,
    notifier: Notifier,
}

#[derive(Debug)]
struct BridgeState {
    lanes: Vec<WorkerQueue>,
    done: Sender<Completion>,
    taken: Mutex<Receiver<Completion>>,
    due: Sender<Due>,
    due_taken: Mutex<Receiver<Due>>,
    notifier: Notifier,
    ending: AtomicBool,
    users: AtomicU64,
}

impl BridgeState {
    fn is_due(&self, due: Due) {
        let _ = self.due.send(due);
        self.notifier.ring();
    }

    fn take(&self, most: usize) -> Vec<Completion> {
        let done = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        done.try_iter().take(most).collect()
    }
}

/// The sender's side of a bridge.
#[derive(Debug)]
pub struct Bridge {
    shared: Arc<BridgeState>,
    next: AtomicU64,
}

impl Bridge {
    /// Returns a bridge and its driver maker.
    ///
    /// # Errors
    ///
    /// No descriptor for a notifier.
    pub fn new(workers: usize) -> io::Result<(Bridge, DriverMaker)> {
        let mut lanes = Vec::new();
        let mut ends = Vec::new();
        for _ in 0..workers {
            let (command, end) = mpsc::channel();
            lanes.push(WorkerQueue {
                command,
                notifier: Notifier::new()?,
            });
            ends.push(Some(end));
        }
        let (sender, done) = mpsc::channel();
        let (due, due_taken) = mpsc::channel();
        let shared = Arc::new(BridgeState {
            lanes,
            due,
            due_taken: Mutex::new(due_taken),
            done: sender,
            taken: Mutex::new(done),
            notifier: Notifier::new()?,
            ending: AtomicBool::new(false),
            users: AtomicU64::new(0),
        });
        let bridge = Bridge {
            shared: Arc::clone(&shared),
            next: AtomicU64::new(1),
        };
        let ends = Mutex::new(ends);
        let maker: DriverMaker = Arc::new(move |given| {
            let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
            let command = ends.get_mut(given.worker).and_then(Option::take);
            Box::new(serve::BridgeDriver {
                shared: Arc::clone(&shared),
                queue: given.worker,
                command,
                settings: given.client,
                schedule: given.arrives.then_some(given.schedule),
            })
        });
        Ok((bridge, maker))
    }

    /// Readable when [`Bridge::take`] has something.
    #[must_use]
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.shared.notifier.fd()
    }

    /// Sends a request; `None` if the bridge has ended. Each order has one completion, unless
    /// cancelled.
    pub fn send(&self, order: Order) -> Option<Token> {
        let token = self.next.fetch_add(1, Ordering::Relaxed);
        let queue = self.lane_of(order.session);
        let is_taken = self.ask(queue, Command::Send(token, Box::new(order)), true);
        if !is_taken {
            self.shared.ending.store(true, Ordering::Relaxed);
        }
        is_taken.then_some(token)
    }

    /// Gives up an order: closes its connection and counts it. A completion may still be queued.
    pub fn cancel(&self, token: Token, session: SessionId) {
        self.ask(self.lane_of(session), Command::Cancel(token), true);
    }

    /// Records a request. Does not wake the worker.
    pub fn settle(&self, settled: Settlement) {
        let queue = settled.account.queue;
        self.ask(queue, Command::Settle(Box::new(settled)), false);
    }

    /// Records a request that was measured elsewhere.
    pub fn foreign(&self, foreign: ExternalSample) {
        self.ask(0, Command::Foreign(Box::new(foreign)), false);
    }

    /// Closes idle connections of a session.
    pub fn close(&self, session: SessionId) {
        self.ask(self.lane_of(session), Command::Close(session), false);
    }

    /// Sets the number of virtual users.
    pub fn has_users(&self, users: u64) {
        self.shared.users.store(users, Ordering::Relaxed);
    }

    /// Returns at most `most` completions; the descriptor stays readable if there are more.
    pub fn take(&self, most: usize) -> Vec<Completion> {
        self.shared.notifier.clear();
        let taken = self.shared.take(most);
        if taken.len() == most {
            self.shared.notifier.ring();
        }
        taken
    }

    /// Due arrivals in order. Call after [`Bridge::take`], which resets the notifier.
    pub fn arrivals(&self) -> Vec<Due> {
        let due = self
            .shared
            .due_taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        due.try_iter().collect()
    }

    /// An arrival was started under this name.
    pub fn started(&self, due: Due, name: String) {
        self.ask(0, Command::Started(due, name), false);
    }

    /// A started arrival has ended now.
    pub fn over(&self, number: u64, ended: RequestOutcome) {
        self.ask(0, Command::Over(number, ended, now_ns()), false);
    }

    /// Ends arrivals, from the first that was not taken. Later ones count as never planned.
    pub fn end_arrivals(&self) {
        let from_ns = self
            .arrivals()
            .first()
            .map_or_else(now_ns, |due| due.intended_ns);
        for queue in 0..self.shared.lanes.len() {
            self.ask(queue, Command::EndArrivals(from_ns), true);
        }
    }

    /// Whether the run ends from inside: stop button or rule.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.shared.ending.load(Ordering::Relaxed)
    }

    /// Gives up requests in flight and ends the run.
    pub fn end(&self) {
        for queue in 0..self.shared.lanes.len() {
            self.ask(queue, Command::End, true);
        }
    }

    fn lane_of(&self, session: SessionId) -> usize {
        (session % self.shared.lanes.len() as u64) as usize
    }

    /// Returns whether the worker exists; otherwise the run's error explains it.
    fn ask(&self, queue: usize, command: Command, at_once: bool) -> bool {
        let queue = &self.shared.lanes[queue];
        let is_there = queue.command.send(command).is_ok();
        if at_once {
            queue.notifier.ring();
        }
        is_there
    }
}

/// `CLOCK_MONOTONIC`.
#[must_use]
pub fn now_ns() -> u64 {
    clock::monotonic_ns()
}

/// Sample of an order before its settlement.
fn provisional(label: LabelId, intended: Intended, started_ns: u64) -> Sample {
    Sample {
        label,
        intended,
        started_ns,
        first_write_ns: None,
        first_read_ns: None,
        done_ns: started_ns,
        ended: RequestOutcome::Unanswered(Fault::Unfinished),
        status: None,
        bytes_out: 0,
        bytes_in: 0,
    }
}
