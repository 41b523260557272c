//! Idle virtual users of a scenario with an arrival rate, and arrivals that move between workers.
//!
//! Each worker handles its part of the arrivals. If it has no idle virtual user, another worker's
//! idle virtual user runs the iteration, so that an arrival is dropped only if no worker has one.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering::SeqCst},
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The idle virtual users of all workers.
#[derive(Default)]
pub struct ArrivalExchange(Mutex<Vec<Arc<IdleCount>>>);

/// The number of idle virtual users of a worker.
///
/// Decrementing it claims one of them, either for the worker itself or for another worker that
/// hands over an arrival.
pub struct IdleCount {
    idle: AtomicU64,
    arrivals: UnboundedSender<u64>,
}

/// Arrivals from other workers, as intended starts in nanoseconds from the start of the run.
pub type HandedArrivals = UnboundedReceiver<u64>;

impl IdleCount {
    /// Notes an idle virtual user.
    pub fn add(&self) {
        self.idle.fetch_add(1, SeqCst);
    }

    /// Takes an idle virtual user. Returns false if there is none.
    pub fn take(&self) -> bool {
        let less = |idle: u64| idle.checked_sub(1);
        self.idle.fetch_update(SeqCst, SeqCst, less).is_ok()
    }
}

impl ArrivalExchange {
    /// Adds a worker without idle virtual users.
    pub fn join(&self) -> (Arc<IdleCount>, HandedArrivals) {
        let (arrivals, receiver) = unbounded_channel();
        let own = Arc::new(IdleCount {
            idle: AtomicU64::default(),
            arrivals,
        });
        self.with(|workers| workers.push(Arc::clone(&own)));
        (own, receiver)
    }

    /// Removes a worker. No arrivals are sent to it afterwards.
    pub fn leave(&self, own: &Arc<IdleCount>) {
        self.with(|workers| workers.retain(|worker| !Arc::ptr_eq(worker, own)));
    }

    /// Sends an arrival to a worker that has an idle virtual user. Returns false if none has.
    pub fn hand_over(&self, intended_ns: u64) -> bool {
        self.with(|workers| {
            let idle = workers.iter().find(|worker| worker.take());
            // A receiver exists until its worker has left.
            idle.is_some_and(|worker| worker.arrivals.send(intended_ns).is_ok())
        })
    }

    fn with<R>(&self, use_it: impl FnOnce(&mut Vec<Arc<IdleCount>>) -> R) -> R {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_go_to_workers_with_idle_virtual_users() {
        let exchange = ArrivalExchange::default();
        let (first, mut to_first) = exchange.join();
        let (second, mut to_second) = exchange.join();
        assert!(!exchange.hand_over(1));
        second.add();
        assert!(exchange.hand_over(2));
        assert_eq!(to_second.try_recv(), Ok(2));
        // The virtual user is taken.
        assert!(!second.take());
        assert!(!exchange.hand_over(3));
        first.add();
        assert!(first.take());
        first.add();
        exchange.leave(&first);
        assert!(!exchange.hand_over(4));
        assert!(to_first.try_recv().is_err());
    }
}
