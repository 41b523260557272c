//! Selects the headline time of a run.

use measure::{OutcomeClass, TimeKind};
use record::LabelTotals;

/// Returns the headline time of a run with these totals of all requests: the response time, or the
/// service time for results of other tools that lack it.
#[must_use]
pub fn headline_time(all: &LabelTotals) -> TimeKind {
    let has = |kind| {
        let mut outcomes = OutcomeClass::ALL.iter();
        outcomes.any(|outcome| all.slot.histogram(kind, *outcome).is_some())
    };
    if has(TimeKind::Service) && !has(TimeKind::Response) {
        TimeKind::Service
    } else {
        TimeKind::Response
    }
}
