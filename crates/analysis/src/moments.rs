//! Points of a run's history with their intervals, from which columns are computed.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use measure::{TimeKind, TimeSpan, custom::CustomMetric, interval::Gauge};

use record::{IntervalRow, LabelTotals, Run};

use crate::figures;

#[derive(Clone)]
pub struct Moment {
    pub span: TimeSpan,
    pub all: LabelTotals,
    pub iterations: LabelTotals,
    pub rows: Vec<IntervalRow>,
    /// Custom metrics, by their index in the history's names.
    pub custom: BTreeMap<usize, CustomMetric>,
}

#[must_use]
pub fn collect(run: &Run) -> Vec<Moment> {
    let history = &run.totals.history;
    let mut rows: BTreeMap<u64, Vec<IntervalRow>> = BTreeMap::new();
    for row in run.totals.rows.iter() {
        let number = history.all.point_of(history.second(row.span.from_ns));
        rows.entry(number).or_default().push(row);
    }
    let mut iterations: BTreeMap<u64, LabelTotals> = history
        .iterations
        .points()
        .map(|(number, point)| (number, point.part))
        .collect();
    let mut custom = history.custom.points();
    let moment = |(number, point): (u64, record::history::Point)| Moment {
        span: point.span,
        all: point.part,
        iterations: iterations.remove(&number).unwrap_or_default(),
        rows: rows.remove(&number).unwrap_or_default(),
        custom: custom.remove(&number).unwrap_or_default(),
    };
    history.all.points().map(moment).collect()
}

/// Returns the points from which rates and percentiles over time are computed.
#[must_use]
pub fn full<'a>(run: &Run, moments: &'a [Moment]) -> Vec<Cow<'a, Moment>> {
    let spans: Vec<TimeSpan> = moments.iter().map(|moment| moment.span).collect();
    let groups = figures::full_points(&spans, run.totals.history.all.width_ns());
    let joined = |group: Range<usize>| match &moments[group] {
        [alone] => Cow::Borrowed(alone),
        several => Cow::Owned(Moment::joined(several)),
    };
    groups.into_iter().map(joined).collect()
}

impl Moment {
    fn joined(moments: &[Moment]) -> Moment {
        let mut joined = moments[0].clone();
        for next in &moments[1..] {
            joined.span = joined.span.merged(next.span);
            joined.all.add(&next.all);
            joined.iterations.add(&next.iterations);
            joined.rows.extend(next.rows.iter().cloned());
            for (index, metric) in &next.custom {
                let sum = joined.custom.entry(*index).or_default();
                sum.count = sum.count.saturating_add(metric.count);
                sum.values.add(&metric.values);
            }
        }
        joined
    }

    pub fn length_ns(&self) -> u64 {
        (self.span.to_ns - self.span.from_ns).max(1)
    }

    pub fn part(&self, kind: TimeKind) -> &LabelTotals {
        if kind == TimeKind::Iteration {
            &self.iterations
        } else {
            &self.all
        }
    }

    pub fn sum(&self, figure: impl Fn(&IntervalRow) -> u64) -> u64 {
        self.rows.iter().map(figure).sum()
    }

    pub fn level(&self, gauge: impl Fn(&IntervalRow) -> Gauge) -> Option<(f64, u64)> {
        let gauges = self.rows.iter().map(gauge);
        let (samples, sum, max) = gauges.fold((0, 0, 0), |(n, sum, max), gauge| {
            (n + gauge.samples, sum + gauge.sum, gauge.max.max(max))
        });
        (samples > 0).then(|| (sum as f64 / samples as f64, max))
    }
}
