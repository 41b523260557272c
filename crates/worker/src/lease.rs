//! The lease of a node. The node may send until the lease expires, and the conductor renews it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::clock;

/// Why a run ended when its lease expired, as shown to the user.
pub const ENDED: &str = "losing its conductor";

/// The time at which a lease expires, in nanoseconds of `CLOCK_MONOTONIC`. Clones share the lease.
#[derive(Debug, Clone)]
pub struct Lease(Arc<AtomicU64>);

impl Lease {
    /// Creates a lease that does not expire until it is started.
    #[must_use]
    pub fn unbegun() -> Lease {
        Lease(Arc::new(AtomicU64::new(u64::MAX)))
    }

    /// Starts the lease, which expires at this time of `CLOCK_MONOTONIC`.
    pub fn begin(&self, until_ns: u64) {
        self.0.store(until_ns, Ordering::Relaxed);
    }

    /// Extends the lease to this time of `CLOCK_MONOTONIC`. Never shortens it.
    pub fn renew(&self, until_ns: u64) {
        self.0.fetch_max(until_ns, Ordering::Relaxed);
    }

    /// Returns whether the lease has expired.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended_at(clock::monotonic_ns())
    }

    pub(crate) fn has_ended_at(&self, monotonic_ns: u64) -> bool {
        monotonic_ns > self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_renewal_has_no_effect() {
        let lease = Lease::unbegun();
        assert!(!lease.has_ended());
        lease.begin(5_000);
        lease.renew(7_000);
        assert!(!lease.has_ended_at(7_000) && lease.has_ended_at(7_001));
        lease.renew(6_000);
        assert!(!lease.has_ended_at(7_000) && lease.has_ended_at(7_001));
    }
}
