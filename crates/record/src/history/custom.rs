//! Custom metrics over time, in the points of all requests.
//!
//! A script may report a thousand metrics, so only some are kept: those that criteria judge, and
//! the first of the others.

use std::collections::{BTreeMap, BTreeSet};

use measure::custom::{CustomKind, CustomMetric, CustomMetrics, ValueHistogram};

use crate::number_table::NumberTable;

/// Maximum number of metrics to keep over time.
pub const MOST_CUSTOM: usize = 24;

/// Number of times that the resolution of wide points is halved, which moves percentiles by at most
/// 0.8 %.
const HALVINGS: u32 = 4;
/// Number of values that precede the buckets of a packed metric: index, count, and the bits of sum,
/// minimum and maximum.
const EXACT: usize = 5;

/// Type and name of a metric.
pub type CustomKey = (CustomKind, String);

#[derive(Debug, Clone)]
pub struct CustomHistory {
    judged: BTreeSet<String>,
    names: Vec<CustomKey>,
    width_s: u64,
    finished: BTreeMap<u64, NumberTable>,
    open: Option<(u64, Metrics)>,
}

/// Metrics of a point, by their index in `names`.
type Metrics = BTreeMap<usize, CustomMetric>;

impl Default for CustomHistory {
    fn default() -> CustomHistory {
        CustomHistory::new(BTreeSet::new())
    }
}

impl CustomHistory {
    /// Creates a history that gives precedence to the metrics with names in `judged`.
    #[must_use]
    pub fn new(judged: BTreeSet<String>) -> CustomHistory {
        CustomHistory {
            judged,
            names: Vec::new(),
            width_s: 1,
            finished: BTreeMap::new(),
            open: None,
        }
    }

    /// Adds the metrics of an interval that began in this second. `width_s` is the width of a
    /// point, which never shrinks.
    pub fn add(&mut self, second: u64, width_s: u64, metrics: &CustomMetrics) {
        while self.width_s < width_s {
            self.widen();
        }
        for (key, metric) in &metrics.metrics {
            let Some(index) = self.index(key) else {
                continue;
            };
            let point = self.reach(second / self.width_s);
            add(point.entry(index).or_default(), metric);
        }
    }

    /// Returns the types and names of the kept metrics. Points refer to them by index.
    #[must_use]
    pub fn names(&self) -> &[CustomKey] {
        &self.names
    }

    /// Returns the points by number. Each contains its metrics by index.
    #[must_use]
    pub fn points(&self) -> BTreeMap<u64, BTreeMap<usize, CustomMetric>> {
        let finished = self.finished.iter();
        let finished = finished.map(|(number, table)| (*number, unpack(table)));
        finished.chain(self.open.clone()).collect()
    }

    fn index(&mut self, key: &CustomKey) -> Option<usize> {
        if let Some(known) = self.names.iter().position(|known| known == key) {
            return Some(known);
        }
        let is_kept = |name: &String| self.names.iter().any(|(_, known)| known == name);
        let reserved = match self.judged.contains(&key.1) {
            true => 0,
            false => self.judged.iter().filter(|name| !is_kept(name)).count(),
        };
        if self.names.len() + reserved >= MOST_CUSTOM {
            return None;
        }
        self.names.push(key.clone());
        Some(self.names.len() - 1)
    }

    fn reach(&mut self, number: u64) -> &mut Metrics {
        if self.open.as_ref().is_none_or(|(open, _)| *open != number) {
            self.pack();
            let known = self.finished.remove(&number);
            self.open = Some((
                number,
                known.map(|table| unpack(&table)).unwrap_or_default(),
            ));
        }
        let (_, point) = self.open.get_or_insert_default();
        point
    }

    fn pack(&mut self) {
        if let Some((number, point)) = self.open.take() {
            let halvings = if self.width_s == 1 { 0 } else { HALVINGS };
            let rows = point.iter();
            let rows = rows.map(|(index, metric)| numbers(*index, metric, halvings));
            self.finished.insert(number, NumberTable::pack(rows));
        }
    }

    fn widen(&mut self) {
        self.pack();
        self.width_s *= 2;
        for (number, table) in std::mem::take(&mut self.finished) {
            let point = self.reach(number / 2);
            for (index, metric) in unpack(&table) {
                add(point.entry(index).or_default(), &metric);
            }
        }
    }
}

fn add(sum: &mut CustomMetric, other: &CustomMetric) {
    sum.count = sum.count.saturating_add(other.count);
    sum.values.add(&other.values);
}

/// Each bucket is stored as the distance from the previous bucket, followed by the count.
fn numbers(index: usize, metric: &CustomMetric, halvings: u32) -> Vec<u64> {
    let values = metric.values.coarse(halvings);
    let exact = [values.sum(), values.min(), values.max()].map(f64::to_bits);
    let mut numbers = vec![index as u64, metric.count];
    numbers.extend(exact);
    let mut before = 0_i32;
    for (cell, n) in values.cells() {
        numbers.push(i64::from(cell.wrapping_sub(before)).cast_unsigned());
        numbers.push(n);
        before = cell;
    }
    numbers
}

fn unpack(table: &NumberTable) -> Metrics {
    let metric = |numbers: Vec<u64>| {
        let [index, count, sum, min, max] = *numbers.first_chunk::<EXACT>()?;
        let mut cell = 0_i32;
        let cells = numbers[EXACT..].as_chunks::<2>().0.iter();
        let cells = cells.map(|[distance, n]| {
            cell = cell.wrapping_add(distance.cast_signed() as i32);
            (cell, *n)
        });
        let cells: Vec<(i32, u64)> = cells.collect();
        let [sum, min, max] = [sum, min, max].map(f64::from_bits);
        let values = match cells.as_slice() {
            [] => ValueHistogram::default(),
            cells => ValueHistogram::from_parts(cells, sum, min, max)?,
        };
        Some((index as usize, CustomMetric { count, values }))
    };
    table.rows().filter_map(metric).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(kind: CustomKind, name: &str, values: &[f64]) -> CustomMetrics {
        let mut metric = CustomMetric {
            count: values.len() as u64,
            ..CustomMetric::default()
        };
        if kind == CustomKind::Histogram {
            values.iter().for_each(|value| metric.values.record(*value));
        }
        CustomMetrics {
            metrics: BTreeMap::from([((kind, name.to_owned()), metric)]),
        }
    }

    #[test]
    fn points_are_read_as_they_were_added() {
        let mut history = CustomHistory::default();
        let values = [-2.5, 0.0, 3.0, 1e6];
        for second in [7, 8, 7] {
            history.add(second, 1, &metrics(CustomKind::Histogram, "size", &values));
            history.add(second, 1, &metrics(CustomKind::Counter, "orders", &values));
        }
        let points = history.points();
        let keys = [
            (CustomKind::Histogram, "size"),
            (CustomKind::Counter, "orders"),
        ];
        assert_eq!(
            history.names(),
            keys.map(|(kind, name)| (kind, name.to_owned()))
        );
        let counts = |number: u64| points[&number].values().map(|metric| metric.count);
        assert_eq!(counts(7).collect::<Vec<_>>(), [8, 8]);
        assert_eq!(counts(8).collect::<Vec<_>>(), [4, 4]);
        let mut expected = ValueHistogram::default();
        values.iter().for_each(|value| expected.record(*value));
        assert_eq!(points[&8][&0].values, expected);
        assert_eq!(points[&8][&1].values, ValueHistogram::default());
    }

    #[test]
    fn wide_points_lose_no_value_and_little_precision() {
        let mut history = CustomHistory::default();
        for second in 100..1700 {
            let values = [f64::from(second as u32), -5.0];
            let width_s = if second < 900 { 1 } else { 4 };
            history.add(
                second,
                width_s,
                &metrics(CustomKind::Histogram, "size", &values),
            );
        }
        let points = history.points();
        assert_eq!(
            points.keys().copied().collect::<Vec<_>>(),
            (25..425).collect::<Vec<_>>()
        );
        for (number, point) in points {
            let values = &point[&0].values;
            assert_eq!(
                (point[&0].count, values.count(), values.min()),
                (8, 8, -5.0)
            );
            let wanted = number as f64 * 4.0 + 1.0;
            let found = values.quantile(0.75).unwrap();
            assert!((found - wanted).abs() < 0.01 * wanted, "{found} {wanted}");
        }
    }

    #[test]
    fn judged_metrics_are_kept_if_there_are_many() {
        let mut history = CustomHistory::new(BTreeSet::from(["last".to_owned()]));
        for number in 0..100 {
            let name = format!("order {number}");
            history.add(1, 1, &metrics(CustomKind::Counter, &name, &[1.0]));
        }
        history.add(1, 1, &metrics(CustomKind::Counter, "last", &[1.0]));
        assert_eq!(history.names().len(), MOST_CUSTOM);
        assert_eq!(history.names().last().unwrap().1, "last");
    }
}
