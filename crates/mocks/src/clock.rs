//! The mocks' clock (CLOCK_MONOTONIC), separate from the engine's.
#![allow(
    clippy::disallowed_methods,
    reason = "the mocks keep their own clock, on purpose apart from the engine's"
)]

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds, comparable between processes of one machine.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Counts from boot and is never negative.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
