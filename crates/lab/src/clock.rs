//! The lab's clock (CLOCK_MONOTONIC). It is separate from the engine's clock, because the request
//! log is used to check the engine.
#![allow(
    clippy::disallowed_methods,
    reason = "a lab deliberately has its own clock, separate from the engine's"
)]

use rustix::time::{ClockId, clock_gettime};

/// Returns the current time in nanoseconds, comparable between processes on one machine.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

pub fn sleep_ns(ns: u64) {
    std::thread::sleep(std::time::Duration::from_nanos(ns));
}
