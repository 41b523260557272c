//! How the workers of a process run one test together.
//!
//! Each worker has its own virtual users, samples and connections. The first worker, the leader,
//! also calls `setup`, `teardown` and `handleSummary`, samples gauges, and evaluates thresholds.
//! Workers wait for each other at the start of the load and at its end. In between, they share
//! counters, which take a few atomic operations per iteration, and arrivals for which a worker has
//! no idle virtual user. Requests share nothing, unless option `rps` is set.

use std::{
    future::poll_fn,
    pin::pin,
    rc::Rc,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    task::Poll,
};

use k6::aggregate::Aggregator;
use plan::units::SECOND;
use tokio::sync::watch;
use worker::{
    Worker,
    deadlines::{Limit, TICK_NS},
    stop::{StopHandle, Urgency},
};

use crate::exchange::ArrivalExchange;

/// How long workers wait for others after all work was aborted.
const ABORT_NS: u64 = SECOND;

/// When the load starts, and with what.
#[derive(Debug, Clone)]
pub struct Start {
    /// Start of the executors in nanoseconds from the start of the run.
    pub base_ns: u64,
    /// What `setup` returned, as JSON.
    pub data: Option<Arc<str>>,
}

/// What the workers of a process share.
pub struct Team {
    /// Workers whose virtual users are initialised.
    initialized: AtomicUsize,
    /// Workers that have ended.
    ended: AtomicUsize,
    /// `None` inside means that the load does not start.
    start: OnceLock<Option<Start>>,
    /// Tells waiting workers that one of the fields above has changed.
    changes: watch::Sender<()>,
    /// Samples that workers have handed in.
    samples: Mutex<Option<Aggregator>>,
    /// Virtual users that exist or are being initialised.
    vus: AtomicU64,
    /// When the next request may be sent, by option `rps`.
    next_request_ns: AtomicU64,
    /// Iterations of closed loops that could not start.
    unstarted: AtomicU64,
    /// What the workers share about each scenario.
    pub scenarios: Vec<ScenarioTeam>,
}

/// What the workers of a process share about a scenario.
#[derive(Default)]
pub struct ScenarioTeam {
    /// Workers that have ended the scenario.
    ended: AtomicUsize,
    /// Whether a worker has warned that there are too few virtual users.
    has_warned: AtomicBool,
    /// Idle virtual users of all workers.
    pub exchange: ArrivalExchange,
}

impl ScenarioTeam {
    /// Whether no worker has warned before that there are too few virtual users.
    pub fn is_first_warning(&self) -> bool {
        !self.has_warned.swap(true, SeqCst)
    }

    /// Notes that a worker has ended the scenario. Returns whether it is the last one.
    pub fn is_last_to_end(&self, workers: usize) -> bool {
        self.ended.fetch_add(1, SeqCst) + 1 >= workers
    }
}

/// A worker's membership. Dropping it notes that the worker has ended, also after a panic, so that
/// the leader does not wait for it.
pub struct Member {
    team: Arc<Team>,
    stop: StopHandle,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.team.ended.fetch_add(1, SeqCst);
        if std::thread::panicking() {
            // The other workers may wait for this one.
            let _ = self.team.start.set(None);
            self.stop.fail("a worker crashed");
        }
        self.team.changes.send_replace(());
    }
}

impl Team {
    pub fn new(scenarios: usize) -> Arc<Team> {
        Arc::new(Team {
            initialized: AtomicUsize::default(),
            ended: AtomicUsize::default(),
            start: OnceLock::new(),
            changes: watch::Sender::default(),
            samples: Mutex::default(),
            vus: AtomicU64::default(),
            next_request_ns: AtomicU64::default(),
            unstarted: AtomicU64::default(),
            scenarios: (0..scenarios).map(|_| ScenarioTeam::default()).collect(),
        })
    }

    pub fn join(self: &Arc<Self>, worker: &Worker) -> Member {
        Member {
            team: Arc::clone(self),
            stop: worker.common.stop.clone(),
        }
    }

    /// Returns the number of a new virtual user, from 1.
    pub fn next_vu(&self) -> u64 {
        self.vus.fetch_add(1, SeqCst) + 1
    }

    /// Adds iterations of closed loops that could not start.
    pub fn add_unstarted(&self, unstarted: u64) {
        self.unstarted.fetch_add(unstarted, SeqCst);
    }

    pub fn unstarted(&self) -> u64 {
        self.unstarted.load(SeqCst)
    }

    /// Reserves the next moment at which option `rps` allows a request.
    pub fn reserve_request(&self, now_ns: u64, gap_ns: u64) -> u64 {
        let next = |next_ns: u64| Some(next_ns.max(now_ns).saturating_add(gap_ns));
        let before_ns = self.next_request_ns.fetch_update(SeqCst, SeqCst, next);
        before_ns.unwrap_or_default().max(now_ns)
    }

    /// Forgets reservations of requests that were not sent, because their iterations were
    /// interrupted.
    pub fn forget_reserved_requests(&self, now_ns: u64) {
        self.next_request_ns.store(now_ns, SeqCst);
    }

    /// Notes that the planned virtual users of a worker exist.
    pub fn note_initialized(&self) {
        self.initialized.fetch_add(1, SeqCst);
        self.changes.send_replace(());
    }

    /// Waits until all workers are initialised. Returns false if the run is stopped before.
    pub async fn all_initialized(&self, worker: &Worker) -> bool {
        let are_ready = || self.initialized.load(SeqCst) >= worker.workers;
        self.wait(worker, || are_ready() || worker.arrivals_end.is_aborted())
            .await;
        are_ready()
    }

    /// Starts the load of all workers. `None` means that it does not start.
    pub fn start(&self, start: Option<Start>) {
        // Only the leader decides, and a panic of another worker, which ends the run.
        let _ = self.start.set(start);
        self.changes.send_replace(());
    }

    /// Waits for the leader's decision. `None` means that the load does not start.
    pub async fn started(&self, worker: &Worker) -> Option<Start> {
        self.wait(worker, || self.start.get().is_some()).await;
        self.start.get().cloned().flatten()
    }

    /// Returns what `setup` returned, as JSON.
    pub fn setup_data(&self) -> Option<Arc<str>> {
        self.start.get()?.as_ref()?.data.clone()
    }

    /// Waits until all workers but the leader have ended, or until the run must end at once.
    pub async fn others_ended(&self, worker: &Worker) {
        self.wait(worker, || self.ended.load(SeqCst) + 1 >= worker.workers)
            .await;
    }

    /// Waits for a condition that changes together with `changes`. Workers that have aborted their
    /// work have a limited time, because one of them may not end.
    async fn wait(&self, worker: &Worker, is_met: impl Fn() -> bool) {
        let mut changes = self.changes.subscribe();
        let mut last_ns = None;
        while !is_met() {
            let now_ns = worker.clock.now();
            if worker.common.stop.urgency() == Urgency::Abort {
                let last_ns = *last_ns.get_or_insert(now_ns.saturating_add(ABORT_NS));
                if now_ns >= last_ns {
                    return;
                }
            }
            let limit = Rc::<Limit>::default();
            let mut tick = pin!(worker.sleep_until(now_ns + TICK_NS, &limit));
            let mut changed = pin!(changes.changed());
            poll_fn(|cx| {
                let is_ready =
                    changed.as_mut().poll(cx).is_ready() || tick.as_mut().poll(cx).is_ready();
                match is_ready {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                }
            })
            .await;
        }
    }

    /// Returns the samples that workers have handed in.
    pub fn samples(&self) -> MutexGuard<'_, Option<Aggregator>> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds samples of a worker.
    pub fn hand_in(&self, samples: Aggregator) {
        let mut all = self.samples();
        match all.as_mut() {
            Some(all) => all.merge(&samples),
            None => *all = Some(samples),
        }
    }
}
