//! Intended start times of the arrival-rate executors.
//!
//! Start times at a constant rate are exact. Within a ramp, a start time is the root of a quadratic
//! equation, computed with 64-bit floats in the form without cancellation. It is exact to a
//! nanosecond for stages of up to 50 days. Errors do not accumulate, because each stage begins with
//! the exact area under the rate.

use super::{ConstantArrivalRate, Executor, RampingArrivalRate, Stage, total_duration};

/// The start times at a constant rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ConstantSchedule {
    period_ns: u64,
    total: u64,
}

/// A stage, with the sums of the preceding stages. Areas are in units of half an iteration per time
/// unit, which makes them whole numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ramp {
    start_ns: u64,
    duration_ns: u64,
    from: u64,
    to: u64,
    area_before: u128,
    area: u128,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Constant(ConstantSchedule),
    Ramping { ramps: Vec<Ramp>, scale: u128 },
}

/// All start times of an arrival-rate executor, in nanoseconds from the scenario's start.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrivalSchedule {
    kind: Kind,
    total: u64,
}

impl ConstantArrivalRate {
    /// Returns the start times: multiples of the period, before the end.
    #[must_use]
    pub fn schedule(&self) -> ArrivalSchedule {
        let period_ns = (self.time_unit_ns / self.rate.max(1)).max(1);
        let total = self.duration_ns.div_ceil(period_ns);
        ArrivalSchedule {
            kind: Kind::Constant(ConstantSchedule { period_ns, total }),
            total,
        }
    }
}

impl RampingArrivalRate {
    /// Returns the start times: the times at which the area under the rate reaches 1, 2, and so on.
    /// A start exactly at the regular end is included.
    #[must_use]
    pub fn schedule(&self) -> ArrivalSchedule {
        let mut ramps = Vec::new();
        let (mut start_ns, mut from, mut area_before) = (0_u64, self.start_rate, 0_u128);
        for stage in &self.stages {
            let area = u128::from(stage.duration_ns)
                .saturating_mul(u128::from(from) + u128::from(stage.target));
            ramps.push(Ramp {
                start_ns,
                duration_ns: stage.duration_ns,
                from,
                to: stage.target,
                area_before,
                area,
            });
            area_before = area_before.saturating_add(area);
            start_ns = start_ns.saturating_add(stage.duration_ns);
            from = stage.target;
        }
        let scale = 2 * u128::from(self.time_unit_ns.max(1));
        ArrivalSchedule {
            kind: Kind::Ramping { ramps, scale },
            total: u64::try_from(area_before / scale).unwrap_or(u64::MAX),
        }
    }
}

impl Ramp {
    /// Returns the time from the scenario's start at which the area since the stage's beginning
    /// reaches `area`.
    fn moment(&self, area: u128) -> u64 {
        let (from, to) = (self.from as f64, self.to as f64);
        let duration = self.duration_ns as f64;
        let offset_ns = if self.from == self.to {
            let offset = area / (2 * u128::from(self.from)).max(1);
            u64::try_from(offset).unwrap_or(u64::MAX)
        } else if self.to > self.from {
            let area = area as f64;
            let root = (from * from + area * (to - from) / duration).sqrt();
            (area / (from + root)) as u64
        } else {
            // Measure from the end, where the rate is lowest, to use the form without cancellation.
            let rest = self.area.saturating_sub(area) as f64;
            let root = (to * to + rest * (from - to) / duration).sqrt();
            let before_end = if rest > 0.0 { rest / (to + root) } else { 0.0 };
            self.duration_ns.saturating_sub(before_end.ceil() as u64)
        };
        self.start_ns
            .saturating_add(offset_ns.min(self.duration_ns))
    }
}

impl ArrivalSchedule {
    /// Returns the total number of starts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the time of a start by its index, from 0. `None` if the index is too high.
    #[must_use]
    pub fn start_ns(&self, index: u64) -> Option<u64> {
        if index >= self.total {
            return None;
        }
        match &self.kind {
            Kind::Constant(constant) => index.checked_mul(constant.period_ns),
            Kind::Ramping { ramps, scale } => {
                let area = (u128::from(index) + 1).saturating_mul(*scale);
                let ramp = ramps.partition_point(|ramp| ramp.area_before + ramp.area < area);
                let ramp = ramps.get(ramp)?;
                Some(ramp.moment(area - ramp.area_before))
            }
        }
    }

    /// Returns the number of starts before a time.
    #[must_use]
    pub fn planned(&self, until_ns: u64) -> u64 {
        let (mut low, mut high) = (0, self.total);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.start_ns(middle).is_some_and(|start| start < until_ns) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns the start times in order.
    #[must_use]
    pub fn iter(&self) -> Arrivals<'_> {
        self.part(0, 1)
    }

    /// Returns every `of`-th start time, beginning with the one that has this index.
    #[must_use]
    pub fn part(&self, index: u64, of: u64) -> Arrivals<'_> {
        Arrivals {
            schedule: self,
            index,
            step: of.max(1),
            last_ns: 0,
        }
    }
}

/// An iterator over start times, in nanoseconds from the scenario's start. Times never decrease.
#[derive(Debug, Clone)]
pub struct Arrivals<'a> {
    schedule: &'a ArrivalSchedule,
    index: u64,
    step: u64,
    last_ns: u64,
}

impl Iterator for Arrivals<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let start = self.schedule.start_ns(self.index)?;
        self.index = self.index.saturating_add(self.step);
        self.last_ns = self.last_ns.max(start);
        Some(self.last_ns)
    }
}

impl<'a> IntoIterator for &'a ArrivalSchedule {
    type Item = u64;
    type IntoIter = Arrivals<'a>;

    fn into_iter(self) -> Arrivals<'a> {
        self.iter()
    }
}

impl Executor {
    /// Returns the start times of an arrival-rate executor. `None` for other executors.
    #[must_use]
    pub fn arrivals(&self) -> Option<ArrivalSchedule> {
        match self {
            Executor::ConstantArrivalRate(rate) => Some(rate.schedule()),
            Executor::RampingArrivalRate(rate) => Some(rate.schedule()),
            _ => None,
        }
    }

    /// Returns the rate of an arrival-rate executor at a time, in iterations per second. `None` for
    /// other executors. After the regular end, it is the last rate.
    #[must_use]
    pub fn rate_at(&self, at_ns: u64) -> Option<f64> {
        match self {
            Executor::ConstantArrivalRate(rate) => {
                Some(rate.rate as f64 * 1e9 / rate.time_unit_ns.max(1) as f64)
            }
            Executor::RampingArrivalRate(ramp) => {
                let rate = level_at(ramp.start_rate, &ramp.stages, at_ns);
                Some(rate * 1e9 / ramp.time_unit_ns.max(1) as f64)
            }
            _ => None,
        }
    }

    /// Returns the share of the regular duration that has passed, from 0 to 1.
    #[must_use]
    pub fn progress_at(&self, at_ns: u64) -> f64 {
        match self.end_ns() {
            0 => 1.0,
            end_ns => (at_ns as f64 / end_ns as f64).min(1.0),
        }
    }
}

fn level_at(start: u64, stages: &[Stage], at_ns: u64) -> f64 {
    let at_ns = at_ns.min(total_duration(stages));
    let (mut start_ns, mut from) = (0_u64, start);
    for stage in stages {
        let end_ns = start_ns.saturating_add(stage.duration_ns);
        if at_ns < end_ns {
            let share = (at_ns - start_ns) as f64 / stage.duration_ns as f64;
            return from as f64 + (stage.target as f64 - from as f64) * share;
        }
        start_ns = end_ns;
        from = stage.target;
    }
    from as f64
}
