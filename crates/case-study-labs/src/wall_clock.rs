//! The wall clock, for dates in resources and for what expires.
#![allow(
    clippy::disallowed_methods,
    reason = "a lab keeps its own clock, on purpose apart from the engine's"
)]

/// Seconds since 1970.
pub(crate) fn seconds() -> f64 {
    jiff::Timestamp::now().as_duration().as_secs_f64()
}

/// The present date and time in UTC as FHIR writes an instant: `2026-01-31T12:00:00.000Z`.
pub(crate) fn instant_utc() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}
