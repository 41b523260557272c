//! How far a record goes: whether it holds the whole run, and if not, where it ends and why. It reads nothing itself and
//! judges no figure; it compares what the manifest says of the end with what the reader found.

use super::{Manifest, RunState};

/// A record that does not hold all of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// The end of the last whole interval, in nanoseconds from the start.
    pub at_ns: u64,
    /// How far the run went; none where nobody knows, because it was killed as well.
    pub of_ns: Option<u64>,
    /// Something that was written cannot be read; else it could not be written.
    pub damaged: bool,
}

impl Truncation {
    /// What is missing of a process's record, which goes to `last_ns`; `broken` says that the reader stopped at something that
    /// was written and cannot be read.
    pub(super) fn new(manifest: &Manifest, last_ns: u64, broken: bool) -> Option<Truncation> {
        let end = manifest.end.as_ref();
        let of_ns = end.map(|end| end.recorded_to_ns.unwrap_or(end.ns));
        let unwritten = end.is_some_and(|end| end.record_ends_ns.is_some());
        let is_short = of_ns.is_some_and(|of_ns| last_ns < of_ns);
        // Of a killed run the last interval is always torn: only what stands behind the break tells of damage.
        let is_broken = broken && (is_short || manifest.state == RunState::Running);
        (is_short || is_broken).then_some(Truncation {
            at_ns: last_ns,
            of_ns,
            damaged: broken || !unwritten,
        })
    }

    /// The shorter of two: of several processes all figures are there only until the first of them ends.
    pub(super) fn earlier(self, other: Option<Truncation>) -> Truncation {
        match other {
            Some(other) if other.at_ns < self.at_ns => other,
            _ => self,
        }
    }
}
