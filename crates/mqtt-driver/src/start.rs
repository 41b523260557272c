//! Decides when publishing starts: once all subscriptions are answered, but not before the planned
//! time. All workers agree on one time.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use crate::client_config::ReceiverFilter;

#[derive(Debug, Default)]
pub(crate) struct Together {
    workers: AtomicU64,
    registered: AtomicU64,
    pending: AtomicU64,
    delay: AtomicU64,
    refused: Mutex<HashSet<ReceiverFilter>>,
    has_refused: AtomicBool,
    deliveries: Mutex<BTreeMap<u64, Deliveries>>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Deliveries {
    pub expected: u64,
    pub received: u64,
}

impl Together {
    pub fn register(&self, workers: u64, subscribing: u64) {
        self.workers.store(workers, Ordering::Relaxed);
        self.pending.fetch_add(subscribing, Ordering::Relaxed);
        self.registered.fetch_add(1, Ordering::Release);
    }

    pub fn settled(&self) {
        self.pending.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the number of clients that are not ready.
    pub fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed)
    }

    pub fn is_settled(&self) -> bool {
        let registered = self.registered.load(Ordering::Acquire);
        registered > 0
            && registered >= self.workers.load(Ordering::Relaxed)
            && self.pending.load(Ordering::Relaxed) == 0
    }

    pub fn agree(&self, delay_ns: u64) -> (u64, bool) {
        let wanted = delay_ns.saturating_add(1);
        let order = Ordering::Relaxed;
        match self.delay.compare_exchange(0, wanted, order, order) {
            Ok(_) => (delay_ns, true),
            Err(agreed) => (agreed - 1, false),
        }
    }

    pub fn is_all_of(&self, shards: u64) -> bool {
        self.workers.load(Ordering::Relaxed) == shards
    }

    pub fn refuse(&self, refused_filter: ReceiverFilter) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.insert(refused_filter);
        self.has_refused.store(true, Ordering::Release);
    }

    pub fn is_refused(&self, receiver: &ReceiverFilter) -> bool {
        if !self.has_refused.load(Ordering::Acquire) {
            return false;
        }
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.contains(receiver)
    }

    pub fn deliveries(&self, worker: u64, own: Deliveries) -> Deliveries {
        let all = &self.deliveries;
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(worker, own);
        let sum = |of: fn(&Deliveries) -> u64| all.values().map(of).sum();
        Deliveries {
            expected: sum(|of| of.expected),
            received: sum(|of| of.received),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishing_waits_for_every_worker_and_every_subscription() {
        let together = Together::default();
        assert!(!together.is_settled());
        together.register(2, 0);
        assert!(!together.is_settled(), "the second worker may subscribe");
        together.register(2, 2);
        together.settled();
        assert!(!together.is_settled());
        together.settled();
        assert!(together.is_settled());
    }

    #[test]
    fn workers_agree_on_one_delay() {
        let together = Together::default();
        assert_eq!(together.agree(0), (0, true));
        assert_eq!(together.agree(7), (0, false));
    }

    #[test]
    fn deliveries_of_all_workers_add_up() {
        let together = Together::default();
        let of = |expected, received| Deliveries { expected, received };
        together.deliveries(0, of(10, 0));
        together.deliveries(1, of(0, 4));
        let all = together.deliveries(1, of(0, 9));
        assert_eq!((all.expected, all.received), (10, 9));
    }
}
