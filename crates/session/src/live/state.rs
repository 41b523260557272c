//! Passes the newest state from the collector to live clients. The collector copies the run only if
//! a client is waiting. Results are computed once, on the clients' thread. Slow clients skip
//! states.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::Ordering},
};

use analysis::{
    live_snapshot,
    page::{self, Page},
};
use measure::{Interval, recent::Recent};
use record::Run;
use serde_json::json;

use super::{log::Log, steer::Steering};
use crate::latest::{Latest, RunSnapshot};

#[derive(Debug)]
pub struct LatestState {
    pub latest: Latest<LiveState>,
    recent: Mutex<Recent>,
    log: Log,
    steering: Steering,
}

#[derive(Debug)]
pub struct LiveState {
    pub number: u64,
    pub over: bool,
    pub run: Run,
    /// The most recently finished interval. `None` before the first interval has ended.
    interval: Option<Arc<Interval>>,
    log: Log,
    steering: Steering,
    page: OnceLock<Worked>,
    ticks: Mutex<BTreeMap<usize, Arc<str>>>,
}

#[derive(Debug)]
struct Worked {
    page: Page,
    text: Arc<str>,
    now: Arc<str>,
    cpu_ns: u64,
}

impl LatestState {
    /// Creates an empty state with this log and load control.
    pub fn with(log: Log, steering: Steering) -> LatestState {
        LatestState {
            latest: Latest::default(),
            recent: Mutex::default(),
            log,
            steering,
        }
    }

    pub fn steering(&self) -> &Steering {
        &self.steering
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    pub fn started(&self, run: &Run) {
        self.publish(run, None, false);
    }

    pub fn interval(&self, interval: &Arc<Interval>, run: &Run) {
        self.latest.count_interval();
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = Arc::new(recent.add(interval));
        if self.latest.waiting().load(Ordering::Relaxed) > 0 {
            self.publish(run, Some(recent), false);
        }
    }

    /// Marks the run as finished. The run must not change afterwards.
    pub fn over(&self, run: &Run) {
        let newest = self.latest.newest();
        let interval = newest.and_then(|state| state.interval.clone());
        self.publish(run, interval, true);
    }

    fn publish(&self, run: &Run, interval: Option<Arc<Interval>>, over: bool) {
        self.latest.publish(LiveState {
            number: self.latest.intervals(),
            over,
            run: run.clone(),
            interval,
            log: self.log.clone(),
            steering: self.steering.clone(),
            page: OnceLock::new(),
            ticks: Mutex::default(),
        });
    }
}

impl RunSnapshot for LiveState {
    fn number(&self) -> u64 {
        self.number
    }

    fn is_over(&self) -> bool {
        self.over
    }
}

impl LiveState {
    pub fn page(&self) -> Arc<str> {
        Arc::clone(&self.worked().text)
    }

    pub fn now(&self) -> Arc<str> {
        Arc::clone(&self.worked().now)
    }

    pub fn extent(&self) -> (u64, usize) {
        self.worked().page.extent()
    }

    /// Returns the changes for a client that already has the points before `from`, as JSON.
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

    /// Returns the locations of the record and the report, if they were written, as JSON.
    pub fn end(&self) -> String {
        let dir = self.run.dir.as_deref().map(|dir| {
            let whole = std::path::absolute(dir);
            whole.unwrap_or_else(|_| dir.to_owned())
        });
        let report = dir.as_ref().map(|dir| dir.join(report::derived::PAGE));
        json!({"record": dir, "report": report}).to_string()
    }

    pub fn cpu_ns(&self) -> u64 {
        self.worked().cpu_ns
    }

    fn worked(&self) -> &Worked {
        self.page.get_or_init(|| {
            let before = worker::clock::thread_cpu_ns();
            let page = page::build(&self.run);
            let text = serde_json::to_string(&page).unwrap_or_default().into();
            let newest = live_snapshot::latest(&self.run, self.interval.as_deref());
            let now = json!({
                "newest": newest,
                "log": self.log.with(&self.run.events),
                "load": self.steering.render(),
            });
            Worked {
                page,
                text,
                now: now.to_string().into(),
                cpu_ns: worker::clock::thread_cpu_ns().saturating_sub(before),
            }
        })
    }
}
