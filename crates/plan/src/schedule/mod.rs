//! The schedule: which arrival is intended when, in integer nanoseconds from the start of the test, in closed form.
//!
//! Arrival k's time is computed from k alone: no running sum, no period added to "now", so nothing drifts and any shard
//! can compute any part. This module waits for nothing and reads no clock.

mod changed;
mod poisson;
mod segment;

use crate::{Arrivals, FirstArrival, Load, Phase, Rate, Shape, Share, units::SECOND};
use poisson::PoissonPhase;
use segment::Segment;

/// One intended arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Its number, from 0.
    pub number: u64,
    /// Nanoseconds from the start of the test.
    pub intended_ns: u64,
    /// The phase it belongs to.
    pub phase: u32,
}

/// The arrivals of an open load, or the single one of [`Load::Once`]. A closed load has no schedule: it is empty.
#[derive(Debug, Clone)]
pub struct Schedule {
    parts: Vec<Part>,
    /// End of each phase, in nanoseconds from the start.
    phase_ends: Vec<u64>,
    total: u64,
    arrivals_at_ends: bool,
}

#[derive(Debug, Clone)]
struct Part {
    /// Number of the part's first arrival.
    first: u64,
    count: u64,
    phase: u32,
    kind: PartKind,
}

#[derive(Debug, Clone)]
enum PartKind {
    Even(Segment),
    Poisson(PoissonPhase),
}

impl Schedule {
    /// The schedule of a load under a seed. The seed matters to Poisson arrivals only.
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
                    PartKind::Even(Segment {
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
        }
        if crate::mutant::is(crate::mutant::Mutant::TruncatedSchedule) {
            schedule.total -= schedule.total / 50;
        }
        schedule
    }

    /// The same up to a moment: what would be due then or later is not planned, and phases that would begin then or later are
    /// none. No other arrival changes its time or its number.
    #[must_use]
    pub fn until(mut self, end_ns: u64) -> Schedule {
        if end_ns >= self.end_ns() {
            return self;
        }
        // Where a phase's last arrival falls on its end, one at the new end does too.
        self.total = self.due(end_ns);
        let kept = self.part_of(self.total);
        if let Some(kept) = kept {
            let part = &mut self.parts[kept];
            part.count = self.total - part.first;
            self.parts.truncate(kept + 1);
            self.parts.retain(|part| part.count > 0);
        }
        let phases = 1 + self.phase_ends.partition_point(|end| *end < end_ns);
        self.phase_ends.truncate(phases);
        if let Some(last) = self.phase_ends.last_mut() {
            *last = end_ns;
        }
        self
    }

    /// How many arrivals there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The end of the last phase.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.phase_ends.last().copied().unwrap_or(0)
    }

    /// The end of each phase.
    #[must_use]
    pub fn phase_ends(&self) -> &[u64] {
        &self.phase_ends
    }

    /// The phase that a moment belongs to; moments after the end belong to the last one.
    #[must_use]
    pub fn phase_at(&self, at_ns: u64) -> u32 {
        let index = self.phase_ends.partition_point(|end| *end <= at_ns);
        index.min(self.phase_ends.len().saturating_sub(1)) as u32
    }

    /// Whether a phase's last arrival falls on its end, which is the beginning of the next.
    #[must_use]
    pub fn has_arrivals_at_ends(&self) -> bool {
        self.arrivals_at_ends
    }

    /// How many arrivals a phase has.
    #[must_use]
    pub fn phase_total(&self, phase: u32) -> u64 {
        self.parts
            .iter()
            .filter(|part| part.phase == phase)
            .map(|part| part.count)
            .sum()
    }

    /// Arrival number k, computed alone.
    #[must_use]
    pub fn at(&self, number: u64) -> Option<Arrival> {
        let part = self.part_of(number)?;
        Some(self.parts[part].arrival(number))
    }

    /// How many arrivals are due until a moment: what was planned, whatever became of it. An arrival at the moment itself counts
    /// where a phase's last arrival falls on its end, as it does for phases.
    #[must_use]
    pub fn due(&self, until_ns: u64) -> u64 {
        self.first_not(|intended_ns| self.is_due(intended_ns, until_ns))
    }

    /// Whether what is intended at a moment is due until another.
    #[must_use]
    pub fn is_due(&self, intended_ns: u64, until_ns: u64) -> bool {
        intended_ns < until_ns || self.arrivals_at_ends && intended_ns == until_ns
    }

    /// How many arrivals are intended before a moment: the number of the first at it or behind it.
    #[must_use]
    pub fn before(&self, at_ns: u64) -> u64 {
        self.first_not(|intended_ns| intended_ns < at_ns)
    }

    /// The first arrival of which something is not so that is so of all before it.
    fn first_not(&self, is_so: impl Fn(u64) -> bool) -> u64 {
        // Arrivals are numbered in the order of their times: by bisection.
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

    /// Of the arrivals of a share that are intended at a moment or behind it, those that are due until another.
    #[must_use]
    pub fn due_of_share(&self, share: Share, from_ns: u64, until_ns: u64) -> u64 {
        let first = share.of_first(self.before(from_ns));
        share.of_first(self.due(until_ns)).saturating_sub(first)
    }

    /// Of the arrivals that are due until a moment, those of one of n shards.
    #[must_use]
    pub fn due_of_shard(&self, shard: u64, of: u64, until_ns: u64) -> u64 {
        (self.due(until_ns) + of.max(1) - 1).saturating_sub(shard) / of.max(1)
    }

    /// Every n-th arrival beginning with `shard`: what one of n workers starts.
    #[must_use]
    pub fn shard(&self, shard: u64, of: u64) -> Shard<'_> {
        Shard {
            schedule: self,
            next: shard,
            step: of.max(1),
            part: 0,
        }
    }

    /// The arrivals of a share that are intended at a moment or behind it.
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
        if phase.arrivals == Arrivals::Poisson
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
                PartKind::Even(Segment::of_rate(start_ns, phase.duration_ns, rate, offset)),
            ),
            Shape::Count(count) => self.push(
                index,
                PartKind::Even(Segment::of_count(
                    start_ns,
                    phase.duration_ns,
                    count,
                    offset,
                )),
            ),
            Shape::Staircase { from, to } => {
                for (step, count) in staircase(from, to, phase.duration_ns).enumerate() {
                    let step_start = start_ns + step as u64 * SECOND;
                    // The last step of a fractional duration is shorter; a phase below one second is a single step.
                    let length = SECOND.min(phase.duration_ns - step as u64 * SECOND);
                    self.push(
                        index,
                        PartKind::Even(Segment::of_count(step_start, length, count, offset)),
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
            self.parts.push(Part {
                first: self.total,
                count,
                phase,
                kind,
            });
            self.total += count;
        }
    }
}

impl Part {
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

/// Iterator over the arrivals of one worker.
#[derive(Debug, Clone)]
pub struct Shard<'a> {
    schedule: &'a Schedule,
    next: u64,
    step: u64,
    /// Only a hint that saves the search: arrivals are asked for in order.
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

/// Arrivals per second of Artillery's ramp: n one-second steps with raw rate `a + (b - a) i / (n - 1)`, rounded half up.
/// A ramp of a single step has the rounded mean of both ends.
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

/// Both rates over one common denominator, in events per second: exact, so that halves round the same way everywhere. None where
/// so many steps of it do not fit into 128 bits.
fn common(from: Rate, to: Rate, steps: u64) -> Option<(i128, i128, i128)> {
    let of = |count: u64, other: u64| {
        let product = i128::from(count).checked_mul(i128::from(other))?;
        product.checked_mul(i128::from(SECOND))
    };
    let (a, b) = (of(from.count, to.per_ns)?, of(to.count, from.per_ns)?);
    let denominator = i128::from(from.per_ns) * i128::from(to.per_ns);
    // The largest number that a step makes of them.
    let most = a.max(b).checked_add(denominator)?;
    most.checked_mul(8)?.checked_mul(i128::from(steps))?;
    Some((a, b, denominator))
}

#[cfg(test)]
mod changed_tests;
#[cfg(test)]
mod tests;
