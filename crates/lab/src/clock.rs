//! The lab's own two clocks: CLOCK_MONOTONIC for the request log, the wall clock for the dates in resources.
//! Deliberately apart from the engine's clock: the log is evidence about the engine, so it must not share the engine's code.
#![allow(
    clippy::disallowed_methods,
    reason = "the lab keeps its own clock, on purpose apart from the engine's"
)]

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds on CLOCK_MONOTONIC, comparable between processes of one machine.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The kernel's monotonic clock counts from boot and is never negative.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Seconds since 1970, for what expires.
pub(crate) fn wall_s() -> f64 {
    jiff::Timestamp::now().as_duration().as_secs_f64()
}

/// The present date and time in UTC as FHIR writes an instant: `2026-01-31T12:00:00.000Z`.
pub(crate) fn instant_utc() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// Waits.
pub(crate) fn sleep_ns(ns: u64) {
    std::thread::sleep(std::time::Duration::from_nanos(ns));
}
