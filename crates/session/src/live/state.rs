//! How the run's newest figures get from the collector, which must never wait, to whoever looks at them. The collector copies the run
//! only when somebody waits for it; everything that is computed from the copy is computed on the watchers' own thread, once for all of
//! them, and only the newest copy is kept: who is slow misses some.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use analysis::{
    live_snapshot,
    page::{self, Page},
};
use measure::{Interval, recent::Recent};
use record::Run;
use serde_json::json;
use tokio::sync::watch;

use super::{log::Log, steer::Steering};

/// Where the newest copy is.
#[derive(Debug)]
pub struct LatestState {
    states: watch::Sender<Option<Arc<LiveState>>>,
    /// Intervals that the run has finished.
    intervals: AtomicU64,
    /// The newest second, which is what watchers are shown.
    recent: Mutex<Recent>,
    /// Watchers that wait for the next copy.
    waiting: AtomicUsize,
    /// What was said meanwhile.
    log: Log,
    /// What may be changed.
    steering: Steering,
}

/// The run at the end of an interval.
#[derive(Debug)]
pub struct LiveState {
    /// So many intervals were finished.
    pub number: u64,
    /// Whether it is over.
    pub over: bool,
    /// All of it.
    pub run: Run,
    /// The interval that had ended; none before the first.
    interval: Option<Arc<Interval>>,
    log: Log,
    steering: Steering,
    page: OnceLock<Worked>,
    /// What was written for watchers that know the points up to the key.
    ticks: Mutex<BTreeMap<usize, Arc<str>>>,
}

/// The page of a state, and what it took to make it.
#[derive(Debug)]
struct Worked {
    page: Page,
    text: Arc<str>,
    now: Arc<str>,
    cpu_ns: u64,
}

impl LatestState {
    /// Nothing yet; what is said of the run will be in `log`, and what may be changed of it is asked of `steering`.
    pub fn with(log: Log, steering: Steering) -> LatestState {
        LatestState {
            states: watch::Sender::new(None),
            intervals: AtomicU64::new(0),
            recent: Mutex::default(),
            waiting: AtomicUsize::new(0),
            log,
            steering,
        }
    }

    /// What may be changed.
    pub fn steering(&self) -> &Steering {
        &self.steering
    }

    /// What was said meanwhile.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The run is about to start.
    pub fn started(&self, run: &Run) {
        self.publish(run, None, false);
    }

    /// An interval is complete.
    pub fn interval(&self, interval: &Arc<Interval>, run: &Run) {
        self.intervals.fetch_add(1, Ordering::Relaxed);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = Arc::new(recent.add(interval));
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.publish(run, Some(recent), false);
        }
    }

    /// The run is over, and will not change again.
    pub fn over(&self, run: &Run) {
        let newest = self.states.borrow();
        let interval = newest.as_ref().and_then(|state| state.interval.clone());
        drop(newest);
        self.publish(run, interval, true);
    }

    fn publish(&self, run: &Run, interval: Option<Arc<Interval>>, over: bool) {
        let state = LiveState {
            number: self.intervals.load(Ordering::Relaxed),
            over,
            run: run.clone(),
            interval,
            log: self.log.clone(),
            steering: self.steering.clone(),
            page: OnceLock::new(),
            ticks: Mutex::default(),
        };
        self.states.send_replace(Some(Arc::new(state)));
    }

    /// For a watcher.
    pub fn watch(&self) -> watch::Receiver<Option<Arc<LiveState>>> {
        self.states.subscribe()
    }

    /// The run as it is, once it is further than `than`: at the end of the interval under way, at the latest. None when it will
    /// never be.
    pub async fn newer(
        &self,
        states: &mut watch::Receiver<Option<Arc<LiveState>>>,
        than: Option<u64>,
    ) -> Option<Arc<LiveState>> {
        let _waiting = PendingState::begin(&self.waiting);
        loop {
            let state = states.borrow_and_update().clone();
            let fresh = |state: &Arc<LiveState>| {
                let is_last = state.number >= self.intervals.load(Ordering::Relaxed);
                state.over || is_last && than.is_none_or(|than| state.number > than)
            };
            if let Some(state) = state.filter(fresh) {
                return Some(state);
            }
            states.changed().await.ok()?;
        }
    }

    /// Comes back when the run is over, or will never be.
    pub async fn ended(&self) {
        let mut states = self.states.subscribe();
        let over = |state: &Option<Arc<LiveState>>| state.as_ref().is_some_and(|state| state.over);
        let _ = states.wait_for(over).await;
    }
}

impl LiveState {
    /// The page as JSON.
    pub fn page(&self) -> Arc<str> {
        Arc::clone(&self.worked().text)
    }

    /// As JSON, what the newest interval was like, the log, and what may be changed.
    pub fn now(&self) -> Arc<str> {
        Arc::clone(&self.worked().now)
    }

    /// The width and the number of the series' points.
    pub fn extent(&self) -> (u64, usize) {
        self.worked().page.extent()
    }

    /// As JSON, what is new for a page that has the points up to this one.
    pub fn tick(&self, from: usize) -> Arc<str> {
        let mut ticks = self.ticks.lock().unwrap_or_else(PoisonError::into_inner);
        let text = ticks.entry(from).or_insert_with(|| {
            let tick = page::tick(&self.worked().page, from);
            tick.and_then(|tick| serde_json::to_string(&tick))
                .unwrap_or_default()
                .into()
        });
        Arc::clone(text)
    }

    /// As JSON, where the run's record and its report will be once they are written; nowhere when nothing could be written.
    pub fn end(&self) -> String {
        let dir = self.run.dir.as_deref().map(|dir| {
            let whole = std::path::absolute(dir);
            whole.unwrap_or_else(|_| dir.to_owned())
        });
        let report = dir.as_ref().map(|dir| dir.join(report::derived::PAGE));
        json!({"record": dir, "report": report}).to_string()
    }

    /// CPU time that it took to compute the page.
    pub fn cpu_ns(&self) -> u64 {
        self.worked().cpu_ns
    }

    fn worked(&self) -> &Worked {
        self.page.get_or_init(|| {
            let before = engine::clock::thread_cpu_ns();
            let page = page::build(&self.run);
            let text = serde_json::to_string(&page).unwrap_or_default().into();
            let newest = live_snapshot::latest(&self.run, self.interval.as_deref());
            let now = json!({
                "newest": newest,
                "log": self.log.with(&self.run.events),
                "load": self.steering.shown(),
            });
            Worked {
                page,
                text,
                now: now.to_string().into(),
                cpu_ns: engine::clock::thread_cpu_ns().saturating_sub(before),
            }
        })
    }
}

/// Counts a watcher as waiting until it is dropped: also when it goes away meanwhile.
struct PendingState<'a>(&'a AtomicUsize);

impl PendingState<'_> {
    fn begin(count: &AtomicUsize) -> PendingState<'_> {
        count.fetch_add(1, Ordering::Relaxed);
        PendingState(count)
    }
}

impl Drop for PendingState<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
