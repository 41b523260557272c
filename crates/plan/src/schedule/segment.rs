//! A period with evenly spaced arrivals: `start + (j + offset) × gap`. The gap is an exact fraction
//! of nanoseconds.

use crate::{Rate, units::SECOND};

#[derive(Debug, Clone, Copy)]
pub(super) struct RateSegment {
    pub start_ns: u64,
    pub count: u64,
    /// Numerator of the nanoseconds between arrivals.
    pub gap_num: u64,
    pub gap_den: u64,
    /// 0 if the first arrival is at the start, or 1 if it is one gap later.
    pub offset: u64,
}

impl RateSegment {
    pub fn of_rate(start_ns: u64, duration_ns: u64, rate: Rate, offset: u64) -> RateSegment {
        RateSegment {
            start_ns,
            count: rate.events_in(duration_ns),
            gap_num: rate.per_ns,
            gap_den: rate.count.max(1),
            offset,
        }
    }

    pub fn of_count(start_ns: u64, duration_ns: u64, count: u64, offset: u64) -> RateSegment {
        RateSegment {
            start_ns,
            count,
            gap_num: duration_ns,
            gap_den: count.max(1),
            offset,
        }
    }

    pub fn at(&self, j: u64) -> u64 {
        let steps = u128::from(j + self.offset);
        self.start_ns + (steps * u128::from(self.gap_num) / u128::from(self.gap_den)) as u64
    }
}

pub(super) fn per_second(count: u64) -> f64 {
    count as f64 / SECOND as f64
}
