//! The planned load over time, for a chart. Each point is the highest rate of a period, so that
//! spikes stay visible.

use crate::Load;

/// Returns the highest planned rate in each of `stretches` equal periods. `None` if the load has no
/// rate. With several workloads, returns the sum of their highest rates in each period.
#[must_use]
pub fn curve(load: &Load, end_ns: u64, stretches: usize) -> Option<Vec<f64>> {
    if let Load::Several { workloads } = load {
        return super::workloads::curve(workloads, end_ns, stretches);
    }
    let Load::Open { phases, .. } = load else {
        return None;
    };
    let at = |i: usize| (u128::from(end_ns) * i as u128 / stretches.max(1) as u128) as u64;
    let highest = |i: usize| {
        let (from, to) = (at(i), at(i + 1).max(at(i) + 1));
        let mut start = 0;
        let mut most = 0.0f64;
        for phase in phases {
            let end = start + phase.duration_ns;
            let (begin, stop) = (from.max(start), to.min(end));
            if begin < stop {
                let ends = [begin, stop - 1].map(|at| phase.rate_at(at - start));
                most = most.max(ends[0]).max(ends[1]);
            }
            start = end;
        }
        most
    };
    Some((0..stretches).map(highest).collect())
}
