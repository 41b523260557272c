//! The load: phases of an open model, or the users of a closed one. Plain data; `schedule` does the arithmetic.

use serde::Serialize;

use crate::units::Rate;

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
        /// How many.
        users: u32,
        /// How long new iterations are started.
        duration_ns: u64,
    },
    /// One iteration, for trying a plan.
    Once,
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
