//! The load: phases of an open model, or users of a closed model.

mod changed;

pub use changed::Fixed;
use serde::Serialize;

use crate::{
    UserPhase, Workload,
    units::{Rate, SECOND},
};

/// The load of a plan: arrivals of virtual users, or a number of users.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "lowercase")]
pub enum Load {
    /// Open model: arrivals follow the schedule, independently of responses.
    Open {
        /// Consecutive phases.
        phases: Vec<Phase>,
        /// Time of the first arrival in each phase.
        first: FirstArrival,
    },
    /// Closed model: each user starts its next iteration when the previous one has finished.
    Closed {
        /// Number of users. If the number changes, its maximum.
        users: u32,
        /// Period in which iterations may start, in nanoseconds.
        duration_ns: u64,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        /// Changes of the number of users. Empty if the number is constant.
        phases: Vec<UserPhase>,
    },
    /// Several loads on one timeline, each with its own start.
    Several {
        /// The loads, in the order of the test file.
        workloads: Vec<Workload>,
    },
    /// A single iteration, to try out a plan.
    Once,
}

impl Load {
    /// Creates a closed load with a constant number of users.
    #[must_use]
    pub const fn users(users: u32, duration_ns: u64) -> Load {
        Load::Closed {
            users,
            duration_ns,
            phases: Vec::new(),
        }
    }

    /// Returns the end of the load in nanoseconds from the start. 0 for `Once`.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        match self {
            Load::Open { phases, .. } => phases.iter().map(|phase| phase.duration_ns).sum(),
            Load::Closed { duration_ns, .. } => *duration_ns,
            Load::Several { workloads } => {
                workloads.iter().map(Workload::end_ns).max().unwrap_or(0)
            }
            Load::Once => 0,
        }
    }

    /// Scales the duration of all phases so that the load takes `duration_ns`. Rates and numbers of
    /// users stay the same, so the number of arrivals changes with the duration. A fixed number of
    /// arrivals scales with its phase and is rounded. Has no effect on `Once`.
    pub fn stretch_to(&mut self, duration_ns: u64) {
        let whole_ns = u128::from(self.end_ns().max(1));
        let at = |ns: u64| (u128::from(ns) * u128::from(duration_ns) / whole_ns) as u64;
        match self {
            Load::Open { phases, .. } => {
                let mut start_ns = 0;
                for phase in phases {
                    let end_ns = start_ns + phase.duration_ns;
                    let scaled_ns = at(end_ns) - at(start_ns);
                    if let Shape::Count(count) = &mut phase.shape {
                        let (count_ns, own_ns) =
                            (u128::from(scaled_ns), u128::from(phase.duration_ns.max(1)));
                        *count = ((u128::from(*count) * count_ns + own_ns / 2) / own_ns) as u64;
                    }
                    phase.duration_ns = scaled_ns;
                    phase.duration_text = format!("{}s", scaled_ns as f64 / SECOND as f64);
                    start_ns = end_ns;
                }
            }
            Load::Closed {
                duration_ns: own,
                phases,
                ..
            } => {
                let mut start_ns = 0;
                for phase in phases {
                    let end_ns = start_ns + phase.duration_ns;
                    phase.duration_ns = at(end_ns) - at(start_ns);
                    start_ns = end_ns;
                }
                *own = duration_ns;
            }
            Load::Several { workloads } => {
                for workload in workloads {
                    let end_ns = workload.end_ns();
                    workload.starts_ns = at(workload.starts_ns);
                    workload.load.stretch_to(at(end_ns) - workload.starts_ns);
                }
            }
            Load::Once => {}
        }
    }

    /// Returns the planned arrivals per second at the given time. `None` after the end, or if the
    /// load has no rate.
    #[must_use]
    pub fn rate_at(&self, at_ns: u64) -> Option<f64> {
        if let Load::Several { workloads } = self {
            let rates = workloads.iter().filter_map(|one| one.rate_at(at_ns));
            return rates.reduce(|sum, rate| sum + rate);
        }
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

/// Time of the first arrival in a phase, or in a step of a staircase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstArrival {
    /// At the start of the phase.
    AtStart,
    /// One interval after the start, as in Artillery. The last arrival is then due at the end of
    /// the phase.
    AfterOneGap,
}

/// A part of a load with its own shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    /// Name of the phase in the file.
    pub name: Option<String>,
    /// Duration in nanoseconds.
    pub duration_ns: u64,
    /// Duration as written in the file. Some reports repeat it.
    pub duration_text: String,
    /// Shape of the arrival rate over time.
    pub shape: Shape,
    /// Distribution of the arrivals over time.
    pub arrivals: ArrivalProcess,
    /// Maximum number of active users. Arrivals are skipped while the number is reached.
    pub max_users: Option<u32>,
}

impl Phase {
    /// Creates a phase with evenly spaced arrivals, without name or limit.
    #[must_use]
    pub fn new(duration_ns: u64, shape: Shape) -> Phase {
        Phase {
            name: None,
            duration_ns,
            duration_text: String::new(),
            shape,
            arrivals: ArrivalProcess::Even,
            max_users: None,
        }
    }

    /// Returns the arrivals per second at the start and at the end of the phase.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        match self.shape {
            Shape::Staircase { from, to } => (from.as_f64(), to.as_f64()),
            Shape::Rate(_) | Shape::Count(_) | Shape::Pause => (self.rate_at(0), self.rate_at(0)),
        }
    }

    /// Returns whether the rate is constant and above zero.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        let (first, last) = self.ends();
        first > 0.0 && first == last
    }

    /// Returns the arrivals per second at the given time within the phase. A ramp is interpolated
    /// linearly.
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

/// Shape of the arrival rate over a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A constant rate.
    Rate(Rate),
    /// A fixed number of arrivals, spread over the phase.
    Count(u64),
    /// Artillery's ramp, in steps of one second. The number of arrivals in each step is rounded
    /// half up.
    Staircase {
        /// Rate of the first second.
        from: Rate,
        /// Rate of the last second.
        to: Rate,
    },
    /// No arrivals.
    Pause,
}

/// Distribution of a phase's arrivals over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalProcess {
    /// Evenly spaced arrivals.
    Even,
    /// A Poisson process with the same mean rate.
    Poisson,
}
