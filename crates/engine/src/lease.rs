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
    /// One that has not begun: it ends never.
    #[must_use]
    pub fn unbegun() -> Lease {
        Lease(Arc::new(AtomicU64::new(u64::MAX)))
    }

    /// It begins: it ends at that moment of CLOCK_MONOTONIC unless it is renewed.
    pub fn begin(&self, until_ns: u64) {
        self.0.store(until_ns, Ordering::Relaxed);
    }

    /// It ends at that moment of CLOCK_MONOTONIC, and not before it would have ended anyway.
    pub fn renew(&self, until_ns: u64) {
        self.0.fetch_max(until_ns, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_comes_late_renews_nothing() {
        let lease = Lease::unbegun();
        assert!(!lease.has_ended());
        lease.begin(5_000);
        lease.renew(7_000);
        assert!(!lease.has_ended_at(7_000) && lease.has_ended_at(7_001));
        // Said before, read behind it.
        lease.renew(6_000);
        assert!(!lease.has_ended_at(7_000) && lease.has_ended_at(7_001));
    }
}
