//! Parses timestamps of other tools. Unknown formats are ignored.

use jiff::Timestamp;

#[must_use]
pub fn rfc3339(text: &str) -> Option<f64> {
    let moment: Timestamp = text.parse().ok()?;
    let s = moment.as_nanosecond() as f64 / 1e9;
    (s > 0.0).then_some(s)
}
