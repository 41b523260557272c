//! Duration, shares and rates of a run.

use std::ops::Range;

use measure::{TimeSpan, slot::Counters};
use record::{IntervalRow, Run, RunState};

const SECOND: u64 = 1_000_000_000;

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

/// Groups consecutive points so that none is shorter than half the width of a point, because a rate
/// or percentile over a few milliseconds is meaningless. A short point joins the previous group, or
/// the next group if it is the first point.
#[must_use]
pub fn full_points(spans: &[TimeSpan], width_ns: u64) -> Vec<Range<usize>> {
    let is_short = |group: &Range<usize>| {
        let spans = spans[group.clone()].iter();
        let length_ns: u64 = spans.map(|span| span.length_ns()).sum();
        length_ns < width_ns / 2
    };
    let mut groups: Vec<Range<usize>> = Vec::new();
    for at in 0..spans.len() {
        let point = at..at + 1;
        match groups.last_mut() {
            Some(last) if is_short(last) || is_short(&point) => last.end = point.end,
            _ => groups.push(point),
        }
    }
    groups
}

/// Returns the rates of the newest intervals, each over at least half a second. Returns nothing if
/// all intervals together are shorter.
#[must_use]
pub fn recent_rates(rows: &[IntervalRow], count: impl Fn(&Counters) -> u64) -> Vec<f64> {
    let spans: Vec<TimeSpan> = rows.iter().map(|row| row.span).collect();
    let rate = |group: Range<usize>| {
        let rows = &rows[group];
        let length_ns = rows.iter().map(|row| row.span.length_ns()).sum();
        per_second(rows.iter().map(|row| count(&row.all)).sum(), length_ns)
    };
    let is_full = |group: &Range<usize>| {
        let length_ns: u64 = spans[group.clone()]
            .iter()
            .map(|span| span.length_ns())
            .sum();
        length_ns >= SECOND / 2
    };
    let groups = full_points(&spans, SECOND).into_iter().filter(is_full);
    groups.map(rate).collect()
}

#[must_use]
pub fn per_second(count: u64, elapsed_ns: u64) -> f64 {
    sum_per_second(count as f64, elapsed_ns)
}

/// Returns the sum per second, or 0 if no time has elapsed.
#[must_use]
pub fn sum_per_second(sum: f64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 {
        0.0
    } else {
        sum * 1e9 / elapsed_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_points_join_a_neighbour() {
        let groups = |lengths: &[u64]| {
            let mut at = 0;
            let spans: Vec<TimeSpan> = lengths
                .iter()
                .map(|length| {
                    at += length;
                    TimeSpan::new(at - length, at)
                })
                .collect();
            let groups = full_points(&spans, 1_000).into_iter();
            groups
                .map(|group| (group.start, group.end))
                .collect::<Vec<_>>()
        };
        assert!(groups(&[]).is_empty());
        assert_eq!(groups(&[13]), [(0, 1)]);
        assert_eq!(groups(&[1_000, 1_000, 13]), [(0, 1), (1, 3)]);
        assert_eq!(groups(&[13, 1_000, 1_000]), [(0, 2), (2, 3)]);
        assert_eq!(groups(&[500, 1_000, 499]), [(0, 1), (1, 3)]);
        assert_eq!(groups(&[200, 200, 200, 1_000]), [(0, 3), (3, 4)]);
    }
}
