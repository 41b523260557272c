//! Figures beside ours: a front door whose figures have another definition brings an accumulator, which hears of the same events
//! and hands over, once per interval, a bag of named figures that merge by themselves.
//!
//! Which names there are, only that door knows, and only its renderer reads them: no native figure is computed from them.

mod counts;
mod event;
mod sketch;

use std::collections::BTreeMap;

pub use counts::{Cells, Counts};
pub use event::{Event, KeptReason, Loss, Opening, Reason};
pub use sketch::Sketch;

/// Counts what it hears of; one per worker.
pub trait Accumulator: Send {
    /// Hears of an event; the moment is wall-clock nanoseconds since 1970.
    fn event(&mut self, wall_ns: u64, event: &Event<'_>);
    /// Hands over what was counted since the last call.
    fn take(&mut self) -> Tally;
    /// The same for the last time.
    fn finish(&mut self) -> Tally {
        self.take()
    }
}

/// What an accumulator counted: named figures that merge by themselves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Added up.
    pub counters: BTreeMap<String, u64>,
    /// The smallest is kept.
    pub firsts: BTreeMap<String, u64>,
    /// The largest is kept.
    pub lasts: BTreeMap<String, u64>,
    /// Merged.
    pub sketches: BTreeMap<String, Sketch>,
    /// Added up by value.
    pub counts: BTreeMap<String, Counts>,
}

impl Tally {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
            && self.firsts.is_empty()
            && self.lasts.is_empty()
            && self.sketches.is_empty()
            && self.counts.is_empty()
    }

    /// Adds another part.
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
