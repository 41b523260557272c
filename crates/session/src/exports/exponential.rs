//! Exponential histograms as defined by OpenTelemetry, created from the buckets of Loadline's
//! histograms. Each exponential bucket is 2.2 % wide. A bucket of 0.1 % width goes completely into
//! the exponential bucket that contains its middle.

use std::collections::BTreeMap;

use measure::{Histogram, histogram::HistogramCell};

/// Base-2 logarithm of the number of buckets per factor of two.
pub(super) const SCALE: i32 = 5;

/// The times of requests. Count, sum, minimum and maximum are exact.
#[derive(Debug, Clone, Default)]
pub(super) struct ExponentialHistogram {
    pub count: u64,
    pub sum_ns: u128,
    pub min_ns: Option<u64>,
    pub max_ns: Option<u64>,
    /// Number of times below a nanosecond.
    pub zero: u64,
    /// Number of times by bucket. Bucket `i` contains times in seconds above `2^(i/32)`, up to
    /// `2^((i+1)/32)`.
    pub buckets: BTreeMap<i32, u64>,
}

impl ExponentialHistogram {
    /// Adds all times of a histogram.
    pub fn add(&mut self, times: &Histogram) {
        self.count += times.count();
        self.sum_ns += times.sum();
        self.min_ns = [self.min_ns, times.min()].into_iter().flatten().min();
        self.max_ns = self.max_ns.max(times.max());
        for HistogramCell { low, high, count } in times.cells() {
            match low.midpoint(high) {
                0 => self.zero += count,
                ns => *self.buckets.entry(bucket_of(ns)).or_default() += count,
            }
        }
    }
}

fn bucket_of(ns: u64) -> i32 {
    let exponent = (ns as f64 / 1e9).log2() * f64::from(1 << SCALE);
    exponent.ceil() as i32 - 1
}

/// Returns the middle of a bucket, in seconds.
pub(super) fn middle_s(bucket: i32) -> f64 {
    ((f64::from(bucket) + 0.5) / f64::from(1 << SCALE)).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_the_times_between_their_bounds() {
        let bounds = |bucket: i32| [bucket, bucket + 1].map(|i| (f64::from(i) / 32.0).exp2());
        for ns in [
            1,
            2,
            999,
            1_000_000,
            1_000_000_000,
            2_000_000_000,
            86_400_000_000_000,
        ] {
            let bucket = bucket_of(ns);
            let [low, high] = bounds(bucket);
            let seconds = ns as f64 / 1e9;
            assert!(low < seconds && seconds <= high, "{ns}: {low} {high}");
            assert!((middle_s(bucket) / seconds - 1.0).abs() < 0.012);
        }
        // Upper bounds are inclusive, and a second is 2^0.
        assert_eq!(bucket_of(1_000_000_000), -1);
    }

    #[test]
    fn sums_are_exact_and_every_time_is_in_one_bucket() {
        let mut times = Histogram::default();
        (0..1000).for_each(|n| times.record(n * 7_919_113));
        let mut histogram = ExponentialHistogram::default();
        histogram.add(&times);
        histogram.add(&times);
        assert_eq!((histogram.count, histogram.zero), (2000, 2));
        assert_eq!(histogram.sum_ns, 2 * times.sum());
        assert_eq!((histogram.min_ns, histogram.max_ns), (Some(0), times.max()));
        assert_eq!(
            histogram.buckets.values().sum::<u64>() + histogram.zero,
            2000
        );
    }
}
