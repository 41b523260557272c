//! One run against one: a hint. Each is resampled from its own windows of time, in blocks, which tells how chancy its figure is while
//! the run lasted, and nothing of how one run differs from the next of the same thing. What was never recorded is a figure alone.

use std::collections::BTreeMap;

use measure::label;
use plan::{
    criteria::{Metric, Stat},
    rng::{Purpose, Rng},
};
use statistics::{Resampled, block_length, resample};

use super::{
    Asked, CONFIDENCE, Change, Compared, Entrant, Outcome, Side, Subject, Unit, groups, judge,
    words,
};
use crate::series::Grid;

/// So often each run is drawn again.
const RESAMPLES: usize = 1000;
/// A quarter of a percent: what is told is ten times as coarse.
const GRID: Grid = Grid(1000.0);
/// With fewer windows there is nothing to draw from.
const ENOUGH_WINDOWS: usize = 10;

/// Compares these figures of the first run of each side.
pub(super) fn of(
    baseline: &Side,
    candidate: &Side,
    subjects: &[Subject],
    asked: &Asked,
) -> Vec<Compared> {
    let (Some(first), Some(second)) = (baseline.runs.first(), candidate.runs.first()) else {
        return Vec::new();
    };
    let compare = |subject: &Subject| {
        let values = [subject.value(first), subject.value(second)];
        let mut compared = Compared {
            subject: subject.text.clone(),
            unit: subject.unit(),
            baseline: vec![values[0]],
            candidate: vec![values[1]],
            change: change(subject, values, [first, second]),
            outcome: Outcome::Inconclusive,
            text: String::new(),
        };
        match &compared.change {
            Some(change) => {
                compared.outcome = judge::outcome(compared.unit, change, asked);
                compared.text = words::judged(&compared, asked);
            }
            None => compared.text = words::unknown(subject, baseline, candidate),
        }
        compared
    };
    subjects.iter().map(compare).collect()
}

fn change(subject: &Subject, values: [Option<f64>; 2], runs: [&Entrant; 2]) -> Option<Change> {
    let unit = subject.unit();
    let [first, second] = [values[0]?, values[1]?];
    if unit != Unit::Share && (first <= 0.0 || second <= 0.0) {
        return None;
    }
    let interval = interval(subject, runs)
        .map(|(low, high)| (groups::unscale(unit, low), groups::unscale(unit, high)));
    Some(Change {
        estimate: match unit {
            Unit::Share => second - first,
            Unit::Nanoseconds | Unit::PerSecond => second / first - 1.0,
        },
        interval,
        confidence: CONFIDENCE,
        p: None,
        p_beyond_margin: None,
    })
}

/// Where the distance of resamples lies; none where there are too few windows, or where it lies beyond what was answered.
fn interval(subject: &Subject, [first, second]: [&Entrant; 2]) -> Option<(f64, f64)> {
    let mut drawn: Vec<f64> = Vec::with_capacity(RESAMPLES);
    let [first, second] = [draws(subject, first, 1)?, draws(subject, second, 2)?];
    for (first, second) in first.into_iter().zip(second) {
        let distance = match subject.unit() {
            Unit::Share => second - first,
            Unit::Nanoseconds | Unit::PerSecond => (second / first).ln(),
        };
        if !distance.is_finite() {
            return None;
        }
        drawn.push(distance);
    }
    drawn.sort_by(f64::total_cmp);
    let outside = ((1.0 - CONFIDENCE) / 2.0 * drawn.len() as f64) as usize;
    // A time is known as well as a row of the grid is high.
    let blur = match subject.unit() {
        Unit::Nanoseconds => std::f64::consts::LN_10 / GRID.0,
        Unit::Share | Unit::PerSecond => 0.0,
    };
    Some((
        drawn.get(outside)? - blur,
        drawn.get(drawn.len() - 1 - outside)? + blur,
    ))
}

/// A stretch of a run.
#[derive(Default)]
struct Window {
    span_ns: u64,
    ended: u64,
    errors: u64,
    cells: Vec<(usize, u64)>,
    answered: u64,
}

/// What the figure is in each resample of a run.
fn draws(subject: &Subject, entrant: &Entrant, stream: u64) -> Option<Vec<f64>> {
    let run = entrant.run.as_ref()?;
    let row = subject.row(entrant)?;
    let kind = subject.kind_in(row);
    let curve = if row.id == label::ALL {
        &run.totals.history.all
    } else {
        run.totals.history.labels.get(&row.id)?
    };
    let mut cells: BTreeMap<i32, usize> = BTreeMap::new();
    let mut windows = Vec::new();
    let mut counted = Vec::new();
    for (_, point) in curve.points() {
        let mut rows = BTreeMap::new();
        if let Some(kind) = kind {
            GRID.count(&point.part, kind, &mut rows);
        }
        let counters = &point.part.slot.counters;
        windows.push(Window {
            span_ns: point.span.1 - point.span.0,
            ended: counters.ended(),
            errors: counters.errors(),
            answered: rows.values().sum(),
            cells: Vec::new(),
        });
        rows.keys().for_each(|row| {
            cells.insert(*row, 0);
        });
        counted.push(rows);
    }
    if windows.len() < ENOUGH_WINDOWS {
        return None;
    }
    cells
        .values_mut()
        .enumerate()
        .for_each(|(at, place)| *place = at);
    for (window, rows) in windows.iter_mut().zip(counted) {
        window.cells = rows.iter().map(|(row, n)| (cells[row], *n)).collect();
    }
    let bounds: Vec<f64> = cells.keys().map(|row| GRID.bound_ns(*row) as f64).collect();
    let shown: Vec<f64> = windows
        .iter()
        .map(|window| shown(window, &bounds))
        .collect();
    let block = block_length(&shown);
    let mut random = Rng::keyed(0, Purpose::Resampling, stream, 0);
    let draws = (0..RESAMPLES).map(|_| {
        let Resampled(times) = resample(windows.len(), block, &mut random);
        figure(&subject.metric, &windows, &times, &bounds)
    });
    draws.collect()
}

/// What says most of how a window was: the middle of its times, or the share of its errors where it has none.
fn shown(window: &Window, bounds: &[f64]) -> f64 {
    let one = std::slice::from_ref(window);
    let middle = quantile(0.5, one, &[1], bounds);
    if middle.is_finite() && middle > 0.0 {
        middle.ln()
    } else {
        window.errors as f64 / window.ended.max(1) as f64
    }
}

fn figure(metric: &Metric, windows: &[Window], times: &[u32], bounds: &[f64]) -> Option<f64> {
    let sum = |of: fn(&Window) -> u64| -> f64 {
        let parts = windows.iter().zip(times);
        parts
            .map(|(window, n)| of(window) * u64::from(*n))
            .sum::<u64>() as f64
    };
    Some(match metric {
        Metric::Errors => sum(|window| window.errors) / sum(|window| window.ended).max(1.0),
        Metric::Rate => sum(|window| window.ended) / sum(|window| window.span_ns).max(1.0) * 1e9,
        Metric::Time(_, Stat::Quantile(q)) => quantile(*q, windows, times, bounds),
        Metric::Time(_, Stat::Mean) => mean(windows, times, bounds),
        // The largest of what was drawn again is never larger.
        _ => return None,
    })
}

/// The quantile of all, what has no time ranking last: then it is infinite.
fn quantile(q: f64, windows: &[Window], times: &[u32], bounds: &[f64]) -> f64 {
    let mut counts = vec![0u64; bounds.len()];
    let mut all = 0;
    for (window, n) in windows.iter().zip(times).filter(|(_, n)| **n > 0) {
        let n = u64::from(*n);
        all += n * window.ended.max(window.answered);
        window
            .cells
            .iter()
            .for_each(|(cell, count)| counts[*cell] += n * count);
    }
    let Some(mut left) = measure::histogram::rank_of(q, all) else {
        return f64::NAN;
    };
    for (count, bound) in counts.iter().zip(bounds) {
        if left <= *count {
            return *bound;
        }
        left -= count;
    }
    f64::INFINITY
}

fn mean(windows: &[Window], times: &[u32], bounds: &[f64]) -> f64 {
    let (mut sum, mut all) = (0.0, 0u64);
    for (window, n) in windows.iter().zip(times) {
        for (cell, count) in &window.cells {
            sum += bounds[*cell] * (count * u64::from(*n)) as f64;
            all += count * u64::from(*n);
        }
    }
    sum / all as f64
}
