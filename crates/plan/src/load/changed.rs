//! Changes of a load during a run: checks whether the load can be changed at a given time, and
//! computes the changed load.

use super::{ArrivalProcess, Load, Phase, Shape};
use crate::{Rate, UserPhase};

/// Why the load cannot be changed at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// The load has already ended.
    Over,
    /// The load has no arrival rate.
    NoRate,
    /// The load has an arrival rate instead of a number of users.
    NoUsers,
    /// The arrivals are a Poisson process.
    Poisson,
    /// The phase is a ramp.
    Ramp,
    /// The phase has a fixed number of arrivals.
    Count,
    /// The phase is a pause.
    Pause,
}

impl std::fmt::Display for Fixed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Fixed::Over => "no phase of the load is active, or the last phase ends within half a second",
            Fixed::NoRate => "the load is closed and has no rate: change its number of users",
            Fixed::NoUsers => "the load is open, and its users arrive at a rate: change the rate",
            Fixed::Poisson => "this phase has Poisson arrivals, which the plan determines in advance: wait for a phase with even arrivals",
            Fixed::Ramp => "this phase is a ramp, which changes automatically: wait for a phase that does not",
            Fixed::Count => "this phase has a fixed number of arrivals, which a different rate would change: wait for a phase with a rate",
            Fixed::Pause => "this phase is a pause: wait for a phase with a rate",
        })
    }
}

impl Load {
    /// Returns the rate at `at_ns`. Fails unless the phase has a constant rate and evenly spaced
    /// arrivals.
    pub fn constant_rate_at(&self, at_ns: u64) -> Result<Rate, Fixed> {
        let Load::Open { phases, .. } = self else {
            return Err(Fixed::NoRate);
        };
        let mut end_ns = 0;
        let phase = phases.iter().find(|phase| {
            end_ns += phase.duration_ns;
            at_ns < end_ns
        });
        let phase = phase.ok_or(Fixed::Over)?;
        match phase.shape {
            Shape::Pause => Err(Fixed::Pause),
            Shape::Count(_) => Err(Fixed::Count),
            Shape::Staircase { .. } => Err(Fixed::Ramp),
            Shape::Rate(_) if phase.arrivals == ArrivalProcess::Poisson => Err(Fixed::Poisson),
            Shape::Rate(rate) => Ok(rate),
        }
    }

    /// Returns the number of users at `at_ns`. Fails unless it is constant during that phase.
    pub fn constant_users_at(&self, at_ns: u64) -> Result<u32, Fixed> {
        let mut end_ns = 0;
        let phases = self.user_phases().ok_or(Fixed::NoUsers)?;
        let phase = phases.iter().find(|phase| {
            end_ns += phase.duration_ns;
            at_ns < end_ns
        });
        let phase = phase.ok_or(Fixed::Over)?;
        if phase.from == phase.to {
            Ok(phase.from)
        } else {
            Err(Fixed::Ramp)
        }
    }

    /// Returns the phases of a closed load. A load without phases has a single phase that covers
    /// all of it.
    #[must_use]
    pub fn user_phases(&self) -> Option<Vec<UserPhase>> {
        let Load::Closed {
            users,
            duration_ns,
            phases,
        } = self
        else {
            return None;
        };
        if !phases.is_empty() {
            return Some(phases.clone());
        }
        Some(vec![UserPhase {
            name: None,
            from: *users,
            to: *users,
            duration_ns: *duration_ns,
            duration_text: String::new(),
        }])
    }

    /// Returns the load with a changed rate from `from_ns` to the end of that phase, which is split
    /// in two. See [`crate::Schedule::with_rate`] for the effect on arrivals.
    #[must_use]
    pub fn with_rate(&self, from_ns: u64, rate: Rate) -> Load {
        let Load::Open { phases, first } = self else {
            return self.clone();
        };
        let duration = |phase: &Phase| phase.duration_ns;
        let piece = |phase: &Phase, duration_ns, is_new| Phase {
            duration_ns,
            shape: if is_new {
                Shape::Rate(rate)
            } else {
                phase.shape
            },
            ..phase.clone()
        };
        Load::Open {
            phases: split(phases, from_ns, duration, piece),
            first: *first,
        }
    }

    /// Returns the load with a changed number of users from `from_ns` to the end of that phase,
    /// which is split in two. Users with lower numbers stay active.
    #[must_use]
    pub fn with_users(&self, from_ns: u64, users: u32) -> Load {
        let (
            Load::Closed {
                duration_ns,
                users: most,
                ..
            },
            Some(phases),
        ) = (self, self.user_phases())
        else {
            return self.clone();
        };
        let duration = |phase: &UserPhase| phase.duration_ns;
        let piece = |phase: &UserPhase, duration_ns, is_new| UserPhase {
            from: if is_new { users } else { phase.from },
            to: if is_new { users } else { phase.to },
            duration_ns,
            ..phase.clone()
        };
        Load::Closed {
            users: users.max(*most),
            duration_ns: *duration_ns,
            phases: split(&phases, from_ns, duration, piece),
        }
    }
}

/// Splits the phase at the given time. `piece` creates a part of the phase with a given length. Its
/// flag is `true` for the second part.
fn split<P: Clone>(
    phases: &[P],
    at_ns: u64,
    duration: impl Fn(&P) -> u64,
    piece: impl Fn(&P, u64, bool) -> P,
) -> Vec<P> {
    let mut start_ns = 0;
    let mut pieces = Vec::new();
    for phase in phases {
        let end_ns = start_ns + duration(phase);
        if (start_ns..end_ns).contains(&at_ns) {
            pieces.push(piece(phase, at_ns - start_ns, false));
            pieces.push(piece(phase, end_ns - at_ns, true));
            pieces.retain(|piece| duration(piece) > 0);
        } else {
            pieces.push(phase.clone());
        }
        start_ns = end_ns;
    }
    pieces
}
