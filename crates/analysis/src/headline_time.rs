//! Which kind of time a run is judged by.

use measure::TimeKind;
use record::{LabelTotals, Model, Run};

/// Returns the headline time of a run with these totals: service time of a closed load, response
/// time if all requests were paced, otherwise iteration time.
#[must_use]
pub fn headline_time(run: &Run, all: &LabelTotals) -> TimeKind {
    let counters = &all.slot.counters;
    match run.manifest.load.model {
        Model::Closed => TimeKind::Service,
        _ if counters.paced == counters.ended() => TimeKind::Response,
        _ => TimeKind::Iteration,
    }
}
