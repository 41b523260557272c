//! Computes the duration, shares and rates of a run.

use record::{Run, RunState};

/// Returns `n` as a share of `of`. `None` if `of` is 0.
#[must_use]
pub fn share_of(n: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| n as f64 / of as f64)
}

/// Returns the time from the start to the last completion or the end of the load, whichever is
/// later.
#[must_use]
pub fn elapsed_ns(run: &Run) -> u64 {
    let load_end = load_end_ns(run);
    load_end.max(run.totals.rows.last_end_ns)
}

#[must_use]
pub fn load_end_ns(run: &Run) -> u64 {
    if let Some(cut) = run.cut {
        return cut.at_ns.min(run.manifest.load.end_ns);
    }
    match (&run.manifest.end, run.manifest.state) {
        (_, RunState::Complete) => run.manifest.load.end_ns,
        (Some(end), _) => end.ns.min(run.manifest.load.end_ns),
        (None, _) => run.totals.rows.end_ns.min(run.manifest.load.end_ns),
    }
}

#[must_use]
pub fn per_second(count: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 {
        0.0
    } else {
        count as f64 * 1e9 / elapsed_ns as f64
    }
}
