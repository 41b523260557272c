//! The points of a run's history side by side with the light rows of the intervals in them: everything that a column is
//! computed from.

use std::collections::BTreeMap;

use measure::{TimeKind, interval::Gauge};

use record::{IntervalRow, LabelTotals, Run};

/// One point of the run.
pub struct Moment<'a> {
    /// Start and end, in nanoseconds from the start of the test.
    pub span: (u64, u64),
    /// All requests.
    pub all: LabelTotals,
    /// All iterations.
    pub iterations: LabelTotals,
    /// The intervals in it.
    pub rows: Vec<&'a IntervalRow>,
}

/// The points of a run, in order: unpacking them takes most of the time of everything that is computed from them.
#[must_use]
pub fn collect(run: &Run) -> Vec<Moment<'_>> {
    let history = &run.totals.history;
    let mut rows: BTreeMap<u64, Vec<&IntervalRow>> = BTreeMap::new();
    for row in run.totals.rows.values() {
        let number = history.all.point_of(history.second(row.span.0));
        rows.entry(number).or_default().push(row);
    }
    let mut iterations: BTreeMap<u64, LabelTotals> = history
        .iterations
        .points()
        .map(|(number, point)| (number, point.part))
        .collect();
    let moment = |(number, point): (u64, record::history::Point)| Moment {
        span: point.span,
        all: point.part,
        iterations: iterations.remove(&number).unwrap_or_default(),
        rows: rows.remove(&number).unwrap_or_default(),
    };
    history.all.points().map(moment).collect()
}

impl Moment<'_> {
    /// Its length in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        (self.span.1 - self.span.0).max(1)
    }

    /// The part that has this kind of time.
    pub fn part(&self, kind: TimeKind) -> &LabelTotals {
        if kind == TimeKind::Iteration {
            &self.iterations
        } else {
            &self.all
        }
    }

    /// A run-wide count, added up.
    pub fn sum(&self, figure: impl Fn(&IntervalRow) -> u64) -> u64 {
        self.rows.iter().map(|row| figure(row)).sum()
    }

    /// A level's samples: mean and largest; none without samples.
    pub fn level(&self, gauge: impl Fn(&IntervalRow) -> Gauge) -> Option<(f64, u64)> {
        let gauges = self.rows.iter().map(|row| gauge(row));
        let (samples, sum, max) = gauges.fold((0, 0, 0), |(n, sum, max), gauge| {
            (n + gauge.samples, sum + gauge.sum, gauge.max.max(max))
        });
        (samples > 0).then(|| (sum as f64 / samples as f64, max))
    }
}
