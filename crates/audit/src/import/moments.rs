//! Moments as other tools write them. One that is not understood is none: then nothing is said of when a run was.

use jiff::Timestamp;

/// RFC 3339, in seconds since 1970.
#[must_use]
pub fn rfc3339(text: &str) -> Option<f64> {
    let moment: Timestamp = text.parse().ok()?;
    let s = moment.as_nanosecond() as f64 / 1e9;
    (s > 0.0).then_some(s)
}
