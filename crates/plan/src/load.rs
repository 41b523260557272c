//! The load: phases of an open model, or the users of a closed one. Plain data; `schedule` does the arithmetic.

mod changed;

pub use changed::Fixed;
use serde::Serialize;

use crate::{
    UserPhase,
    units::{Rate, SECOND},
};

/// When virtual users arrive, or how many there are.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "lowercase")]
pub enum Load {
    /// Arrivals come by the schedule, whatever the answers do.
    Open {
        /// One after the other, without gaps.
        phases: Vec<Phase>,
        /// Where the first arrival of a phase lies.
        first: FirstArrival,
    },
    /// So many users, each starting its next iteration when the last one has ended.
    Closed {
        /// How many; where they come and go, the most at a time.
        users: u32,
        /// How long new iterations are started.
        duration_ns: u64,
        /// When they come and go, phase by phase; empty: all are there from the start to the end.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        phases: Vec<UserPhase>,
    },
    /// One iteration, for trying a plan.
    Once,
}

impl Load {
    /// So many users, all from the start to the end.
    #[must_use]
    pub const fn users(users: u32, duration_ns: u64) -> Load {
        Load::Closed {
            users,
            duration_ns,
            phases: Vec::new(),
        }
    }

    /// When it is over, in nanoseconds from the start; 0 of a load that is no stretch of time.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        match self {
            Load::Open { phases, .. } => phases.iter().map(|phase| phase.duration_ns).sum(),
            Load::Closed { duration_ns, .. } => *duration_ns,
            Load::Once => 0,
        }
    }

    /// Arrivals per second that are planned for a moment; none behind its end, and of a load that has no rate.
    #[must_use]
    pub fn rate_at(&self, at_ns: u64) -> Option<f64> {
        let Load::Open { phases, .. } = self else {
            return None;
        };
        let mut start_ns = 0;
        for phase in phases {
            if at_ns < start_ns + phase.duration_ns {
                return Some(phase.rate_at(at_ns - start_ns));
            }
            start_ns += phase.duration_ns;
        }
        None
    }
}

/// Where the first arrival of a phase (or of a step of a staircase) lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstArrival {
    /// At its very start.
    AtStart,
    /// One gap after it, as Artillery does: the last then falls on its end.
    AfterOneGap,
}

/// A stretch of the test with one load shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    /// As the file names it.
    pub name: Option<String>,
    /// How long.
    pub duration_ns: u64,
    /// The duration as the file wrote it, for renderings that repeat it.
    pub duration_text: String,
    /// What arrives.
    pub shape: Shape,
    /// How arrivals are spread.
    pub arrivals: Arrivals,
    /// An arrival that finds so many virtual users running is skipped, and counted as skipped.
    pub max_users: Option<u32>,
}

impl Phase {
    /// A phase of the given shape, even arrivals, without a name or a cap.
    #[must_use]
    pub fn new(duration_ns: u64, shape: Shape) -> Phase {
        Phase {
            name: None,
            duration_ns,
            duration_text: String::new(),
            shape,
            arrivals: Arrivals::Even,
            max_users: None,
        }
    }

    /// Arrivals per second at its beginning and at its end.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        match self.shape {
            Shape::Staircase { from, to } => (from.as_f64(), to.as_f64()),
            Shape::Rate(_) | Shape::Count(_) | Shape::Pause => (self.rate_at(0), self.rate_at(0)),
        }
    }

    /// Whether the same number arrives per second from its start to its end, and any at all.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        let (first, last) = self.ends();
        first > 0.0 && first == last
    }

    /// Arrivals per second so long behind its start; of a ramp on the line between its ends.
    pub(crate) fn rate_at(&self, within_ns: u64) -> f64 {
        let seconds = |ns: u64| ns as f64 / SECOND as f64;
        match self.shape {
            Shape::Rate(rate) => rate.as_f64(),
            Shape::Count(count) => count as f64 / seconds(self.duration_ns.max(1)),
            Shape::Staircase { from, to } => {
                let share = within_ns as f64 / self.duration_ns.max(1) as f64;
                from.as_f64() + (to.as_f64() - from.as_f64()) * share
            }
            Shape::Pause => 0.0,
        }
    }
}

/// The shape of the arrival rate over a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A constant rate.
    Rate(Rate),
    /// Exactly so many, spread over the phase.
    Count(u64),
    /// Artillery's ramp: a staircase of one-second steps that hits both ends, each step's arrivals rounded half up.
    Staircase {
        /// Rate of the first second.
        from: Rate,
        /// Rate of the last second.
        to: Rate,
    },
    /// Nothing arrives.
    Pause,
}

/// How the arrivals of a phase are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Evenly.
    Even,
    /// As a Poisson process of the same rate.
    Poisson,
}
