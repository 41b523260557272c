//! Bridge between the engine and a sender on another thread. Neither of them waits for the other.
//! Samples are recorded when they are settled.

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
use engine::run::DriverMaker;
use notifier::Notifier;
use worker::{client::Built, clock};

/// Identifies an order.
pub type Token = u64;
/// Identifies a session. Sessions do not share connections.
pub type SessionId = u64;

/// A request to send on behalf of the sender.
#[derive(Debug)]
pub struct Order {
    /// Session whose connections the request uses.
    pub session: SessionId,
    /// Whether to verify certificates.
    pub verifies: bool,
    /// HTTP method, which must match the encoded request.
    pub method: String,
    /// Name of the label. The settlement may change it.
    pub name: String,
    /// The encoded request, for example from [`Built::from_wire`].
    pub request: Built,
    /// Time limit for connecting and writing. `None` means no limit.
    pub connect_ns: Option<u64>,
    /// Time limit for each read. `None` means no limit.
    pub read_ns: Option<u64>,
    /// Time of the sender's call, on `CLOCK_MONOTONIC`.
    pub called_ns: u64,
    /// Intended start and actual start on `CLOCK_MONOTONIC`. Set for the first request of an
    /// arrival.
    pub arrival_ns: Option<(u64, u64)>,
}

/// The result of an order.
#[derive(Debug)]
pub struct Completion {
    /// Token of the order.
    pub token: Token,
    /// Response, possibly partial.
    pub answer: Answered,
    /// Why the response is incomplete. `None` if it is complete.
    pub fault: Option<Fault>,
    /// Measured times, which the sender passes to [`Bridge::settle`].
    pub account: PendingSample,
}

/// A response to an order.
#[derive(Debug, Default)]
pub struct Answered {
    /// HTTP status code. 0 if no head was received.
    pub status: u16,
    /// Response head, as received.
    pub head: Vec<u8>,
    /// Decoded body. If decoding failed, the body as received.
    pub body: Vec<u8>,
    /// Why the body could not be decoded. `None` if it was decoded.
    pub unreadable: Option<String>,
    /// Target of a redirect.
    pub location: Option<String>,
    /// Whether the response sets cookies.
    pub sets_cookies: bool,
}

/// The measured times of a request whose final name and outcome are not known yet.
#[derive(Debug, Clone)]
pub struct PendingSample {
    queue: usize,
    zero_ns: u64,
    sample: Sample,
    redirects: u32,
}

impl PendingSample {
    /// Returns the time from the first byte written to the last byte read. `None` if no byte was
    /// written.
    #[must_use]
    pub fn service_ns(&self) -> Option<u64> {
        self.sample.service_ns()
    }

    /// Merges this request with `first`, which redirected to it. The merged sample starts with
    /// `first`.
    pub fn follows(&mut self, first: &PendingSample) {
        self.redirects = first.redirects + 1;
        let (last, first) = (&mut self.sample, &first.sample);
        last.intended = first.intended;
        last.started_ns = first.started_ns;
        last.first_write_ns = first.first_write_ns.or(last.first_write_ns);
        last.bytes_out += first.bytes_out;
        last.bytes_in += first.bytes_in;
    }

    /// Returns whether any byte was written.
    #[must_use]
    pub fn was_sent(&self) -> bool {
        self.sample.first_write_ns.is_some()
    }
}

/// The sender's evaluation of a response.
#[derive(Debug)]
pub struct Settlement {
    /// Measured times of the request.
    pub account: PendingSample,
    /// New method and name, if the sender changed them.
    pub renamed: Option<(String, String)>,
    /// Outcome, as defined by the sender.
    pub ended: RequestOutcome,
    /// Description of a failure. Stored only for the first failure of each reason.
    pub detail: String,
    /// When the sender received the response, on `CLOCK_MONOTONIC`. `None` if it never did.
    pub resumed_ns: Option<u64>,
}

impl Settlement {
    /// Creates the settlement of a request that the sender abandoned.
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

/// A request that another component has measured.
#[derive(Debug)]
pub struct ExternalSample {
    /// HTTP method, or name of the protocol.
    pub method: String,
    /// Name of the request.
    pub name: String,
    /// When the request ended, on `CLOCK_MONOTONIC`.
    pub done_ns: u64,
    /// Duration of the request. `None` if it was not measured.
    pub took_ns: Option<u64>,
    /// Number of response bytes, if known.
    pub bytes_in: u64,
    /// Outcome of the request.
    pub ended: RequestOutcome,
    /// Description of a failure. Stored only for the first failure of each reason.
    pub detail: String,
}

#[derive(Debug)]
enum Command {
    Send(Token, Box<Order>),
    /// Cancels an order.
    Cancel(Token),
    Settle(Box<Settlement>),
    Foreign(Box<ExternalSample>),
    Close(SessionId),
    Started(Due, String),
    Over(u64, RequestOutcome, u64),
    EndArrivals(u64),
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
    /// Creates a bridge and the function that creates its drivers.
    ///
    /// # Errors
    ///
    /// Fails if no descriptor is available for a notifier.
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

    /// Returns a descriptor that is readable when [`Bridge::take`] has completions to return.
    #[must_use]
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.shared.notifier.fd()
    }

    /// Sends a request. Returns `None` if the bridge has ended. Each order results in exactly one
    /// completion, unless it is cancelled.
    pub fn send(&self, order: Order) -> Option<Token> {
        let token = self.next.fetch_add(1, Ordering::Relaxed);
        let queue = self.lane_of(order.session);
        let is_taken = self.ask(queue, Command::Send(token, Box::new(order)), true);
        if !is_taken {
            self.shared.ending.store(true, Ordering::Relaxed);
        }
        is_taken.then_some(token)
    }

    /// Cancels an order, closes its connection and counts it as cancelled. A completion may still
    /// be queued.
    pub fn cancel(&self, token: Token, session: SessionId) {
        self.ask(self.lane_of(session), Command::Cancel(token), true);
    }

    /// Records a settled request. Does not wake the worker.
    pub fn settle(&self, settled: Settlement) {
        let queue = settled.account.queue;
        self.ask(queue, Command::Settle(Box::new(settled)), false);
    }

    /// Records a request that another component measured.
    pub fn foreign(&self, foreign: ExternalSample) {
        self.ask(0, Command::Foreign(Box::new(foreign)), false);
    }

    /// Closes the idle connections of a session.
    pub fn close(&self, session: SessionId) {
        self.ask(self.lane_of(session), Command::Close(session), false);
    }

    /// Sets the number of virtual users.
    pub fn has_users(&self, users: u64) {
        self.shared.users.store(users, Ordering::Relaxed);
    }

    /// Returns at most `most` completions. The descriptor stays readable if more are queued.
    pub fn take(&self, most: usize) -> Vec<Completion> {
        self.shared.notifier.clear();
        let taken = self.shared.take(most);
        if taken.len() == most {
            self.shared.notifier.ring();
        }
        taken
    }

    /// Returns the due arrivals in order. Must be called after [`Bridge::take`], which resets the
    /// notifier.
    pub fn arrivals(&self) -> Vec<Due> {
        let due = self
            .shared
            .due_taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        due.try_iter().collect()
    }

    /// Records that an arrival has started, under a label with this name.
    pub fn started(&self, due: Due, name: String) {
        self.ask(0, Command::Started(due, name), false);
    }

    /// Records that the iteration with this number has ended, and its result.
    pub fn over(&self, number: u64, ended: RequestOutcome) {
        self.ask(0, Command::Over(number, ended, now_ns()), false);
    }

    /// Ends arrivals, starting with the first arrival that was not taken. These arrivals count as
    /// never planned.
    pub fn end_arrivals(&self) {
        let from_ns = self
            .arrivals()
            .first()
            .map_or_else(now_ns, |due| due.intended_ns);
        for queue in 0..self.shared.lanes.len() {
            self.ask(queue, Command::EndArrivals(from_ns), true);
        }
    }

    /// Returns whether the stop button or a stop rule is ending the run.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.shared.ending.load(Ordering::Relaxed)
    }

    /// Cancels requests in flight and ends the run.
    pub fn end(&self) {
        for queue in 0..self.shared.lanes.len() {
            self.ask(queue, Command::End, true);
        }
    }

    fn lane_of(&self, session: SessionId) -> usize {
        (session % self.shared.lanes.len() as u64) as usize
    }

    /// Queues a command. Returns `false` if the worker has ended. The error of the run then
    /// explains why.
    fn ask(&self, queue: usize, command: Command, at_once: bool) -> bool {
        let queue = &self.shared.lanes[queue];
        let is_there = queue.command.send(command).is_ok();
        if at_once {
            queue.notifier.ring();
        }
        is_there
    }
}

/// Returns the current time of `CLOCK_MONOTONIC`.
#[must_use]
pub fn now_ns() -> u64 {
    clock::monotonic_ns()
}

/// Creates the sample of an order that is not settled yet.
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
        trace: None,
    }
}
