//! Scenarios and executors: from the options to the plan of a run.
//!
//! Entry points: [`plan`] creates a [`Plan`] from consolidated options. [`Executor`] contains the
//! parameters of a scenario's executor, and [`schedule`] its arithmetic.

pub mod arrivals;
pub mod config;
pub mod describe;
mod lower;
pub mod schedule;
mod shortcuts;
mod validate;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::options::Options;
use config::{ExecutorKind, ScenarioConfig};
use schedule::{VuStep, maximum_overlap};

/// A stage of a ramp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// Duration in nanoseconds. 0 sets the target immediately.
    pub duration_ns: u64,
    /// Number of virtual users, or iterations per time unit, at the end of the stage.
    pub target: u64,
}

/// The parameters of `ramping-vus`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RampingVus {
    /// Number of virtual users at the start.
    pub start_vus: u64,
    /// Stages, in order.
    pub stages: Vec<Stage>,
    /// Time that a virtual user has to finish its iteration when it must stop, in nanoseconds.
    pub graceful_ramp_down_ns: u64,
}

/// The parameters of `constant-arrival-rate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstantArrivalRate {
    /// Iterations per time unit.
    pub rate: u64,
    /// Time unit in nanoseconds.
    pub time_unit_ns: u64,
    /// Duration in nanoseconds.
    pub duration_ns: u64,
    /// Number of virtual users that exist at the start.
    pub pre_allocated_vus: u64,
    /// Maximum number of virtual users.
    pub max_vus: u64,
}

/// The parameters of `ramping-arrival-rate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RampingArrivalRate {
    /// Iterations per time unit at the start.
    pub start_rate: u64,
    /// Time unit in nanoseconds.
    pub time_unit_ns: u64,
    /// Stages, in order.
    pub stages: Vec<Stage>,
    /// Number of virtual users that exist at the start.
    pub pre_allocated_vus: u64,
    /// Maximum number of virtual users.
    pub max_vus: u64,
}

/// An executor with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executor {
    /// Virtual users that loop for a duration.
    ConstantVus {
        /// Number of virtual users.
        vus: u64,
        /// Duration in nanoseconds.
        duration_ns: u64,
    },
    /// Iterations that virtual users share.
    SharedIterations {
        /// Number of virtual users.
        vus: u64,
        /// Total number of iterations of all virtual users.
        iterations: u64,
        /// Maximum duration in nanoseconds.
        max_duration_ns: u64,
    },
    /// Iterations of each virtual user.
    PerVuIterations {
        /// Number of virtual users.
        vus: u64,
        /// Number of iterations of each virtual user.
        iterations: u64,
        /// Maximum duration in nanoseconds.
        max_duration_ns: u64,
    },
    /// A varying number of looping virtual users.
    RampingVus(RampingVus),
    /// Iterations that start at a constant rate.
    ConstantArrivalRate(ConstantArrivalRate),
    /// Iterations that start at a varying rate.
    RampingArrivalRate(RampingArrivalRate),
}

impl Executor {
    /// Returns the kind of the executor.
    #[must_use]
    pub fn kind(&self) -> ExecutorKind {
        match self {
            Executor::ConstantVus { .. } => ExecutorKind::ConstantVus,
            Executor::SharedIterations { .. } => ExecutorKind::SharedIterations,
            Executor::PerVuIterations { .. } => ExecutorKind::PerVuIterations,
            Executor::RampingVus(_) => ExecutorKind::RampingVus,
            Executor::ConstantArrivalRate(_) => ExecutorKind::ConstantArrivalRate,
            Executor::RampingArrivalRate(_) => ExecutorKind::RampingArrivalRate,
        }
    }

    /// Returns the regular end in nanoseconds from the scenario's start. No iteration starts later.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        match self {
            Executor::ConstantVus { duration_ns, .. } => *duration_ns,
            Executor::SharedIterations {
                max_duration_ns, ..
            }
            | Executor::PerVuIterations {
                max_duration_ns, ..
            } => *max_duration_ns,
            Executor::RampingVus(ramp) => total_duration(&ramp.stages),
            Executor::ConstantArrivalRate(rate) => rate.duration_ns,
            Executor::RampingArrivalRate(rate) => total_duration(&rate.stages),
        }
    }

    /// Returns the number of virtual users that must exist at the start.
    #[must_use]
    pub fn planned_vus(&self) -> u64 {
        match self {
            Executor::ConstantArrivalRate(rate) => rate.pre_allocated_vus,
            Executor::RampingArrivalRate(rate) => rate.pre_allocated_vus,
            _ => self.max_vus(),
        }
    }

    /// Returns the maximum number of virtual users.
    #[must_use]
    pub fn max_vus(&self) -> u64 {
        match self {
            Executor::ConstantVus { vus, .. }
            | Executor::SharedIterations { vus, .. }
            | Executor::PerVuIterations { vus, .. } => *vus,
            Executor::RampingVus(ramp) => {
                let targets = ramp.stages.iter().map(|stage| stage.target);
                targets.fold(ramp.start_vus, u64::max)
            }
            Executor::ConstantArrivalRate(rate) => rate.max_vus,
            Executor::RampingArrivalRate(rate) => rate.max_vus,
        }
    }
}

fn total_duration(stages: &[Stage]) -> u64 {
    let durations = stages.iter().map(|stage| stage.duration_ns);
    durations.fold(0, u64::saturating_add)
}

/// A scenario that can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Name of the scenario.
    pub name: String,
    /// Executor with its parameters.
    pub executor: Executor,
    /// Name of the exported function that an iteration calls.
    pub exec: String,
    /// Additional variables for `__ENV`.
    pub env: Vec<(String, String)>,
    /// Tags of the scenario's samples.
    pub tags: Vec<(String, String)>,
    /// Start in nanoseconds from the start of the load.
    pub start_time_ns: u64,
    /// Time that iterations have to finish after the regular end, in nanoseconds.
    pub graceful_stop_ns: u64,
    /// Whether the scenario requires a browser.
    pub needs_browser: bool,
}

impl Scenario {
    /// Returns the regular end, in nanoseconds from the start of the load.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.start_time_ns.saturating_add(self.executor.end_ns())
    }

    /// Returns the end of the graceful stop, in nanoseconds from the start of the load.
    #[must_use]
    pub fn latest_end_ns(&self) -> u64 {
        self.end_ns().saturating_add(self.graceful_stop_ns)
    }

    /// Returns how many virtual users the scenario needs over time, from the start of the load,
    /// including those that are finishing. `count` selects the planned or the maximum number.
    fn requirement(&self, count: fn(&Executor) -> u64) -> Vec<VuStep> {
        let mut steps = match &self.executor {
            Executor::RampingVus(ramp) => ramp.reserved_steps(self.graceful_stop_ns),
            executor => {
                let end = executor.end_ns().saturating_add(self.graceful_stop_ns);
                vec![
                    VuStep {
                        at_ns: 0,
                        vus: count(executor),
                    },
                    VuStep { at_ns: end, vus: 0 },
                ]
            }
        };
        for step in &mut steps {
            step.at_ns = step.at_ns.saturating_add(self.start_time_ns);
        }
        steps
    }

    fn overlaps(&self, other: &Scenario) -> bool {
        self.start_time_ns < other.latest_end_ns() && other.start_time_ns < self.latest_end_ns()
    }
}

/// The scenarios that a run executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Scenarios, sorted by start time, then by name.
    pub scenarios: Vec<Scenario>,
    /// Warnings for the log.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Returns the number of virtual users to initialise before the start. Scenarios that do not
    /// overlap in time share them.
    #[must_use]
    pub fn planned_vus(&self) -> u64 {
        self.planned_vus_in(&|_, vus| vus)
    }

    /// Returns the number of virtual users that one of several workers initialises before the
    /// start. `part` returns how many of a scenario's first virtual users the worker runs, from the
    /// index of the scenario and their number.
    #[must_use]
    pub fn planned_vus_in(&self, part: &dyn Fn(usize, u64) -> u64) -> u64 {
        self.largest_sum(Executor::planned_vus, part)
    }

    /// Returns the maximum number of virtual users.
    #[must_use]
    pub fn max_vus(&self) -> u64 {
        self.max_vus_in(&|_, vus| vus)
    }

    /// Returns the maximum number of virtual users of one of several workers. See
    /// [`Plan::planned_vus_in`].
    #[must_use]
    pub fn max_vus_in(&self, part: &dyn Fn(usize, u64) -> u64) -> u64 {
        self.largest_sum(Executor::max_vus, part)
    }

    /// Returns the position of each scenario's first virtual user among those of all scenarios.
    /// Scenarios that do not overlap in time use the same ones.
    #[must_use]
    pub fn first_positions(&self) -> Vec<u64> {
        let is_shared = !self.any_overlap();
        let mut next = 0_u64;
        let positions = self.scenarios.iter().map(|scenario| {
            let first = next;
            if !is_shared {
                next = next.saturating_add(scenario.executor.max_vus());
            }
            first
        });
        positions.collect()
    }

    fn any_overlap(&self) -> bool {
        let scenarios = &self.scenarios;
        scenarios.iter().enumerate().any(|(index, scenario)| {
            let mut rest = scenarios.iter().skip(index + 1);
            rest.any(|other| scenario.overlaps(other))
        })
    }

    fn largest_sum(&self, count: fn(&Executor) -> u64, part: &dyn Fn(usize, u64) -> u64) -> u64 {
        let scenarios = self.scenarios.iter().enumerate();
        if !self.any_overlap() {
            let counts = scenarios.map(|(index, own)| part(index, count(&own.executor)));
            return counts.fold(0, u64::max);
        }
        let requirements = scenarios.map(|(index, scenario)| {
            let mut steps = scenario.requirement(count);
            for step in &mut steps {
                step.vus = part(index, step.vus);
            }
            steps
        });
        maximum_overlap(&requirements.collect::<Vec<_>>())
    }

    /// Returns the maximum duration in nanoseconds. It includes graceful stops, but not `setup` and
    /// `teardown`.
    #[must_use]
    pub fn max_duration_ns(&self) -> u64 {
        let ends = self.scenarios.iter().map(|scenario| {
            let Executor::RampingVus(ramp) = &scenario.executor else {
                return scenario.latest_end_ns();
            };
            let last = ramp.last_reserved_ns(scenario.graceful_stop_ns);
            scenario
                .start_time_ns
                .saturating_add(last.max(scenario.executor.end_ns()))
        });
        ends.fold(0, u64::max)
    }
}

/// The error for an invalid configuration of scenarios. The exit code is 104.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanError {
    /// Options contradict each other, or a feature is not supported.
    Conflict(String),
    /// The problems of all scenarios.
    Problems(Vec<String>),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Conflict(text) => f.write_str(text),
            PlanError::Problems(problems) => {
                f.write_str("There were problems with the specified script configuration:")?;
                for problem in problems {
                    write!(f, "\n\t- {problem}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// Creates the scenarios of a run from consolidated options. `is_exported` returns whether the
/// script exports a function with a name.
///
/// # Errors
///
/// Fails with all problems of all scenarios, or with the first pair of contradicting options.
pub fn plan(options: &Options, is_exported: &dyn Fn(&str) -> bool) -> Result<Plan, PlanError> {
    shortcuts::refuse_segments(options).map_err(PlanError::Conflict)?;
    let resolved = shortcuts::resolve(options).map_err(PlanError::Conflict)?;
    let mut problems = Vec::new();
    for config in &resolved.configs {
        let errors = validate::errors(config);
        if !errors.is_empty() {
            problems.push(format!(
                "scenario {} has configuration errors: {}",
                config.name,
                errors.join(", ")
            ));
        }
    }
    if problems.is_empty() {
        let unknown = resolved.configs.iter().filter_map(|config| {
            let exec = exec_of(config);
            (!is_exported(exec)).then(|| {
                let name = &config.name;
                format!("executor {name}: function '{exec}' not found in exports")
            })
        });
        problems.extend(unknown);
    }
    if !problems.is_empty() {
        return Err(PlanError::Problems(problems));
    }
    let mut scenarios: Vec<_> = resolved.configs.iter().map(lower::lower).collect();
    scenarios.sort_by(|a, b| (a.start_time_ns, &a.name).cmp(&(b.start_time_ns, &b.name)));
    Ok(Plan {
        scenarios,
        warnings: resolved.warnings,
    })
}

fn exec_of(config: &ScenarioConfig) -> &str {
    config.exec.as_deref().unwrap_or("default")
}
