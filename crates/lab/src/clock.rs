//! The lab's clock (CLOCK_MONOTONIC). The request log is used to check the engine, so the lab does
//! not use the engine's clock.
#![allow(
    clippy::disallowed_methods,
    reason = "the lab keeps its own clock, on purpose apart from the engine's"
)]

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds that can be compared between processes of one machine.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The clock counts from boot and is never negative.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

pub fn sleep_ns(ns: u64) {
    std::thread::sleep(std::time::Duration::from_nanos(ns));
}
