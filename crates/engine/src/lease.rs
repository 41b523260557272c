//! A lease: until when a process may go on sending, unless whoever conducts it says again that it may. A process that was frozen finds
//! that out itself before it sends anything more. Who renews it is somebody else's business.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::clock;

/// What ends a run whose lease has ended.
pub const ENDED: &str = "losing its conductor";

/// Until when it may go on, by CLOCK_MONOTONIC. Copies are the same.
#[derive(Debug, Clone)]
pub struct Lease(Arc<AtomicU64>);

impl Lease {
    /// One that ends so many nanoseconds from now.
    #[must_use]
    pub fn of(ns: u64) -> Lease {
        Lease(Arc::new(AtomicU64::new(clock::monotonic_ns() + ns)))
    }

    /// It ends so many nanoseconds from now, and not before it would have ended anyway.
    pub fn renew(&self, ns: u64) {
        self.0
            .fetch_max(clock::monotonic_ns() + ns, Ordering::Relaxed);
    }

    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended_at(clock::monotonic_ns())
    }

    /// Whether it has ended at a moment of CLOCK_MONOTONIC.
    pub(crate) fn has_ended_at(&self, monotonic_ns: u64) -> bool {
        monotonic_ns > self.0.load(Ordering::Relaxed)
    }
}
