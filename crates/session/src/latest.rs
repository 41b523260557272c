//! The newest state of a run, for clients that wait for it. A state is copied only while a client
//! is waiting, and slow clients skip states.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use tokio::sync::watch;

/// The state of a run at the end of an interval.
pub(crate) trait RunSnapshot {
    /// Returns the number of intervals that the state contains.
    fn number(&self) -> u64;
    /// Returns whether the run has ended.
    fn is_over(&self) -> bool;
}

#[derive(Debug)]
pub(crate) struct Latest<T> {
    states: watch::Sender<Option<Arc<T>>>,
    intervals: AtomicU64,
    waiting: Arc<AtomicUsize>,
}

impl<T> Default for Latest<T> {
    fn default() -> Latest<T> {
        Latest {
            states: watch::Sender::new(None),
            intervals: AtomicU64::default(),
            waiting: Arc::default(),
        }
    }
}

impl<T: RunSnapshot> Latest<T> {
    /// Counts an interval, which makes the states before it outdated.
    pub fn count_interval(&self) {
        self.intervals.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of intervals.
    pub fn intervals(&self) -> u64 {
        self.intervals.load(Ordering::Relaxed)
    }

    /// Returns the number of waiting clients.
    pub fn waiting(&self) -> &Arc<AtomicUsize> {
        &self.waiting
    }

    /// Publishes a state.
    pub fn publish(&self, state: T) {
        self.states.send_replace(Some(Arc::new(state)));
    }

    /// Returns the state that was published last.
    pub fn newest(&self) -> Option<Arc<T>> {
        self.states.borrow().clone()
    }

    /// Subscribes to the published states.
    pub fn watch(&self) -> watch::Receiver<Option<Arc<T>>> {
        self.states.subscribe()
    }

    /// Waits for the next state after `than`, but at most until the current interval ends. Returns
    /// `None` if the run has no later state.
    pub async fn newer(
        &self,
        states: &mut watch::Receiver<Option<Arc<T>>>,
        than: Option<u64>,
    ) -> Option<Arc<T>> {
        let _waiting = WaitingClient::begin(&self.waiting);
        loop {
            let state = states.borrow_and_update().clone();
            let fresh = |state: &Arc<T>| {
                let is_last = state.number() >= self.intervals();
                state.is_over() || is_last && than.is_none_or(|than| state.number() > than)
            };
            if let Some(state) = state.filter(fresh) {
                return Some(state);
            }
            states.changed().await.ok()?;
        }
    }

    /// Waits until the run has ended, or will certainly not start.
    pub async fn ended(&self) {
        let mut states = self.states.subscribe();
        let over = |state: &Option<Arc<T>>| state.as_ref().is_some_and(|state| state.is_over());
        let _ = states.wait_for(over).await;
    }
}

struct WaitingClient<'a>(&'a AtomicUsize);

impl WaitingClient<'_> {
    fn begin(count: &AtomicUsize) -> WaitingClient<'_> {
        count.fetch_add(1, Ordering::Relaxed);
        WaitingClient(count)
    }
}

impl Drop for WaitingClient<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
