//! The clock of the mocks (CLOCK_MONOTONIC), which is independent of the engine's clock.
#![allow(
    clippy::disallowed_methods,
    reason = "mocks deliberately have their own clock, separate from the engine's"
)]

use rustix::time::{ClockId, clock_gettime};

pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The clock counts from boot and is never negative.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
