//! Changes of a schedule's rate during a run. Arrivals before the change keep their numbers and
//! times.

use super::{PartKind, RateSegment, Schedule, SchedulePart};
use crate::Rate;

impl Schedule {
    /// Returns the schedule with a changed rate from `from_ns` to the end of that phase. Arrivals
    /// in that period are evenly spaced.
    ///
    /// Arrivals of later phases keep their times but are renumbered. A change after the end has no
    /// effect.
    #[must_use]
    pub fn with_rate(&self, from_ns: u64, rate: Rate) -> Schedule {
        let phase = self.phase_at(from_ns);
        let end_ns = self.phase_ends.get(phase as usize).copied();
        let Some(rest_ns) = end_ns.and_then(|end| end.checked_sub(from_ns)) else {
            return self.clone();
        };
        let unchanged = self.due(from_ns);
        let mut changed = Schedule {
            parts: Vec::new(),
            total: 0,
            ..self.clone()
        };
        let (before, after): (Vec<&SchedulePart>, Vec<&SchedulePart>) =
            self.parts.iter().partition(|part| part.phase <= phase);
        for part in before {
            changed.take(part, unchanged.saturating_sub(part.first));
        }
        let offset = u64::from(self.arrivals_at_ends);
        let piece = RateSegment::of_rate(from_ns, rest_ns, rate, offset);
        changed.push(phase, PartKind::Even(piece));
        for part in after {
            changed.take(part, part.count);
        }
        changed
    }

    /// Appends the first arrivals of `part`, at most `most`.
    fn take(&mut self, part: &SchedulePart, most: u64) {
        let count = part.count.min(most);
        if count > 0 {
            self.parts.push(SchedulePart {
                first: self.total,
                count,
                ..part.clone()
            });
            self.total += count;
        }
    }
}
