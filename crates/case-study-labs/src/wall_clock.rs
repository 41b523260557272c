//! The wall clock, used for dates and expiry.
#![allow(
    clippy::disallowed_methods,
    reason = "a lab deliberately has its own clock, separate from the engine's"
)]

pub(crate) fn seconds() -> f64 {
    jiff::Timestamp::now().as_duration().as_secs_f64()
}

pub(crate) fn instant_utc() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}
