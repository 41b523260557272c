//! The batch driver, which works like a raw HTTP benchmark. Each connection sends batches from a
//! source and waits for all responses, either at a pace or as fast as possible.

mod connection;
mod ledger;
mod pace;

use std::{
    cell::{Cell, RefCell},
    net::SocketAddr,
    pin::Pin,
    rc::Rc,
};

use measure::{LabelId, accumulator::Event, sample::Intended};

use super::Driver;
use codec::{
    Origin,
    reply::{Keep, Reply},
};
use connection::Connection;
use ledger::BatchRecorder;
pub use pace::{BatchPace, Drawn, Turns};
use worker::{
    Worker,
    client::{Client, HttpClientConfig},
    deadlines::{Limit, TICK_NS},
    stop::Urgency,
};

/// Creates batches of requests and receives their responses. Each worker has one source.
pub trait BatchSource {
    /// Fills in the next batch of a connection. `batch` still contains the previous batch. Returns
    /// `false` if no batches remain.
    fn next(&mut self, connection: usize, batch: &mut Batch) -> bool;

    /// Returns how long a connection pauses before its next batch, in nanoseconds. `None` means
    /// that connections never pause.
    fn pause_ns(&mut self, connection: usize) -> Option<u64> {
        let _ = connection;
        None
    }

    /// Returns the address for a new connection. `None` means that the driver looks up the origin's
    /// name.
    fn address(&mut self) -> Option<SocketAddr> {
        None
    }

    /// Returns the parts of the next responses that the source needs. Called again after
    /// [`BatchSource::answered`], which may change the answer.
    fn keep(&mut self) -> Keep {
        Keep::Body
    }

    /// Receives a response, if the batch needs any part of it. Returns `false` to stop all
    /// connections of this worker.
    fn answered(&mut self, connection: usize, reply: &Reply) -> bool {
        let _ = (connection, reply);
        true
    }
}

/// The next requests of a connection.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The encoded requests.
    pub bytes: Vec<u8>,
    /// Number of expected responses.
    pub answers: u32,
    /// Indexes of HEAD requests in the batch, from 0.
    pub heads: Vec<u32>,
    /// Parts of the responses that the source needs.
    pub keep: Keep,
}

/// Drives the raw connections of one worker.
pub struct BatchDriver {
    /// Settings of the HTTP client.
    pub settings: HttpClientConfig,
    /// The origin to connect to.
    pub origin: Origin,
    /// Number of connections of this worker.
    pub connections: usize,
    /// Time after which no request starts, in nanoseconds of the run.
    pub until_ns: u64,
    /// Label of the samples.
    pub label: LabelId,
    /// Whether to accept a response after the timeout. Even then, the driver fails after several
    /// timeouts without data.
    pub patient: bool,
    /// Pace of the requests, and the label of their iterations. Each paced request is an iteration.
    pub pace: Option<(BatchPace, LabelId)>,
    /// Source of the batches.
    pub source: Rc<RefCell<dyn BatchSource>>,
}

impl Driver for BatchDriver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let shared = Rc::new(BatchState::new(*self, worker));
            shared.watch_backlog();
            let worker = &shared.worker;
            let now = worker.clock.now();
            worker.recorder.borrow_mut().frontend(now, &Event::Begin);
            for connection in 0..shared.driver.connections {
                let limit = Rc::new(Limit::default());
                let place = worker.enter(&limit);
                let shared = Rc::clone(&shared);
                tokio::task::spawn_local(async move {
                    let _entered = Entered {
                        worker: &shared.worker,
                        place,
                    };
                    shared.connection(connection, &limit).await;
                });
            }
            shared.end().await;
        })
    }
}

struct Entered<'a> {
    worker: &'a Worker,
    place: usize,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.worker.leave(self.place);
    }
}

struct BatchState {
    driver: BatchDriver,
    worker: Rc<Worker>,
    ledger: BatchRecorder,
    client: Client,
    turns: RefCell<Vec<Turn>>,
    keep: Cell<Keep>,
    done: Cell<bool>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    taken: u64,
    /// Whether the connection is waiting for responses. Requests that become due then wait for the
    /// connection, which does not count as lateness.
    busy: bool,
}

/// First back-off after a failed connect, in nanoseconds. It doubles each time.
const BACK_OFF_NS: u64 = 10_000_000;
const DOUBLED: u32 = 7;

impl BatchState {
    fn new(driver: BatchDriver, worker: Rc<Worker>) -> BatchState {
        let turns = vec![Turn::default(); driver.connections];
        BatchState {
            ledger: BatchRecorder {
                worker: Rc::clone(&worker),
                label: driver.label,
                iteration: driver.pace.as_ref().map(|(_, label)| *label),
            },
            client: Client::new(&worker, driver.settings.clone()).only_counting(),
            driver,
            worker,
            turns: RefCell::new(turns),
            keep: Cell::default(),
            done: Cell::new(false),
        }
    }

    fn timeout_ns(&self) -> Option<u64> {
        self.client.http().timeouts.total_ns
    }

    fn arm(&self, now: u64, limit: &Rc<Limit>) {
        if let Some(ns) = self.timeout_ns() {
            let mut deadlines = self.worker.deadlines.borrow_mut();
            deadlines.limit(limit, now.saturating_add(ns));
        }
    }

    fn watch_backlog(self: &Rc<BatchState>) {
        let Some((pace, _)) = self.driver.pace.clone() else {
            return;
        };
        let shared = Rc::downgrade(self);
        let until = self.driver.until_ns;
        let waiting = move |now: u64| {
            let Some(shared) = shared.upgrade() else {
                return 0;
            };
            let turns = shared.turns.borrow();
            let busy = turns.iter().enumerate().filter(|(_, turn)| turn.busy);
            let waiting = |(connection, turn): (usize, &Turn)| {
                pace.due(connection, now.min(until))
                    .saturating_sub(turn.taken)
            };
            busy.map(waiting).sum()
        };
        *self.worker.backlog.borrow_mut() = Some(Box::new(waiting));
    }

    async fn end(&self) {
        let worker = &self.worker;
        let never = Limit::default();
        let mut end = self.driver.until_ns;
        loop {
            let now = worker.clock.now();
            if worker.apply_stop(now) > Urgency::None || now >= end {
                break;
            }
            let _ = worker.sleep_until(end.min(now + TICK_NS), &never).await;
        }
        end = worker
            .clock
            .now()
            .saturating_add(worker.common.drain_ns.unwrap_or(0));
        while worker.users.get() > 0 {
            let now = worker.clock.now();
            if worker.apply_stop(now) > Urgency::None || now >= end {
                worker.abort();
            }
            let look_at = now + TICK_NS / 10;
            let _ = worker.sleep_until(look_at, &never).await;
        }
        let now = worker.clock.now();
        worker.backlog.borrow_mut().take();
        worker.recorder.borrow_mut().frontend(now, &Event::End);
    }

    async fn connection(&self, number: usize, limit: &Rc<Limit>) {
        let mut line = Connection::new(number);
        let mut refused = 0u32;
        line.free_at = self.worker.clock.now();
        while let Some(due) = self.due(&mut line, limit).await {
            match line.batch(self, due, limit).await {
                connection::BatchResult::Answered => refused = 0,
                // The server accepted the connection, so reopen it immediately.
                connection::BatchResult::Broken => refused = 0,
                connection::BatchResult::Finished => break,
                connection::BatchResult::Refused => {
                    let pause = BACK_OFF_NS << refused.min(DOUBLED);
                    refused += 1;
                    let until = line.free_at.saturating_add(pause);
                    let _ = self.worker.sleep_until(until, limit).await;
                    line.free_at = self.worker.clock.now();
                }
            }
        }
    }

    /// Waits until a connection's next batch is due. Returns `None` if no batches remain.
    async fn due(&self, line: &mut Connection, limit: &Rc<Limit>) -> Option<Due> {
        let worker = &self.worker;
        if self.done.get() || limit.is_aborted() {
            return None;
        }
        let free_at = line.free_at;
        let Some((pace, _)) = &self.driver.pace else {
            let pause = self.driver.source.borrow_mut().pause_ns(line.number);
            let Some(pause) = pause.filter(|ns| *ns > 0) else {
                return (free_at < self.driver.until_ns).then(|| Due {
                    intended: Intended::after_previous(free_at, 0),
                    started: free_at,
                });
            };
            let intended = Intended::after_previous(free_at, pause);
            if intended.ns() >= self.driver.until_ns {
                return None;
            }
            worker.sleep_until(intended.ns(), limit).await.ok()?;
            return Some(Due {
                intended,
                started: worker.clock.now(),
            });
        };
        let now = free_at.max(worker.clock.now());
        if now >= self.driver.until_ns || self.is_behind_the_end(now) {
            return None;
        }
        let taken = self.turns.borrow()[line.number].taken;
        let intended = pace.intended(line.number, taken);
        if intended >= self.driver.until_ns || self.is_behind_the_end(intended) {
            return None;
        }
        let started = if free_at < intended {
            worker.sleep_until(intended, limit).await.ok()?;
            if self.is_behind_the_end(intended) {
                return None;
            }
            worker.clock.now()
        } else {
            // The request has waited for its connection since it became due.
            intended
        };
        Some(Due {
            intended: Intended::scheduled(intended),
            started,
        })
    }

    /// Returns whether the run was stopped before the intended start, so that the request does not
    /// count as planned.
    fn is_behind_the_end(&self, intended_ns: u64) -> bool {
        let end = self.worker.recorder.borrow().arrivals_end_ns();
        end.is_some_and(|end| intended_ns >= end)
    }

    fn left_of_plan(&self, connection: usize) -> u32 {
        let Some((pace, _)) = &self.driver.pace else {
            return u32::MAX;
        };
        let taken = self.turns.borrow()[connection].taken;
        let left = pace.due(connection, self.driver.until_ns);
        u32::try_from(left.saturating_sub(taken)).unwrap_or(u32::MAX)
    }
}

#[derive(Debug, Clone, Copy)]
struct Due {
    intended: Intended,
    started: u64,
}
