//! Interval boundaries. Intervals end at whole seconds of the wall clock and at the ends of phases.
//!
//! Every worker computes the same boundaries, so the i-th interval is the same period for all
//! workers.

const SECOND: u64 = 1_000_000_000;

/// The boundaries of a run's intervals.
#[derive(Debug, Clone, Default)]
pub struct Cuts {
    /// Wall clock at the start of the run, in nanoseconds since 1970.
    wall_start_ns: u64,
    /// Ends of the phases, in nanoseconds from the start of the run, ascending.
    phase_ends: Vec<u64>,
    /// Whether an arrival exactly at the end of a phase belongs to that phase. Set by
    /// [`Cuts::with_arrivals_at_ends`].
    arrivals_at_ends: bool,
}

impl Cuts {
    /// Creates the boundaries of a run. `wall_start_ns` is in nanoseconds since 1970, `phase_ends`
    /// in nanoseconds from the start of the run.
    #[must_use]
    pub fn new(wall_start_ns: u64, phase_ends: &[u64]) -> Cuts {
        Cuts {
            wall_start_ns,
            phase_ends: phase_ends.to_vec(),
            arrivals_at_ends: false,
        }
    }

    /// Sets whether an arrival exactly at the end of a phase belongs to that phase instead of the
    /// next one.
    #[must_use]
    pub fn with_arrivals_at_ends(self, arrivals_at_ends: bool) -> Cuts {
        Cuts {
            arrivals_at_ends,
            ..self
        }
    }

    /// Returns the first boundary after the given time.
    #[must_use]
    pub fn next_after(&self, ns: u64) -> u64 {
        let into_second = (self.wall_start_ns % SECOND + ns % SECOND) % SECOND;
        let second = ns + (SECOND - into_second);
        let phase = self.phase_ends.partition_point(|end| *end <= ns);
        // A phase of length zero adds no boundary.
        self.phase_ends
            .get(phase)
            .map_or(second, |end| second.min(*end))
    }

    /// Returns the phase at the given time. Times after the last phase count as the last phase.
    #[must_use]
    pub fn phase_at(&self, ns: u64) -> u32 {
        let index = self.phase_ends.partition_point(|end| *end <= ns);
        index.min(self.phase_ends.len().saturating_sub(1)) as u32
    }

    /// Returns the phase that an intended start belongs to.
    #[must_use]
    pub fn phase_of(&self, intended_ns: u64) -> u32 {
        // Going back one nanosecond changes the phase only if the arrival is exactly at the end of
        // a phase.
        self.phase_at(if self.arrivals_at_ends {
            intended_ns.saturating_sub(1)
        } else {
            intended_ns
        })
    }

    /// Converts a time of the run to the wall clock, in nanoseconds since 1970.
    #[must_use]
    pub fn wall_ns(&self, ns: u64) -> u64 {
        self.wall_start_ns + ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_at_wall_seconds_and_phase_ends() {
        let cuts = Cuts::new(
            1_700_000_000 * SECOND + 300_000_000,
            &[2 * SECOND, 5 * SECOND],
        );
        let mut at = 0;
        let mut seen = Vec::new();
        while at < 6 * SECOND {
            at = cuts.next_after(at);
            seen.push(at / 1_000_000);
        }
        assert_eq!(seen, [700, 1700, 2000, 2700, 3700, 4700, 5000, 5700, 6700]);
        assert_eq!(
            [0, 2 * SECOND, 9 * SECOND].map(|ns| cuts.phase_at(ns)),
            [0, 1, 1]
        );
        let late = cuts.clone().with_arrivals_at_ends(true);
        let phases =
            |cuts: &Cuts| [0, 2 * SECOND, 2 * SECOND + 1, 5 * SECOND].map(|ns| cuts.phase_of(ns));
        assert_eq!((phases(&cuts), phases(&late)), ([0, 1, 1, 1], [0, 0, 1, 1]));
    }
}
