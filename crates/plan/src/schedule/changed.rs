//! A schedule that is changed while it goes on: from a moment on its phase has another rate, in closed form like all others. What was
//! due before that keeps its number and its time; who may change what, and when, is somebody else's to say.

use super::{Part, PartKind, Schedule, Segment};
use crate::Rate;

impl Schedule {
    /// The same with another rate from a moment on, up to the end of the phase that the moment belongs to: a piece of its own with
    /// evenly spaced arrivals. Arrivals of later phases keep their times and get other numbers. Nothing changes behind the end.
    #[must_use]
    pub fn with_rate(&self, from_ns: u64, rate: Rate) -> Schedule {
        let phase = self.phase_at(from_ns);
        let end_ns = self.phase_ends.get(phase as usize).copied();
        let Some(rest_ns) = end_ns.and_then(|end| end.checked_sub(from_ns)) else {
            return self.clone();
        };
        let kept = self.due(from_ns);
        let mut changed = Schedule {
            parts: Vec::new(),
            total: 0,
            ..self.clone()
        };
        let (before, behind): (Vec<&Part>, Vec<&Part>) =
            self.parts.iter().partition(|part| part.phase <= phase);
        for part in before {
            changed.take(part, kept.saturating_sub(part.first));
        }
        let offset = u64::from(self.arrivals_at_ends);
        let piece = Segment::of_rate(from_ns, rest_ns, rate, offset);
        changed.push(phase, PartKind::Even(piece));
        for part in behind {
            changed.take(part, part.count);
        }
        changed
    }

    /// At most so many of a part's arrivals, from its first one on.
    fn take(&mut self, part: &Part, most: u64) {
        let count = part.count.min(most);
        if count > 0 {
            self.parts.push(Part {
                first: self.total,
                count,
                ..part.clone()
            });
            self.total += count;
        }
    }
}
