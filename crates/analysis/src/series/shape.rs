//! Distribution of a run: percentile curve, and counts in logarithmic buckets.

use std::collections::BTreeMap;

use measure::{OutcomeClass, TimeKind, label};
use serde::{Deserialize, Serialize};

use record::{LabelTotals, Run};

use crate::figures::Sampled;

const STEPS: u32 = 4;
const GRID: Grid = Grid(20.0);

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    pub time: String,
    pub count: u64,
    pub unanswered: u64,
    /// Pairs of a share of requests and the nanoseconds that this share did not exceed.
    pub curve: Vec<(f64, u64)>,
    /// Lower end, upper end and count of each non-empty bucket.
    pub density: Vec<(u64, u64, u64)>,
}

#[derive(Clone, Copy)]
pub struct Grid(pub f64);

impl Grid {
    pub fn row(self, ns: u64) -> i32 {
        ((ns.max(1) as f64).log10() * self.0 + 1e-9).floor() as i32
    }

    pub fn count(self, part: &LabelTotals, kind: TimeKind, rows: &mut BTreeMap<i32, u64>) {
        for outcome in [OutcomeClass::Ok, OutcomeClass::Failed] {
            let histogram = part.slot.histogram(kind, outcome);
            for cell in histogram.into_iter().flat_map(measure::Histogram::cells) {
                *rows.entry(self.row(cell.low)).or_default() += cell.count;
            }
        }
    }

    pub fn bound_ns(self, row: i32) -> u64 {
        10f64.powf(f64::from(row) / self.0).round() as u64
    }
}

pub fn distributions(run: &Run, headline: TimeKind) -> Vec<Distribution> {
    let mut kinds = vec![headline];
    if headline != TimeKind::Service {
        kinds.push(TimeKind::Service);
    }
    let all = run.totals.label(label::ALL);
    let distributions = kinds.into_iter().map(|kind| distribution(&all, kind));
    distributions.filter(|one| one.count > 0).collect()
}

fn distribution(part: &LabelTotals, kind: TimeKind) -> Distribution {
    let sampled = Sampled::from_totals(part, kind);
    let mut curve = Vec::new();
    for step in 0u32.. {
        let q = 1.0 - 0.5f64.powf(f64::from(step) / f64::from(STEPS));
        // If less than one sample is beyond this quantile, the curve has reached its maximum.
        let last = (1.0 - q) * (sampled.count() as f64) < 1.0;
        let q = if last { 1.0 } else { q };
        match sampled.quantile(q).and_then(|figure| figure.ns) {
            Some(ns) => curve.push((q, ns)),
            None => break,
        }
        if last {
            break;
        }
    }
    let mut rows = BTreeMap::new();
    GRID.count(part, kind, &mut rows);
    let density = rows.into_iter();
    Distribution {
        time: kind.name().to_owned(),
        count: sampled.count(),
        unanswered: sampled.unanswered(),
        curve,
        density: density
            .map(|(row, n)| (GRID.bound_ns(row), GRID.bound_ns(row + 1), n))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_within_the_bounds_of_its_row() {
        for grid in [Grid(10.0), Grid(20.0)] {
            for ns in (1..2_000u64).chain([99_999, 100_000, 100_001, 1_000_000_000, u64::MAX / 2]) {
                let row = grid.row(ns);
                let (low, high) = (grid.bound_ns(row), grid.bound_ns(row + 1));
                assert!(low <= ns + 1 && ns <= high + 1, "{ns}: {low}..{high}");
            }
        }
    }
}
