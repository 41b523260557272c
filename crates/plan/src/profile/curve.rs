//! The load over time, for a chart: the highest rate in each of so many stretches of equal length, so that no spike falls between two
//! of them.

use crate::Load;

/// The highest planned rates in so many stretches up to a moment; none of a load that has no rate.
#[must_use]
pub fn curve(load: &Load, end_ns: u64, stretches: usize) -> Option<Vec<f64>> {
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
                // Between the ends of a phase the rate only rises or only falls.
                let ends = [begin, stop - 1].map(|at| phase.rate_at(at - start));
                most = most.max(ends[0]).max(ends[1]);
            }
            start = end;
        }
        most
    };
    Some((0..stretches).map(highest).collect())
}
