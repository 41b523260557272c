//! Metrics that a front end defines itself. Its accumulator receives the run's events and returns a
//! [`Tally`] for each interval. Tallies can be merged.
//!
//! Only the front end interprets the names in a tally. Loadline's own metrics never depend on them.

mod counts;
mod event;
mod named_counts;
mod sketch;

use std::collections::BTreeMap;

pub use counts::{Cells, ValueCounts};
pub use event::{Event, KeptReason, Loss, Opening, Reason};
pub use named_counts::NamedCounts;
pub use sketch::Sketch;

/// Turns the events of one worker into named figures.
pub trait Accumulator: Send {
    /// Receives an event. `wall_ns` is the wall clock in nanoseconds since 1970.
    fn event(&mut self, wall_ns: u64, event: &Event<'_>);
    /// Returns the figures counted since the last call.
    fn take(&mut self) -> Tally;
    /// Returns the figures counted since the last [`Accumulator::take`], at the end of the run.
    fn finish(&mut self) -> Tally {
        self.take()
    }
}

/// The named figures that an accumulator returns. Tallies of several workers or intervals can be
/// merged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Figures that merge by addition.
    pub counters: BTreeMap<String, u64>,
    /// Figures that merge by keeping the minimum.
    pub firsts: BTreeMap<String, u64>,
    /// Figures that merge by keeping the maximum.
    pub lasts: BTreeMap<String, u64>,
    /// Figures that merge by adding the buckets.
    pub sketches: BTreeMap<String, Sketch>,
    /// Figures that merge by adding the counts of each value.
    pub counts: BTreeMap<String, ValueCounts>,
}

impl Tally {
    /// Returns whether the tally has no figures.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
            && self.firsts.is_empty()
            && self.lasts.is_empty()
            && self.sketches.is_empty()
            && self.counts.is_empty()
    }

    /// Merges another tally into this one.
    pub fn merge(&mut self, other: Tally) {
        for (name, n) in other.counters {
            *self.counters.entry(name).or_default() += n;
        }
        for (name, at) in other.firsts {
            let mine = self.firsts.entry(name).or_insert(at);
            *mine = at.min(*mine);
        }
        for (name, at) in other.lasts {
            let mine = self.lasts.entry(name).or_insert(at);
            *mine = at.max(*mine);
        }
        for (name, sketch) in other.sketches {
            self.sketches.entry(name).or_default().merge(&sketch);
        }
        for (name, counts) in other.counts {
            self.counts.entry(name).or_default().merge(&counts);
        }
    }
}
