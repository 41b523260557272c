//! Custom metrics: counters, histograms and other metrics that a test script reports by name.

use std::collections::{BTreeMap, BTreeSet};

use crate::accumulator::Event;

/// Maximum number of metric names. Metrics with further names are counted together as
/// [`OTHER_NAMES`].
pub const MOST_NAMES: usize = 1000;

/// Name under which all metrics beyond [`MOST_NAMES`] are counted.
pub const OTHER_NAMES: &str = "(other names)";

/// Maximum length of a metric name in characters. Longer names are cut.
const LONGEST_NAME: usize = 200;

/// Type of a custom metric. One name may be used for several types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CustomKind {
    /// Sum of whole numbers.
    Counter,
    /// Distribution of values.
    Histogram,
    /// Number of events, shown as a rate per second.
    Rate,
    /// Number of errors that did not end the virtual user.
    Error,
    /// Sum of numbers, which may be fractional.
    Sum,
    /// A level with all its recorded values.
    Gauge,
    /// Share of events with the value 1. Every event has the value 1 or 0.
    Share,
    /// A check of a script: the share of its evaluations that passed.
    Check,
}

impl CustomKind {
    /// All types, in the order of their numbers.
    pub const ALL: [CustomKind; 8] = [
        CustomKind::Counter,
        CustomKind::Histogram,
        CustomKind::Rate,
        CustomKind::Error,
        CustomKind::Sum,
        CustomKind::Gauge,
        CustomKind::Share,
        CustomKind::Check,
    ];

    /// Returns the name in records and summaries.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CustomKind::Counter => "counter",
            CustomKind::Histogram => "histogram",
            CustomKind::Rate => "rate",
            CustomKind::Error => "error",
            CustomKind::Sum => "sum",
            CustomKind::Gauge => "gauge",
            CustomKind::Share => "share",
            CustomKind::Check => "check",
        }
    }

    /// Returns the type with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<CustomKind> {
        CustomKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Limits the number of distinct metric names to [`MOST_NAMES`].
#[derive(Debug, Default)]
pub struct NameLimit {
    known: BTreeSet<(CustomKind, String)>,
}

impl NameLimit {
    /// Returns the name to count under: the name itself, or [`OTHER_NAMES`] if the limit is
    /// reached.
    pub fn limited(&mut self, kind: CustomKind, name: &str) -> String {
        let key = (kind, name.to_owned());
        if self.known.contains(&key) {
            return key.1;
        }
        if self.known.len() >= MOST_NAMES {
            return OTHER_NAMES.to_owned();
        }
        self.known.insert(key.clone());
        key.1
    }
}

/// Counts the custom metrics of one worker.
#[derive(Debug, Default)]
pub struct CustomRecorder {
    names: NameLimit,
    /// Metrics of the current interval, by type in the order of [`CustomKind::ALL`].
    interval: [BTreeMap<String, CustomMetric>; CustomKind::ALL.len()],
}

impl CustomRecorder {
    /// Counts an event. Ignores events that are not custom metrics, and values that are not finite.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Count { name, n } => self.count(CustomKind::Counter, name, n),
            Event::Rate { name } => self.count(CustomKind::Rate, name, 1),
            Event::Remark { name } => self.count(CustomKind::Error, name, 1),
            Event::Value { name, value } => self.value(CustomKind::Histogram, name, value),
            Event::Observed { kind, name, value } => self.value(kind, name, value),
            _ => {}
        }
    }

    fn value(&mut self, kind: CustomKind, name: &str, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.change(kind, name, |metric| {
            metric.count += 1;
            metric.values.record(value);
        });
    }

    fn count(&mut self, kind: CustomKind, name: &str, n: u64) {
        self.change(kind, name, |metric| {
            metric.count = metric.count.saturating_add(n);
        });
    }

    fn change(&mut self, kind: CustomKind, name: &str, change: impl FnOnce(&mut CustomMetric)) {
        let interval = &mut self.interval[kind as usize];
        // Copy the name only if it is new in this interval.
        if let Some(known) = interval.get_mut(name) {
            return change(known);
        }
        let name: String = name.chars().take(LONGEST_NAME).collect();
        let name = self.names.limited(kind, &name);
        change(interval.entry(name).or_default());
    }

    /// Returns the metrics counted since the last call.
    pub fn take(&mut self) -> CustomMetrics {
        let mut all = CustomMetrics::default();
        for (kind, metrics) in CustomKind::ALL.into_iter().zip(&mut self.interval) {
            let metrics = std::mem::take(metrics).into_iter();
            all.metrics
                .extend(metrics.map(|(name, metric)| ((kind, name), metric)));
        }
        all
    }
}

/// The custom metrics of a period.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CustomMetrics {
    /// Metrics by type and name.
    pub metrics: BTreeMap<(CustomKind, String), CustomMetric>,
}

/// The figures of one custom metric.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CustomMetric {
    /// Sum of a counter, or number of values, events or errors.
    pub count: u64,
    /// Values of the events. Empty for counters, rates and errors.
    pub values: ValueHistogram,
}

impl CustomMetrics {
    /// Adds the metrics of another period or worker. Names beyond [`MOST_NAMES`] are counted
    /// together.
    pub fn add(&mut self, other: &CustomMetrics) {
        for ((kind, name), metric) in &other.metrics {
            let mut key = (*kind, name.clone());
            if self.metrics.len() >= MOST_NAMES && !self.metrics.contains_key(&key) {
                OTHER_NAMES.clone_into(&mut key.1);
            }
            let mine = self.metrics.entry(key).or_default();
            mine.count = mine.count.saturating_add(metric.count);
            mine.values.add(&metric.values);
        }
    }

    /// Renames the metrics. Metrics that get the same name are added up.
    #[must_use]
    pub fn renamed(self, rename: impl Fn(&str) -> String) -> CustomMetrics {
        let mut renamed = CustomMetrics::default();
        for ((kind, name), metric) in self.metrics {
            let one = BTreeMap::from([((kind, rename(&name)), metric)]);
            renamed.add(&CustomMetrics { metrics: one });
        }
        renamed
    }

    /// Returns whether metrics were counted together because there were too many names.
    #[must_use]
    pub fn has_other_names(&self) -> bool {
        self.metrics.keys().any(|(_, name)| name == OTHER_NAMES)
    }
}

/// A distribution of finite numbers in log-linear buckets, 1,024 per octave, like the record's
/// histograms of times. Count, sum, minimum and maximum are exact. A sum beyond the range of `f64`
/// saturates.
///
/// In the buckets, values closer to 0 than 2⁻³⁰ count as 0, and values beyond 2⁶⁰ count as 2⁶⁰.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueHistogram {
    cells: BTreeMap<i32, u64>,
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
}

const LEAST: f64 = 1.0 / (1 << 30) as f64;
const MOST: f64 = (1u64 << 60) as f64;
/// Number of mantissa bits that a bucket does not distinguish.
const CUT_BITS: u32 = 42;
/// Offset that gives the index 1 to the bucket that begins at [`LEAST`].
const OFFSET: i32 = (LEAST.to_bits() >> CUT_BITS) as i32 - 1;

fn finite(sum: f64) -> f64 {
    sum.clamp(f64::MIN, f64::MAX)
}

fn cell_of(value: f64) -> i32 {
    let size = value.abs();
    if size < LEAST {
        return 0;
    }
    let cell = (size.min(MOST).to_bits() >> CUT_BITS) as i32 - OFFSET;
    if value < 0.0 { -cell } else { cell }
}

/// Returns the bound of a bucket that is farther from 0.
fn outer_bound(cell: i32) -> f64 {
    let bound = |cell: i32| f64::from_bits((((cell + OFFSET + 1) as u64) << CUT_BITS) - 1);
    match cell {
        0 => 0.0,
        1.. => bound(cell),
        _ => -bound(-cell),
    }
}

impl ValueHistogram {
    /// Records a finite value.
    pub fn record(&mut self, value: f64) {
        *self.cells.entry(cell_of(value)).or_default() += 1;
        self.widen(value, value);
        self.count += 1;
        self.sum = finite(self.sum + value);
    }

    /// Creates a histogram from its buckets and exact figures. Returns `None` if they contradict
    /// each other.
    #[must_use]
    pub fn from_parts(cells: &[(i32, u64)], sum: f64, min: f64, max: f64) -> Option<Self> {
        let limit = cell_of(MOST);
        let are_possible = cells
            .iter()
            .all(|(cell, _)| (-limit..=limit).contains(cell));
        let is_ordered = min <= max && sum.is_finite();
        (are_possible && is_ordered).then(|| ValueHistogram {
            cells: cells.iter().copied().collect(),
            count: cells.iter().fold(0, |all, (_, n)| all.saturating_add(*n)),
            sum,
            min,
            max,
        })
    }

    /// Adds the values of another histogram.
    pub fn add(&mut self, other: &ValueHistogram) {
        if other.count == 0 {
            return;
        }
        for (cell, n) in &other.cells {
            let mine = self.cells.entry(*cell).or_default();
            *mine = mine.saturating_add(*n);
        }
        self.widen(other.min, other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum = finite(self.sum + other.sum);
    }

    fn widen(&mut self, min: f64, max: f64) {
        let is_first = self.count == 0;
        self.min = if is_first { min } else { self.min.min(min) };
        self.max = if is_first { max } else { self.max.max(max) };
    }

    /// Merges groups of 2^`halvings` buckets and counts their values in the middle bucket. Count,
    /// sum, minimum and maximum stay exact. A value moves by at most half the merged width: 0.8 %
    /// for 4 halvings.
    #[must_use]
    pub fn coarse(&self, halvings: u32) -> ValueHistogram {
        let middle = |size: i32| ((size >> halvings) << halvings) + (1 << halvings) / 2;
        let joined = |cell: i32| match cell {
            0 => 0,
            1.. => middle(cell),
            _ => -middle(-cell),
        };
        let mut coarse = ValueHistogram {
            cells: BTreeMap::new(),
            ..*self
        };
        let limit = cell_of(MOST);
        for (cell, n) in &self.cells {
            let joined = joined(*cell).clamp(-limit, limit);
            *coarse.cells.entry(joined).or_default() += n;
        }
        coarse
    }

    /// Returns pairs of bucket index and count, in ascending order of the index.
    pub fn cells(&self) -> impl Iterator<Item = (i32, u64)> + '_ {
        self.cells.iter().map(|(cell, n)| (*cell, *n))
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of the values.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Returns the smallest value, or 0 if there are none.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Returns the largest value, or 0 if there are none.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Returns the mean. `None` if there are no values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Returns a quantile. `None` if there are no values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let rank = crate::histogram::rank_of(q, self.count)?;
        let mut below = 0;
        let (cell, _) = self.cells.iter().find(|(_, n)| {
            below += **n;
            below >= rank
        })?;
        Some(outer_bound(*cell).clamp(self.min, self.max))
    }

    /// Returns the number of values above a bound, to the resolution of the buckets.
    #[must_use]
    pub fn above(&self, bound: f64) -> u64 {
        let beyond = self.cells.range(cell_of(bound) + 1..);
        beyond.map(|(_, n)| n).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram(values: &[f64]) -> ValueHistogram {
        let mut histogram = ValueHistogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_thousandth(
            values in prop::collection::vec(-1e9..1e9f64, 1..200),
            q in 0.01..1.0f64,
        ) {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let rank = crate::histogram::rank_of(q, sorted.len() as u64).unwrap() as usize;
            let (exact, found) = (sorted[rank - 1], histogram(&values).quantile(q).unwrap());
            prop_assert!((found - exact).abs() <= exact.abs() / 1000.0 + 1e-9, "{found} {exact}");
        }

        #[test]
        fn merge_equals_recording_together(
            a in prop::collection::vec(any::<i32>(), 0..40),
            b in prop::collection::vec(any::<i32>(), 0..40),
        ) {
            let [a, b] = [a, b].map(|all| all.into_iter().map(f64::from).collect::<Vec<_>>());
            let mut merged = histogram(&a);
            merged.add(&histogram(&b));
            prop_assert_eq!(merged, histogram(&[a, b].concat()));
        }
    }

    #[test]
    fn extreme_values_stay_in_the_last_buckets() {
        let all = histogram(&[f64::MAX, -f64::MAX, 1e-300, 0.0]);
        assert_eq!((all.min(), all.max()), (-f64::MAX, f64::MAX));
        assert_eq!((all.count(), all.above(0.0)), (4, 1));
        let cells: Vec<(i32, u64)> = all.cells().collect();
        assert_eq!(cells[1], (0, 2));
        assert_eq!(histogram(&[f64::MAX, f64::MAX]).sum(), f64::MAX);
        let read = ValueHistogram::from_parts(&cells, all.sum(), all.min(), all.max()).unwrap();
        assert_eq!(read, all);
        assert_eq!(
            ValueHistogram::from_parts(&[(i32::MAX, 1)], 0.0, 0.0, 0.0),
            None
        );
    }

    #[test]
    fn values_that_are_not_finite_are_left_out() {
        let mut recorder = CustomRecorder::default();
        for value in [1.0, f64::INFINITY, f64::NAN] {
            let (kind, name) = (CustomKind::Sum, "paid");
            recorder.event(&Event::Observed { kind, name, value });
        }
        for n in [u64::MAX, 2] {
            recorder.event(&Event::Count { name: "orders", n });
        }
        let all = recorder.take().metrics;
        let sum = &all[&(CustomKind::Sum, "paid".to_owned())];
        assert_eq!((sum.count, sum.values.sum()), (1, 1.0));
        assert_eq!(
            all[&(CustomKind::Counter, "orders".to_owned())].count,
            u64::MAX
        );
    }

    #[test]
    fn names_beyond_the_limit_are_counted_together() {
        let mut recorder = CustomRecorder::default();
        let long = "x".repeat(5000);
        recorder.event(&Event::Rate { name: &long });
        for i in 0..MOST_NAMES + 5 {
            let name = format!("order {i}");
            recorder.event(&Event::Count { name: &name, n: 2 });
        }
        let all = recorder.take();
        let other = &all.metrics[&(CustomKind::Counter, OTHER_NAMES.to_owned())];
        assert_eq!((all.metrics.len(), other.count), (MOST_NAMES + 1, 12));
        assert!(all.has_other_names());
        assert!(
            all.metrics
                .keys()
                .all(|(_, name)| name.len() <= LONGEST_NAME)
        );
        let mut twice = all.clone();
        twice.add(&all.renamed(|name| format!("{name}!")));
        assert!(twice.metrics.len() <= MOST_NAMES + CustomKind::ALL.len());
    }
}
