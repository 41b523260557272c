//! Whether a record covers its whole run. If not, where and why it ends.

use super::{Manifest, RunState};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    pub at_ns: u64,
    pub of_ns: Option<u64>,
    /// Whether the record contains unreadable data. If not, data could not be written.
    pub damaged: bool,
}

impl Truncation {
    /// Returns the truncation of a record that ends at `last_ns`. `None` if the record is complete.
    /// `broken` means that unreadable data follows.
    pub(super) fn new(manifest: &Manifest, last_ns: u64, broken: bool) -> Option<Truncation> {
        let end = manifest.end.as_ref();
        let of_ns = end.map(|end| end.recorded_to_ns.unwrap_or(end.ns));
        let unwritten = end.is_some_and(|end| end.record_ends_ns.is_some());
        let is_short = of_ns.is_some_and(|of_ns| last_ns < of_ns);
        // The last interval of a killed run is incomplete. This is damage only if more data
        // follows.
        let is_broken = broken && (is_short || manifest.state == RunState::Running);
        (is_short || is_broken).then_some(Truncation {
            at_ns: last_ns,
            of_ns,
            damaged: broken || !unwritten,
        })
    }

    pub(super) fn earlier(self, other: Option<Truncation>) -> Truncation {
        match other {
            Some(other) if other.at_ns < self.at_ns => other,
            _ => self,
        }
    }
}
