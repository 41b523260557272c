//! Statistics and percentile table of wrk2's HdrHistogram, with 3 significant digits and in
//! microseconds.

use measure::{accumulator::ValueCounts, histogram};

use super::units;

const TICKS: f64 = 5.0;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spectrum {
    cells: ValueCounts,
    count: u64,
}

impl Spectrum {
    #[must_use]
    pub fn new(cells: ValueCounts) -> Spectrum {
        let count = cells.count();
        Spectrum { cells, count }
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the lowest value of the lowest bucket, or the maximum integer if there are no
    /// values.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.cells.pairs().first().map_or(u64::MAX, |pair| pair.0)
    }

    #[must_use]
    pub fn max(&self) -> u64 {
        self.cells.pairs().last().map_or(0, |pair| pair.0)
    }

    fn medians(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let pairs = self.cells.pairs().iter();
        pairs.map(|(low, n)| {
            let width = histogram::highest_equivalent(*low) - low + 1;
            ((low + width / 2) as f64, *n as f64)
        })
    }

    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.medians().map(|(value, n)| value * n).sum::<f64>() / self.count as f64
    }

    #[must_use]
    pub fn stdev(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let mean = self.mean();
        let sum: f64 = self
            .medians()
            .map(|(value, n)| (value - mean).powi(2) * n)
            .sum();
        (sum / self.count as f64).sqrt()
    }

    #[must_use]
    pub fn within_stdev(&self) -> f64 {
        let (mean, stdev) = (self.mean(), self.stdev());
        let inside = |value: f64| value >= mean - stdev && value <= mean + stdev;
        let pairs = self.cells.pairs().iter();
        let n: u64 = pairs
            .filter(|(low, _)| inside(*low as f64))
            .map(|(_, n)| n)
            .sum();
        n as f64 / self.count as f64 * 100.0
    }

    #[must_use]
    pub fn percentile(&self, p: f64) -> u64 {
        let wanted = ((p.min(100.0) / 100.0 * self.count as f64 + 0.5) as u64).max(1);
        let mut seen = 0;
        for (low, n) in self.cells.pairs() {
            seen += n;
            if seen >= wanted {
                return histogram::highest_equivalent(*low);
            }
        }
        0
    }

    #[must_use]
    pub fn nth(&self, n: usize) -> Option<(u64, u64)> {
        self.cells.pairs().get(n.checked_sub(1)?).copied()
    }

    #[must_use]
    pub fn text(&self, title: &str) -> String {
        let mut text = format!("  Latency Distribution (HdrHistogram - {title})\n");
        for p in [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0] {
            let value = units::time_us(self.percentile(p) as f64);
            text.push_str(&format!("{p:7.3}%{}\n", units::column(&value, 10)));
        }
        text.push_str("\n  Detailed Percentile spectrum:\n");
        text.push_str(&format!(
            "{:>12} {:>12} {:>12} {:>12}\n\n",
            "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
        ));
        self.table(&mut text);
        text.push_str(&format!(
            "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n",
            self.mean() / 1000.0,
            self.stdev() / 1000.0
        ));
        text.push_str(&format!(
            "#[Max     = {:12.3}, Total count    = {:12}]\n",
            self.max() as f64 / 1000.0,
            self.count
        ));
        text.push_str(&format!(
            "#[Buckets = {:12}, SubBuckets     = {:12}]\n",
            27, 2048
        ));
        text.push_str("----------------------------------------------------------\n");
        text
    }

    fn table(&self, text: &mut String) {
        let mut line = |value: u64, percentile: f64, seen: u64| {
            let part = percentile / 100.0;
            text.push_str(&format!(
                "{:12.3} {part:12.6} {seen:12} {:12.2}\n",
                value as f64 / 1000.0,
                1.0 / (1.0 - part)
            ));
        };
        let (mut next, mut seen, mut last) = (0.0f64, 0, 0);
        for (low, n) in self.cells.pairs() {
            seen += n;
            last = histogram::highest_equivalent(*low);
            let reached = 100.0 * seen as f64 / self.count as f64;
            while next <= reached {
                line(last, next, seen);
                let halvings = (100.0 / (100.0 - next)).log2() as i32 + 1;
                next += 100.0 / (TICKS * 2f64.powi(halvings));
                if seen == self.count {
                    break;
                }
            }
        }
        line(last, 100.0, seen);
    }
}
