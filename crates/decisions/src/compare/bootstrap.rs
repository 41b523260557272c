//! Block bootstrap of one run: resamples its time windows 1,000 times and recomputes each metric.
//! Idle periods count as windows too.

use std::collections::BTreeMap;

use measure::{LabelId, TimeKind, label};
use plan::{
    criteria::{Metric, Stat},
    rng::{Purpose, Rng},
};
use statistics::{Resampled, block_length, resample};

use super::ComparedRun;
use analysis::series::Grid;

const RESAMPLES: usize = 1000;
const GRID: Grid = Grid(1000.0);
const ENOUGH_WINDOWS: usize = 10;

/// Returns the width of a grid row, by which logarithms are smoothed.
pub(super) fn blur() -> f64 {
    std::f64::consts::LN_10 / GRID.0
}

pub(super) struct BootstrapSamples {
    bounds: Vec<f64>,
    sums: Vec<Sum>,
}

#[derive(Default)]
struct Sum {
    span_ns: u64,
    ended: u64,
    errors: u64,
    all: u64,
    counts: Vec<u64>,
}

#[derive(Default)]
struct SampledWindow {
    span_ns: u64,
    ended: u64,
    errors: u64,
    cells: Vec<(usize, u64)>,
}

impl BootstrapSamples {
    /// Resamples a row of a run. `stream` makes the random numbers of two runs independent. Returns
    /// `None` if there are too few windows.
    pub fn new(
        run: &ComparedRun,
        id: LabelId,
        kind: Option<TimeKind>,
        stream: u64,
    ) -> Option<BootstrapSamples> {
        let (windows, bounds) = windows(run, id, kind)?;
        let figures: Vec<f64> = windows
            .iter()
            .map(|window| window_figure(window, &bounds))
            .collect();
        let block = block_length(&figures);
        let mut random = Rng::keyed(0, Purpose::Resampling, stream, 0);
        let sums = (0..RESAMPLES).map(|_| {
            let Resampled(times) = resample(windows.len(), block, &mut random);
            Sum::weighted(&windows, &times, bounds.len())
        });
        Some(BootstrapSamples {
            sums: sums.collect(),
            bounds,
        })
    }

    /// Returns the metric for each resample. It is NaN if there are no samples, and infinite if the
    /// rank falls on an unanswered request. `None` if the metric is the maximum.
    pub fn figures(&self, metric: &Metric) -> Option<Vec<f64>> {
        let figure = |sum: &Sum| match metric {
            Metric::Errors => Some(sum.errors as f64 / sum.ended.max(1) as f64),
            Metric::Rate => Some(sum.ended as f64 / sum.span_ns.max(1) as f64 * 1e9),
            Metric::Time(_, Stat::Quantile(q)) => Some(sum.quantile(*q, &self.bounds)),
            Metric::Time(_, Stat::Mean) => Some(sum.mean(&self.bounds)),
            _ => None,
        };
        self.sums.iter().map(figure).collect()
    }
}

impl Sum {
    fn weighted(windows: &[SampledWindow], times: &[u32], cells: usize) -> Sum {
        let mut sum = Sum {
            counts: vec![0; cells],
            ..Sum::default()
        };
        for (window, n) in windows.iter().zip(times).filter(|(_, n)| **n > 0) {
            let n = u64::from(*n);
            sum.span_ns += n * window.span_ns;
            sum.ended += n * window.ended;
            sum.errors += n * window.errors;
            let mut answered = 0;
            for (cell, count) in &window.cells {
                sum.counts[*cell] += n * count;
                answered += count;
            }
            sum.all += n * window.ended.max(answered);
        }
        sum
    }

    fn quantile(&self, q: f64, bounds: &[f64]) -> f64 {
        let Some(mut left) = measure::histogram::rank_of(q, self.all) else {
            return f64::NAN;
        };
        for (count, bound) in self.counts.iter().zip(bounds) {
            if left <= *count {
                return *bound;
            }
            left -= count;
        }
        f64::INFINITY
    }

    fn mean(&self, bounds: &[f64]) -> f64 {
        let parts = self.counts.iter().zip(bounds);
        let sum: f64 = parts.map(|(count, bound)| bound * *count as f64).sum();
        sum / self.counts.iter().sum::<u64>() as f64
    }
}

fn windows(
    run: &ComparedRun,
    id: LabelId,
    kind: Option<TimeKind>,
) -> Option<(Vec<SampledWindow>, Vec<f64>)> {
    let history = &run.run.as_ref()?.totals.history;
    let curve = if id == label::ALL {
        &history.all
    } else {
        history.labels.get(&id)?
    };
    let width_ns = curve.width_ns();
    let mut cells: BTreeMap<i32, usize> = BTreeMap::new();
    let mut windows: Vec<(SampledWindow, BTreeMap<i32, u64>)> = Vec::new();
    let mut reached_ns = 0;
    for (_, point) in curve.points() {
        windows.extend(idle(reached_ns, point.span.from_ns, width_ns));
        reached_ns = point.span.to_ns;
        let mut rows = BTreeMap::new();
        if let Some(kind) = kind {
            GRID.count(&point.part, kind, &mut rows);
        }
        cells.extend(rows.keys().map(|row| (*row, 0)));
        let counters = &point.part.slot.counters;
        let window = SampledWindow {
            span_ns: point.span.to_ns - point.span.from_ns,
            ended: counters.ended(),
            errors: counters.errors(),
            cells: Vec::new(),
        };
        windows.push((window, rows));
    }
    windows.extend(idle(reached_ns, run.summary.run.elapsed_ns, width_ns));
    if windows.len() < ENOUGH_WINDOWS {
        return None;
    }
    for (number, place) in cells.values_mut().enumerate() {
        *place = number;
    }
    let placed = windows.into_iter().map(|(window, rows)| SampledWindow {
        cells: rows.iter().map(|(row, n)| (cells[row], *n)).collect(),
        ..window
    });
    let placed = placed.collect();
    Some((
        placed,
        cells.keys().map(|row| GRID.bound_ns(*row) as f64).collect(),
    ))
}

fn idle(
    from_ns: u64,
    to_ns: u64,
    width_ns: u64,
) -> impl Iterator<Item = (SampledWindow, BTreeMap<i32, u64>)> {
    let starts = (from_ns..to_ns.max(from_ns)).step_by(width_ns.max(1) as usize);
    starts.map(move |start| {
        let window = SampledWindow {
            span_ns: width_ns.min(to_ns - start),
            ..SampledWindow::default()
        };
        (window, BTreeMap::new())
    })
}

fn window_figure(window: &SampledWindow, bounds: &[f64]) -> f64 {
    let middle =
        Sum::weighted(std::slice::from_ref(window), &[1], bounds.len()).quantile(0.5, bounds);
    if middle.is_finite() && middle > 0.0 {
        middle.ln()
    } else {
        window.ended as f64 / window.span_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(of: &[(u64, &[(usize, u64)])]) -> Vec<SampledWindow> {
        let window = |(ended, cells): &(u64, &[(usize, u64)])| SampledWindow {
            span_ns: 1_000_000_000,
            ended: *ended,
            errors: 0,
            cells: cells.to_vec(),
        };
        of.iter().map(window).collect()
    }

    #[test]
    fn what_has_no_time_ranks_last() {
        let windows = windows(&[(10, &[(0, 4), (1, 4)]), (10, &[(1, 2)])]);
        let sum = Sum::weighted(&windows, &[1, 1], 2);
        let bounds = [100.0, 200.0];
        assert_eq!(sum.quantile(0.2, &bounds), 100.0);
        assert_eq!(sum.quantile(0.5, &bounds), 200.0);
        assert_eq!(sum.quantile(0.51, &bounds), f64::INFINITY);
        assert!(Sum::default().quantile(0.5, &bounds).is_nan());
        assert_eq!(sum.mean(&bounds), 160.0);
    }

    #[test]
    fn a_window_that_is_drawn_twice_counts_twice() {
        let windows = windows(&[(10, &[(0, 10)]), (30, &[(1, 30)])]);
        let sum = Sum::weighted(&windows, &[0, 2], 2);
        assert_eq!((sum.ended, sum.span_ns, sum.all), (60, 2_000_000_000, 60));
        assert_eq!(sum.counts, [0, 60]);
    }

    #[test]
    fn stretches_of_nothing_are_windows_of_the_usual_width() {
        let spans: Vec<u64> = idle(3, 10, 3).map(|(window, _)| window.span_ns).collect();
        assert_eq!(spans, [3, 3, 1]);
        assert_eq!(idle(10, 3, 3).count(), 0);
        assert_eq!(idle(3, 3, 3).count(), 0);
    }
}
