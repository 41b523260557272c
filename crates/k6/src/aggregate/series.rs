//! Aggregated values of one metric or sub-metric.

use super::{sum::Sum, trend::Trend, trend_stat::TrendStat};
use crate::metric::MetricType;

/// The aggregated values of a metric.
#[derive(Debug, Clone)]
pub enum Series {
    /// A sum.
    Counter {
        /// Sum of the values.
        sum: Sum,
        /// Number of samples.
        samples: u64,
    },
    /// The last value, with minimum and maximum.
    Gauge {
        /// Value of the last sample.
        value: f64,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
        /// Time of the last sample, in nanoseconds since 1970.
        last_ns: i64,
        /// Number of samples.
        samples: u64,
    },
    /// The share of values that are not 0.
    Rate {
        /// Number of values that are not 0.
        passes: u64,
        /// Number of all values.
        total: u64,
    },
    /// A distribution.
    Trend(Trend),
}

impl Series {
    /// Creates a series without samples.
    #[must_use]
    pub fn new(metric_type: MetricType) -> Series {
        match metric_type {
            MetricType::Counter => Series::Counter {
                sum: Sum::default(),
                samples: 0,
            },
            MetricType::Gauge => Series::Gauge {
                value: 0.0,
                min: 0.0,
                max: 0.0,
                last_ns: i64::MIN,
                samples: 0,
            },
            MetricType::Rate => Series::Rate {
                passes: 0,
                total: 0,
            },
            MetricType::Trend => Series::Trend(Trend::default()),
        }
    }

    /// Adds a value. Values that are not finite are ignored, except that they count as true for a
    /// rate.
    pub fn add(&mut self, wall_ns: i64, value_added: f64) {
        if let Series::Rate { passes, total } = self {
            *passes += u64::from(value_added != 0.0);
            *total += 1;
            return;
        }
        if !value_added.is_finite() {
            return;
        }
        match self {
            Series::Counter { sum, samples } => {
                sum.add(value_added);
                *samples += 1;
            }
            Series::Gauge { samples: 0, .. } => {
                *self = Series::Gauge {
                    value: value_added,
                    min: value_added,
                    max: value_added,
                    last_ns: wall_ns,
                    samples: 1,
                };
            }
            Series::Gauge {
                value,
                min,
                max,
                last_ns,
                samples,
            } => {
                if wall_ns >= *last_ns {
                    (*value, *last_ns) = (value_added, wall_ns);
                }
                (*min, *max) = (min.min(value_added), max.max(value_added));
                *samples += 1;
            }
            Series::Trend(trend) => trend.add(value_added),
            Series::Rate { .. } => {}
        }
    }

    /// Adds the values of another series of the same metric.
    pub fn merge(&mut self, other: &Series) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        match (self, other) {
            (
                Series::Counter { sum, samples },
                Series::Counter {
                    sum: more,
                    samples: n,
                },
            ) => {
                sum.merge(more);
                *samples += n;
            }
            (
                Series::Gauge {
                    value,
                    min,
                    max,
                    last_ns,
                    samples,
                },
                Series::Gauge {
                    value: other_value,
                    min: other_min,
                    max: other_max,
                    last_ns: other_ns,
                    samples: n,
                },
            ) => {
                if other_ns >= last_ns {
                    (*value, *last_ns) = (*other_value, *other_ns);
                }
                (*min, *max) = (min.min(*other_min), max.max(*other_max));
                *samples += n;
            }
            (
                Series::Rate { passes, total },
                Series::Rate {
                    passes: more,
                    total: n,
                },
            ) => {
                *passes += more;
                *total += n;
            }
            (Series::Trend(trend), Series::Trend(more)) => trend.merge(more),
            // Both series have the type of the metric.
            _ => {}
        }
    }

    /// Returns whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Series::Counter { samples, .. } | Series::Gauge { samples, .. } => *samples == 0,
            Series::Rate { total, .. } => *total == 0,
            Series::Trend(trend) => trend.count() == 0,
        }
    }

    /// Returns the sum of a counter, the last value of a gauge, or the share of a rate.
    #[must_use]
    pub fn value(&self) -> f64 {
        match self {
            Series::Counter { sum, .. } => sum.value(),
            Series::Gauge { value, .. } => *value,
            Series::Rate { total: 0, .. } => 0.0,
            Series::Rate { passes, total } => *passes as f64 / *total as f64,
            Series::Trend(trend) => trend.mean(),
        }
    }

    /// Returns a statistic of a trend, or 0 for other types.
    #[must_use]
    pub fn stat(&self, stat: &TrendStat) -> f64 {
        let Series::Trend(trend) = self else {
            return 0.0;
        };
        match stat {
            TrendStat::Avg => trend.mean(),
            TrendStat::Min => trend.min(),
            TrendStat::Med => trend.percentile(50.0),
            TrendStat::Max => trend.max(),
            TrendStat::Count => trend.count() as f64,
            TrendStat::Percentile { percent, .. } => trend.percentile(*percent),
        }
    }
}

/// Returns the sum per second, or 0 if no time has passed.
#[must_use]
pub fn per_second(sum: f64, duration_ns: u64) -> f64 {
    match duration_ns {
        0 => 0.0,
        ns => sum / (ns as f64 / 1e9),
    }
}
