//! A bridge to whoever decides outside of the engine, on a thread of its own, what is sent: orders go in, what became of them comes out,
//! and what the sender makes of each answer goes back into the ledger. The two sides share queues and two doorbells: neither ever waits
//! for the other, and neither calls into the other. It knows no tool and no language.

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

/// The number of an order, given out by the bridge.
pub type Token = u64;
/// Whose connections an order uses: sessions share none.
pub type SessionId = u64;

/// Sends this, and tell what becomes of it.
#[derive(Debug)]
pub struct Order {
    /// Whose connections are used.
    pub session: SessionId,
    /// Whether a certificate must be right.
    pub verifies: bool,
    /// The method, in the request's bytes too.
    pub method: String,
    /// What it is counted under unless the sender says otherwise at its end.
    pub name: String,
    /// The request.
    pub request: Built,
    /// A connection must be open and the request written in so many nanoseconds; none: no limit.
    pub connect_ns: Option<u64>,
    /// Behind that nothing may come for so long; none: no limit.
    pub read_ns: Option<u64>,
    /// When the sender called, on CLOCK_MONOTONIC.
    pub called_ns: u64,
    /// Where it is the first of an arrival: when that should have started, and when the sender turned to it, both on CLOCK_MONOTONIC.
    pub arrival_ns: Option<(u64, u64)>,
}

/// What became of an order.
#[derive(Debug)]
pub struct Completion {
    /// Whose.
    pub token: Token,
    /// The answer, as far as it came.
    pub answer: Answered,
    /// Why it is not complete.
    pub fault: Option<Fault>,
    /// For [`Bridge::settle`].
    pub account: PendingSample,
}

/// An answer, as whoever sent the request reads it.
#[derive(Debug, Default)]
pub struct Answered {
    /// The status; 0 where no head came.
    pub status: u16,
    /// The head as it came.
    pub head: Vec<u8>,
    /// The body as its author meant it, or as it came where it cannot be unpacked.
    pub body: Vec<u8>,
    /// Why it could not be unpacked.
    pub unreadable: Option<String>,
    /// Where it redirects to.
    pub location: Option<String>,
    /// Whether it sets cookies.
    pub sets_cookies: bool,
}

/// What is to be said of a request once its sender knows what it makes of the answer.
#[derive(Debug, Clone)]
pub struct PendingSample {
    lane: usize,
    /// CLOCK_MONOTONIC at the beginning of the test, for what happened on the other side.
    zero_ns: u64,
    sample: Sample,
    /// Requests before it, whose answers led to it.
    redirects: u32,
}

impl PendingSample {
    /// First byte written → last byte read, in nanoseconds; none when nothing was written.
    #[must_use]
    pub fn service_ns(&self) -> Option<u64> {
        self.sample.service_ns()
    }

    /// This request was made because the answer to another one said so: one account for both, from the first one's beginning.
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

/// What the sender makes of an answer.
#[derive(Debug)]
pub struct Settlement {
    /// The request's.
    pub account: PendingSample,
    /// Under which method and name it is counted, where that is not what its order said.
    pub renamed: Option<(String, String)>,
    /// How it ended, by the sender's rule.
    pub ended: RequestOutcome,
    /// What went wrong, for the first of its kind.
    pub detail: String,
    /// When the sender had the answer in its hands, on CLOCK_MONOTONIC; none: it never took it.
    pub resumed_ns: Option<u64>,
}

impl Settlement {
    /// Nobody waited for the answer any more.
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

/// A request that something else has made and timed.
#[derive(Debug)]
pub struct ExternalSample {
    /// Its method, or whatever stands there.
    pub method: String,
    /// Its name.
    pub name: String,
    /// When it ended, on CLOCK_MONOTONIC.
    pub done_ns: u64,
    /// How long it took; none: nobody timed it.
    pub took_ns: Option<u64>,
    /// Bytes of its answer, as far as somebody has counted them.
    pub bytes_in: u64,
    /// How it ended.
    pub ended: RequestOutcome,
    /// What went wrong, for the first of its kind.
    pub detail: String,
}

/// What goes in.
#[derive(Debug)]
enum Command {
    Send(Token, Box<Order>),
    /// Nobody waits for it any more.
    Cancel(Token),
    Settle(Box<Settlement>),
    Foreign(Box<ExternalSample>),
    /// A session's connections are closed.
    Close(SessionId),
    /// An arrival has been taken up, to do what has this name.
    Started(Due, String),
    /// It has ended, at a moment on CLOCK_MONOTONIC.
    Over(u64, RequestOutcome, u64),
    /// No more arrivals are wanted from a moment on, on CLOCK_MONOTONIC.
    EndArrivals(u64),
    /// Nothing comes behind this.
    End,
}

/// The way to one worker.
#[derive(Debug)]
struct WorkerQueue {
    asked: Sender<Command>,
    bell: Notifier,
}

#[derive(Debug)]
struct BridgeState {
    lanes: Vec<WorkerQueue>,
    done: Sender<Completion>,
    /// Where the outer end takes it; at the end of the run the inner one takes what nobody has taken.
    taken: Mutex<Receiver<Completion>>,
    /// Arrivals that are due.
    due: Sender<Due>,
    due_taken: Mutex<Receiver<Due>>,
    /// Rung when something is done, or due.
    bell: Notifier,
    /// The run is told to end from inside.
    ending: AtomicBool,
    users: AtomicU64,
}

impl BridgeState {
    fn is_due(&self, due: Due) {
        // Both ends are here.
        let _ = self.due.send(due);
        self.bell.ring();
    }

    fn take(&self, most: usize) -> Vec<Completion> {
        let done = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        done.try_iter().take(most).collect()
    }
}

/// The outer end of a bridge.
#[derive(Debug)]
pub struct Bridge {
    shared: Arc<BridgeState>,
    next: AtomicU64,
}

impl Bridge {
    /// A bridge to so many workers, and the maker of their drivers.
    ///
    /// # Errors
    /// When the kernel has no descriptor for a doorbell.
    pub fn new(workers: usize) -> io::Result<(Bridge, DriverMaker)> {
        let mut lanes = Vec::new();
        let mut ends = Vec::new();
        for _ in 0..workers {
            let (asked, end) = mpsc::channel();
            lanes.push(WorkerQueue {
                asked,
                bell: Notifier::new()?,
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
            bell: Notifier::new()?,
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
            let asked = ends.get_mut(given.worker).and_then(Option::take);
            Box::new(serve::BridgeDriver {
                shared: Arc::clone(&shared),
                lane: given.worker,
                asked,
                settings: given.client,
                schedule: given.arrives.then_some(given.schedule),
            })
        });
        Ok((bridge, maker))
    }

    /// Becomes readable when [`Bridge::take`] has something.
    #[must_use]
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.shared.bell.fd()
    }

    /// Sends a request; none where nobody takes orders any more. Each order is told once what became of it, unless it is cancelled.
    pub fn send(&self, order: Order) -> Option<Token> {
        let token = self.next.fetch_add(1, Ordering::Relaxed);
        let lane = self.lane_of(order.session);
        let is_taken = self.ask(lane, Command::Send(token, Box::new(order)), true);
        if !is_taken {
            self.shared.ending.store(true, Ordering::Relaxed);
        }
        is_taken.then_some(token)
    }

    /// Nobody waits for an order any more: its connection is closed, and it is counted as given up. Its answer may be on its way.
    pub fn cancel(&self, token: Token, session: SessionId) {
        self.ask(self.lane_of(session), Command::Cancel(token), true);
    }

    /// Puts a request into the ledger. Nobody is woken for it.
    pub fn settle(&self, settled: Settlement) {
        let lane = settled.account.lane;
        self.ask(lane, Command::Settle(Box::new(settled)), false);
    }

    /// Puts a request into the ledger that something else has made.
    pub fn foreign(&self, foreign: ExternalSample) {
        self.ask(0, Command::Foreign(Box::new(foreign)), false);
    }

    /// Closes the connections of a session that are not in use.
    pub fn close(&self, session: SessionId) {
        self.ask(self.lane_of(session), Command::Close(session), false);
    }

    /// How many virtual users run outside.
    pub fn has_users(&self, users: u64) {
        self.shared.users.store(users, Ordering::Relaxed);
    }

    /// At most so many of what is done; when there may be more the descriptor stays readable.
    pub fn take(&self, most: usize) -> Vec<Completion> {
        self.shared.bell.heard();
        let taken = self.shared.take(most);
        if taken.len() == most {
            self.shared.bell.ring();
        }
        taken
    }

    /// Arrivals that are due and that nobody has taken yet, in their order; asked for behind [`Bridge::take`], which hears the bell.
    pub fn arrivals(&self) -> Vec<Due> {
        let due = self
            .shared
            .due_taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        due.try_iter().collect()
    }

    /// Somebody takes an arrival up, to do what has this name.
    pub fn started(&self, due: Due, name: String) {
        self.ask(0, Command::Started(due, name), false);
    }

    /// An arrival that was taken up has ended, now.
    pub fn over(&self, number: u64, ended: RequestOutcome) {
        self.ask(0, Command::Over(number, ended, now_ns()), false);
    }

    /// No more arrivals are wanted, from the first on that nobody has asked for yet: whoever says so may have been about to for a while. What is
    /// due from then on was never planned.
    pub fn end_arrivals(&self) {
        let from_ns = self
            .arrivals()
            .first()
            .map_or_else(now_ns, |due| due.intended_ns);
        for lane in 0..self.shared.lanes.len() {
            self.ask(lane, Command::EndArrivals(from_ns), true);
        }
    }

    /// Whether the run has been told to end from inside: somebody pressed a button, a rule fired.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.shared.ending.load(Ordering::Relaxed)
    }

    /// Nothing more comes: what is under way is given up, and the run ends.
    pub fn end(&self) {
        for lane in 0..self.shared.lanes.len() {
            self.ask(lane, Command::End, true);
        }
    }

    fn lane_of(&self, session: SessionId) -> usize {
        (session % self.shared.lanes.len() as u64) as usize
    }

    /// Asks a worker; answers whether it is there. One that is gone is told of by the run's error.
    fn ask(&self, lane: usize, asked: Command, at_once: bool) -> bool {
        let lane = &self.shared.lanes[lane];
        let is_there = lane.asked.send(asked).is_ok();
        if at_once {
            lane.bell.ring();
        }
        is_there
    }
}

/// CLOCK_MONOTONIC now, for orders and settlements.
#[must_use]
pub fn now_ns() -> u64 {
    clock::monotonic_ns()
}

/// How an order's request is counted before its sender has spoken.
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
