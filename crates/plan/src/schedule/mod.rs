//! The schedule: the intended start of every arrival, in integer nanoseconds from the start of the
//! run.
//!
//! Each arrival is computed from its number alone, without running sums. Therefore errors do not
//! accumulate, and each shard can be computed independently.

mod changed;
mod poisson;
mod segment;

use crate::{ArrivalProcess, FirstArrival, Load, Phase, Rate, Shape, Share, units::SECOND};
use poisson::PoissonPhase;
use segment::RateSegment;

/// An arrival of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Number of the arrival, from 0.
    pub number: u64,
    /// Intended start, in nanoseconds from the start of the run.
    pub intended_ns: u64,
    /// Index of the arrival's phase.
    pub phase: u32,
}

/// The arrivals of an open load, or the single arrival of [`Load::Once`]. Empty for a closed load.
#[derive(Debug, Clone)]
pub struct Schedule {
    parts: Vec<SchedulePart>,
    /// End of each phase, in nanoseconds from the start.
    phase_ends: Vec<u64>,
    total: u64,
    arrivals_at_ends: bool,
}

#[derive(Debug, Clone)]
struct SchedulePart {
    first: u64,
    count: u64,
    phase: u32,
    kind: PartKind,
}

#[derive(Debug, Clone)]
enum PartKind {
    Even(RateSegment),
    Poisson(PoissonPhase),
}

impl Schedule {
    /// Creates the schedule of a load. The seed affects Poisson arrivals only.
    #[must_use]
    pub fn new(load: &Load, seed: u64) -> Schedule {
        let mut schedule = Schedule {
            parts: Vec::new(),
            phase_ends: Vec::new(),
            total: 0,
            arrivals_at_ends: matches!(
                load,
                Load::Open {
                    first: FirstArrival::AfterOneGap,
                    ..
                }
            ),
        };
        match load {
            Load::Open { phases, first } => {
                let mut start = 0;
                for (index, phase) in phases.iter().enumerate() {
                    schedule.add_phase(index as u32, start, phase, *first, seed);
                    start += phase.duration_ns;
                    schedule.phase_ends.push(start);
                }
            }
            Load::Once => {
                schedule.push(
                    0,
                    PartKind::Even(RateSegment {
                        start_ns: 0,
                        count: 1,
                        gap_num: 0,
                        gap_den: 1,
                        offset: 0,
                    }),
                );
                schedule.phase_ends.push(0);
            }
            Load::Closed {
                duration_ns,
                phases,
                ..
            } => {
                let ends = phases.iter().scan(0, |end_ns, phase| {
                    *end_ns += phase.duration_ns;
                    Some(*end_ns)
                });
                schedule.phase_ends.extend(ends);
                if phases.is_empty() {
                    schedule.phase_ends.push(*duration_ns);
                }
            }
            // Several loads have separate schedules, which their driver creates.
            Load::Several { .. } => schedule.phase_ends.push(load.end_ns()),
        }
        if crate::mutant::is(crate::mutant::Mutant::TruncatedSchedule) {
            schedule.total -= schedule.total / 50;
        }
        schedule
    }

    /// Truncates the schedule at the given time. Later arrivals and phases are removed. The
    /// remaining ones keep their times and numbers.
    #[must_use]
    pub fn until(mut self, end_ns: u64) -> Schedule {
        if end_ns >= self.end_ns() {
            return self;
        }
        // Keep an arrival exactly at the new end, if phases include the arrivals at their ends.
        self.total = self.due(end_ns);
        let last_part = self.part_of(self.total);
        if let Some(last_part) = last_part {
            let part = &mut self.parts[last_part];
            part.count = self.total - part.first;
            self.parts.truncate(last_part + 1);
            self.parts.retain(|part| part.count > 0);
        }
        let phases = 1 + self.phase_ends.partition_point(|end| *end < end_ns);
        self.phase_ends.truncate(phases);
        if let Some(last) = self.phase_ends.last_mut() {
            *last = end_ns;
        }
        self
    }

    /// Returns the total number of arrivals.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the end of the last phase, in nanoseconds from the start.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.phase_ends.last().copied().unwrap_or(0)
    }

    /// Returns the end of each phase, in nanoseconds from the start.
    #[must_use]
    pub fn phase_ends(&self) -> &[u64] {
        &self.phase_ends
    }

    /// Returns the phase at the given time. Times after the end belong to the last phase.
    #[must_use]
    pub fn phase_at(&self, at_ns: u64) -> u32 {
        let index = self.phase_ends.partition_point(|end| *end <= at_ns);
        index.min(self.phase_ends.len().saturating_sub(1)) as u32
    }

    /// Returns whether a phase may include an arrival exactly at its end, where the next phase
    /// starts.
    #[must_use]
    pub fn has_arrivals_at_ends(&self) -> bool {
        self.arrivals_at_ends
    }

    /// Returns the number of arrivals of a phase.
    #[must_use]
    pub fn phase_total(&self, phase: u32) -> u64 {
        self.parts
            .iter()
            .filter(|part| part.phase == phase)
            .map(|part| part.count)
            .sum()
    }

    /// Returns the arrival with the given number. `None` if the schedule has fewer arrivals.
    #[must_use]
    pub fn at(&self, number: u64) -> Option<Arrival> {
        let part = self.part_of(number)?;
        Some(self.parts[part].arrival(number))
    }

    /// Returns the number of arrivals due by the given time. An arrival exactly at that time counts
    /// only if phases include the arrivals at their ends.
    #[must_use]
    pub fn due(&self, until_ns: u64) -> u64 {
        self.first_not(|intended_ns| self.is_due(intended_ns, until_ns))
    }

    /// Returns whether an arrival with this intended start is due by the given time.
    #[must_use]
    pub fn is_due(&self, intended_ns: u64, until_ns: u64) -> bool {
        intended_ns < until_ns || self.arrivals_at_ends && intended_ns == until_ns
    }

    /// Returns the number of arrivals intended before the given time. This is also the number of
    /// the first arrival at or after that time.
    #[must_use]
    pub fn before(&self, at_ns: u64) -> u64 {
        self.first_not(|intended_ns| intended_ns < at_ns)
    }

    /// Returns the number of the first arrival for which `is_so` is false. Uses binary search, so
    /// `is_so` must be monotone.
    fn first_not(&self, is_so: impl Fn(u64) -> bool) -> u64 {
        let (mut so, mut not_so) = (0, self.total);
        while so < not_so {
            let middle = so + (not_so - so) / 2;
            if self
                .at(middle)
                .is_some_and(|arrival| is_so(arrival.intended_ns))
            {
                so = middle + 1;
            } else {
                not_so = middle;
            }
        }
        so
    }

    /// Returns how many arrivals of `share` are intended at `from_ns` or later and due by
    /// `until_ns`.
    #[must_use]
    pub fn due_of_share(&self, share: Share, from_ns: u64, until_ns: u64) -> u64 {
        let first = share.of_first(self.before(from_ns));
        share.of_first(self.due(until_ns)).saturating_sub(first)
    }

    /// Returns how many arrivals of shard `shard` are due by `until_ns`, if the schedule is split
    /// into `of` shards.
    #[must_use]
    pub fn due_of_shard(&self, shard: u64, of: u64, until_ns: u64) -> u64 {
        (self.due(until_ns) + of.max(1) - 1).saturating_sub(shard) / of.max(1)
    }

    /// Returns every `of`-th arrival, starting with number `shard`: the arrivals of one worker.
    #[must_use]
    pub fn shard(&self, shard: u64, of: u64) -> Shard<'_> {
        Shard {
            schedule: self,
            next: shard,
            step: of.max(1),
            part: 0,
        }
    }

    /// Returns the arrivals of `share` that are intended at `from_ns` or later.
    #[must_use]
    pub fn shard_from(&self, share: Share, from_ns: u64) -> Shard<'_> {
        let skipped = share.of_first(self.before(from_ns));
        self.shard(share.index + skipped * share.of, share.of)
    }

    fn part_of(&self, number: u64) -> Option<usize> {
        let index = self
            .parts
            .partition_point(|part| part.first + part.count <= number);
        (index < self.parts.len()).then_some(index)
    }

    fn add_phase(
        &mut self,
        index: u32,
        start_ns: u64,
        phase: &Phase,
        first: FirstArrival,
        seed: u64,
    ) {
        if phase.arrivals == ArrivalProcess::Poisson
            && !matches!(phase.shape, Shape::Count(_) | Shape::Pause)
        {
            self.push(
                index,
                PartKind::Poisson(PoissonPhase::new(start_ns, phase, index, seed)),
            );
            return;
        }
        let offset = match first {
            FirstArrival::AtStart => 0,
            FirstArrival::AfterOneGap => 1,
        };
        match phase.shape {
            Shape::Pause => {}
            Shape::Rate(rate) => self.push(
                index,
                PartKind::Even(RateSegment::of_rate(
                    start_ns,
                    phase.duration_ns,
                    rate,
                    offset,
                )),
            ),
            Shape::Count(count) => self.push(
                index,
                PartKind::Even(RateSegment::of_count(
                    start_ns,
                    phase.duration_ns,
                    count,
                    offset,
                )),
            ),
            Shape::Staircase { from, to } => {
                for (step, count) in staircase(from, to, phase.duration_ns).enumerate() {
                    let step_start = start_ns + step as u64 * SECOND;
                    // With a fractional duration, the last step is shorter. A phase of less than a
                    // second has a single step.
                    let length = SECOND.min(phase.duration_ns - step as u64 * SECOND);
                    self.push(
                        index,
                        PartKind::Even(RateSegment::of_count(step_start, length, count, offset)),
                    );
                }
            }
        }
    }

    fn push(&mut self, phase: u32, kind: PartKind) {
        let count = match &kind {
            PartKind::Even(segment) => segment.count,
            PartKind::Poisson(poisson) => poisson.total(),
        };
        if count > 0 {
            self.parts.push(SchedulePart {
                first: self.total,
                count,
                phase,
                kind,
            });
            self.total += count;
        }
    }
}

impl SchedulePart {
    fn arrival(&self, number: u64) -> Arrival {
        let j = number - self.first;
        let intended_ns = match &self.kind {
            PartKind::Even(segment) => segment.at(j),
            PartKind::Poisson(poisson) => poisson.at(j),
        };
        Arrival {
            number,
            intended_ns,
            phase: self.phase,
        }
    }
}

/// An iterator over the arrivals of a share.
#[derive(Debug, Clone)]
pub struct Shard<'a> {
    schedule: &'a Schedule,
    next: u64,
    step: u64,
    /// Index of the last arrival's part. Arrivals are requested in order, so the search can start
    /// here.
    part: usize,
}

impl Iterator for Shard<'_> {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let parts = &self.schedule.parts;
        while parts
            .get(self.part)
            .is_some_and(|part| part.first + part.count <= self.next)
        {
            self.part += 1;
        }
        if self.next >= self.schedule.total {
            return None;
        }
        let arrival = parts.get(self.part)?.arrival(self.next);
        self.next += self.step;
        Some(arrival)
    }
}

/// Returns the arrivals per second of each step of Artillery's ramp. Step i of n has the rate
/// `a + (b - a) * i / (n - 1)`, rounded half up. A single step has the rounded mean of both ends.
pub(crate) fn staircase(
    from: Rate,
    to: Rate,
    duration_ns: u64,
) -> impl Iterator<Item = u64> + use<> {
    let steps = duration_ns.div_ceil(SECOND).max(1);
    let ends = common(from, to, steps);
    (0..steps).map(move |i| match ends {
        Some((a, b, denominator)) => {
            let (numerator, denominator) = if steps == 1 {
                (a + b, denominator * 2)
            } else {
                (
                    a * i128::from(steps - 1) + (b - a) * i128::from(i),
                    denominator * i128::from(steps - 1),
                )
            };
            ((2 * numerator + denominator) / (2 * denominator)).max(0) as u64
        }
        None => {
            let share = if steps == 1 {
                0.5
            } else {
                i as f64 / (steps - 1) as f64
            };
            let rate = from.as_f64() + (to.as_f64() - from.as_f64()) * share;
            (rate + 0.5).floor().max(0.0) as u64
        }
    })
}

/// Returns both rates as fractions with a common denominator, so that halves always round equally.
/// `None` if the steps do not fit into 128 bits.
fn common(from: Rate, to: Rate, steps: u64) -> Option<(i128, i128, i128)> {
    let of = |count: u64, other: u64| {
        let product = i128::from(count).checked_mul(i128::from(other))?;
        product.checked_mul(i128::from(SECOND))
    };
    let (a, b) = (of(from.count, to.per_ns)?, of(to.count, from.per_ns)?);
    let denominator = i128::from(from.per_ns) * i128::from(to.per_ns);
    // Largest number in the computation of a step.
    let most = a.max(b).checked_add(denominator)?;
    most.checked_mul(8)?.checked_mul(i128::from(steps))?;
    Some((a, b, denominator))
}

#[cfg(test)]
mod changed_tests;
#[cfg(test)]
mod tests;
