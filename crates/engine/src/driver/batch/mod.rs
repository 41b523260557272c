//! The batch driver: so many connections, each sending what a source gives it - one request, or several at once - and waiting for
//! as many answers. No virtual users, no variables: the shape of a raw HTTP benchmark, as fast as answers come or at a pace.

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
use crate::{
    client::{Client, Settings},
    deadlines::{Limit, TICK_NS},
    stop::Urgency,
    worker::Worker,
};
use codec::{
    Origin,
    reply::{Keep, Reply},
};
use connection::Connection;
use ledger::Ledger;
pub use pace::{Drawn, Pace, Turns};

/// Where a batch's bytes come from, and who looks at answers. One per worker.
pub trait Source {
    /// Fills in what a connection sends next; what the batch holds from the last time may be left as it is. False: it is done.
    fn next(&mut self, connection: usize, batch: &mut Batch) -> bool;

    /// How long a connection waits before its next batch; none: it never waits.
    fn pause_ns(&mut self, connection: usize) -> Option<u64> {
        let _ = connection;
        None
    }

    /// At which address a connection is opened, asked each time that one is; none: the origin's name is looked up.
    fn address(&mut self) -> Option<SocketAddr> {
        None
    }

    /// What somebody will look at of answers of which nothing has been read yet. Asked behind [`Source::answered`], which may
    /// have changed it.
    fn keep(&mut self) -> Keep {
        Keep::Body
    }

    /// An answer came. Called only where the batch asks for anything of it. False: no
    /// connection of this worker sends anything more.
    fn answered(&mut self, connection: usize, reply: &Reply) -> bool {
        let _ = (connection, reply);
        true
    }
}

/// What a connection sends next.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many answers will come.
    pub answers: u32,
    /// Which of them are to HEAD requests, by their number from 0; usually none.
    pub heads: Vec<u32>,
    /// What of the answers somebody looks at.
    pub keep: Keep,
}

/// The driver.
pub struct BatchDriver {
    /// What its client needs.
    pub settings: Settings,
    /// Whom to connect to.
    pub origin: Origin,
    /// How many connections this worker has.
    pub connections: usize,
    /// No new request begins after this.
    pub until_ns: u64,
    /// Where its samples go.
    pub label: LabelId,
    /// An answer that takes longer than the time-out is still taken, as long as the server is not silent for several of them.
    pub patient: bool,
    /// At a pace: where the iterations go, of which every request is one.
    pub pace: Option<(Pace, LabelId)>,
    /// What to send.
    pub source: Rc<RefCell<dyn Source>>,
}

impl Driver for BatchDriver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let shared = Rc::new(Shared::new(*self, worker));
            shared.watch_backlog();
            let worker = &shared.worker;
            let now = worker.clock.now();
            worker.recorder.borrow_mut().door(now, &Event::Begin);
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

/// A connection's place among those under way, given back whatever becomes of its task.
struct Entered<'a> {
    worker: &'a Worker,
    place: usize,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.worker.leave(self.place);
    }
}

/// What all connections of a worker share.
struct Shared {
    driver: BatchDriver,
    worker: Rc<Worker>,
    ledger: Ledger,
    client: Client,
    /// By connection.
    turns: RefCell<Vec<Turn>>,
    /// What of answers somebody looks at, by now.
    keep: Cell<Keep>,
    /// The source wants no more of any connection.
    done: Cell<bool>,
}

/// How far a paced connection has got.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    /// Requests taken up.
    taken: u64,
    /// Whether answers are awaited: then what is due waits for its connection, and not for us.
    busy: bool,
}

/// A connection that could not be opened is tried anew after this long, doubled each time.
const BACK_OFF_NS: u64 = 10_000_000;
const DOUBLED: u32 = 7;

impl Shared {
    fn new(driver: BatchDriver, worker: Rc<Worker>) -> Shared {
        let turns = vec![Turn::default(); driver.connections];
        Shared {
            ledger: Ledger {
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

    /// How long a batch may take.
    fn timeout_ns(&self) -> Option<u64> {
        self.client.http().timeouts.total_ns
    }

    /// Sets the time-out of what begins now.
    fn arm(&self, now: u64, limit: &Rc<Limit>) {
        if let Some(ns) = self.timeout_ns() {
            let mut deadlines = self.worker.deadlines.borrow_mut();
            deadlines.limit(limit, now.saturating_add(ns));
        }
    }

    /// Has requests that are due and wait for their connection counted as under way.
    fn watch_backlog(self: &Rc<Shared>) {
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

    /// Waits for the end of the test, then for what is under way, as long as the run allows.
    async fn end(&self) {
        let worker = &self.worker;
        // A worker that is done with its own waits with the others.
        let never = Limit::default();
        let mut end = self.driver.until_ns;
        loop {
            let now = worker.clock.now();
            if worker.heed_stop(now) > Urgency::None || now >= end {
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
            if worker.heed_stop(now) > Urgency::None || now >= end {
                worker.abort();
            }
            let look_at = now + TICK_NS / 10;
            let _ = worker.sleep_until(look_at, &never).await;
        }
        let now = worker.clock.now();
        worker.backlog.borrow_mut().take();
        worker.recorder.borrow_mut().door(now, &Event::End);
    }

    async fn connection(&self, number: usize, limit: &Rc<Limit>) {
        let mut line = Connection::new(number);
        let mut refused = 0u32;
        line.free_at = self.worker.clock.now();
        while let Some(due) = self.due(&mut line, limit).await {
            match line.batch(self, due, limit).await {
                connection::Ended::Answered => refused = 0,
                // The server accepted it: what it does to connections is what is measured, so it is opened anew at once.
                connection::Ended::Broken => refused = 0,
                connection::Ended::Finished => break,
                connection::Ended::Refused => {
                    let pause = BACK_OFF_NS << refused.min(DOUBLED);
                    refused += 1;
                    let until = line.free_at.saturating_add(pause);
                    let _ = self.worker.sleep_until(until, limit).await;
                    line.free_at = self.worker.clock.now();
                }
            }
        }
    }

    /// Waits until a connection's next batch is due; none: it sends no more.
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
                // Nothing of this connection's is under way: nobody has to wait for it.
                return None;
            }
            worker.sleep_until(intended.ns(), limit).await.ok()?;
            return Some(Due {
                intended,
                started: worker.clock.now(),
            });
        };
        // What was not sent by the end of the load is not sent afterwards. The ledger has it as unsent:
        // it was planned and never started.
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
            // It was due while the last answer was still awaited: from that moment on it has waited for its connection.
            intended
        };
        Some(Due {
            intended: Intended::scheduled(intended),
            started,
        })
    }

    /// Whether the run was told to end before a moment: what is due from then on was never planned.
    fn is_behind_the_end(&self, intended_ns: u64) -> bool {
        let end = self.worker.recorder.borrow().arrivals_end_ns();
        end.is_some_and(|end| intended_ns >= end)
    }

    /// How many arrivals the plan still has for a connection; of one that is not paced, as many as it likes.
    fn left_of_plan(&self, connection: usize) -> u32 {
        let Some((pace, _)) = &self.driver.pace else {
            return u32::MAX;
        };
        let taken = self.turns.borrow()[connection].taken;
        let left = pace.due(connection, self.driver.until_ns);
        u32::try_from(left.saturating_sub(taken)).unwrap_or(u32::MAX)
    }
}

/// When a batch is due, and when the worker turned to it.
#[derive(Debug, Clone, Copy)]
struct Due {
    intended: Intended,
    started: u64,
}
