//! Workloads: several loads on the timeline of one run, each with its own start.

use serde::Serialize;

use crate::{Draw, Load, Phase, Plan, Schedule, Shape, UserPhase, units::SECOND};

/// Message: why a plan with several workloads of scenarios must run in a single process.
pub const SEVERAL_IN_ONE_PROCESS: &str = "a plan with `workloads` runs in one process: leave out the options for several processes, or write a plan with one `load`";

/// A named load that starts at its own time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workload {
    /// Name, which is unique in the run.
    pub name: String,
    /// Start, in nanoseconds from the start of the run.
    pub starts_ns: u64,
    /// How long iterations may continue after the end of the load, in nanoseconds.
    pub graceful_stop_ns: u64,
    /// Arrivals or users, with times from the start of the workload.
    pub load: Load,
    /// Number of planned arrivals. `None` for users, whose number of iterations is not planned.
    pub planned: Option<u64>,
    /// Description in the terms of the test's original tool.
    pub text: String,
    /// Indexes of the plan's scenarios that the workload runs, chosen by their weights. A scenario
    /// belongs to at most one workload. Empty if an external driver decides what to run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<usize>,
}

impl Workload {
    /// Returns the end of the load, in nanoseconds from the start of the run.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.starts_ns.saturating_add(self.load.end_ns())
    }

    /// Returns the planned arrivals per second at a time of the run, or `None` outside of the
    /// workload or if it has no rate.
    #[must_use]
    pub fn rate_at(&self, at_ns: u64) -> Option<f64> {
        self.load.rate_at(at_ns.checked_sub(self.starts_ns)?)
    }

    /// Returns whether the arrivals follow a schedule, independently of responses.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.load, Load::Open { .. })
    }

    /// Returns the maximum number of users. 0 if the workload is open.
    #[must_use]
    pub fn users(&self) -> u32 {
        match self.load {
            Load::Closed { users, .. } => users,
            _ => 0,
        }
    }

    /// Returns the load with a preceding pause, so that its times count from the start of the run.
    #[must_use]
    pub fn load_on_timeline(&self) -> Load {
        let mut load = self.load.clone();
        if self.starts_ns == 0 {
            return load;
        }
        let text = format!("{}s", self.starts_ns as f64 / SECOND as f64);
        match &mut load {
            Load::Open { phases, .. } => {
                let mut pause = Phase::new(self.starts_ns, Shape::Pause);
                pause.duration_text = text;
                phases.insert(0, pause);
            }
            Load::Closed {
                duration_ns,
                phases,
                ..
            } => {
                let own = self.load.user_phases().unwrap_or_default();
                *phases = vec![UserPhase {
                    name: None,
                    from: 0,
                    to: 0,
                    duration_ns: self.starts_ns,
                    duration_text: text,
                }];
                phases.extend(own);
                *duration_ns = duration_ns.saturating_add(self.starts_ns);
            }
            Load::Several { .. } | Load::Once => {}
        }
        load
    }
}

/// Returns the seed for a workload's random numbers. Every workload numbers its arrivals from 0, so
/// equal seeds would give the users of several workloads equal values.
#[must_use]
pub fn seed_of_workload(seed: u64, index: usize) -> u64 {
    seed.wrapping_add((index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

impl Plan {
    /// Returns the workloads. Empty if the plan has a single load.
    #[must_use]
    pub fn workloads(&self) -> &[Workload] {
        match &self.load {
            Load::Several { workloads } => workloads,
            _ => &[],
        }
    }

    /// Returns whether the plan has both users of a closed load and arrivals of an open load.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        let workloads = self.workloads();
        workloads.iter().any(Workload::is_open) && !workloads.iter().all(Workload::is_open)
    }

    /// Returns the workload that runs a scenario. `None` if the plan has a single load.
    #[must_use]
    pub fn workload_of(&self, scenario: usize) -> Option<&Workload> {
        let mut workloads = self.workloads().iter();
        workloads.find(|workload| workload.scenarios.contains(&scenario))
    }

    /// Returns the schedule of a workload, with times from the start of the run.
    #[must_use]
    pub fn schedule_of_workload(&self, index: usize, seed: u64) -> Schedule {
        let workload = self.workloads().get(index);
        let load = workload.map_or(Load::Once, Workload::load_on_timeline);
        let schedule = Schedule::new(&load, seed_of_workload(seed, index));
        match self.max_duration_ns {
            Some(end_ns) => schedule.until(end_ns),
            None => schedule,
        }
    }

    /// Returns the number of planned arrivals of a workload. `None` if the workload has users.
    #[must_use]
    pub fn planned_of_workload(&self, index: usize, seed: u64) -> Option<u64> {
        let workload = self.workloads().get(index)?;
        if workload.scenarios.is_empty() {
            return workload.planned;
        }
        let is_open = workload.is_open();
        is_open.then(|| self.schedule_of_workload(index, seed).total())
    }

    /// Returns an open workload whose first arrival would be due after the end of the workload, if
    /// there is one.
    #[must_use]
    pub fn workload_without_arrivals(&self, seed: u64) -> Option<&Workload> {
        let mut workloads = self.workloads().iter().enumerate();
        let is_idle = |index: usize| self.planned_of_workload(index, seed) == Some(0);
        let idle = workloads.find(|(index, _)| is_idle(*index));
        idle.map(|(_, workload)| workload)
    }

    /// Returns the random choice of the scenario for each arrival of a workload.
    #[must_use]
    pub fn draw_of_workload(&self, index: usize, seed: u64) -> Draw {
        let own = self.workloads().get(index);
        let own = own.map_or(&[][..], |workload| workload.scenarios.as_slice());
        let weight = |(index, scenario): (usize, &crate::Scenario)| match own.contains(&index) {
            true => scenario.weight,
            false => 0,
        };
        let weights = self.scenarios().iter().enumerate().map(weight);
        Draw::new(seed_of_workload(seed, index), weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FirstArrival, Phase, Rate, Shape, units::SECOND};

    fn workload(name: &str, starts_ns: u64, load: Load) -> Workload {
        Workload {
            name: name.to_owned(),
            starts_ns,
            graceful_stop_ns: 0,
            load,
            planned: None,
            text: String::new(),
            scenarios: Vec::new(),
        }
    }

    fn arrivals(per_second: u64, duration_ns: u64) -> Load {
        let shape = Shape::Rate(Rate::per_second(per_second));
        Load::Open {
            phases: vec![Phase::new(duration_ns, shape)],
            first: FirstArrival::AtStart,
        }
    }

    #[test]
    fn rates_of_workloads_add_up_while_both_run() {
        let first = workload("first", 0, arrivals(5, 10 * SECOND));
        let second = workload("second", 4 * SECOND, arrivals(3, 10 * SECOND));
        let mut load = Load::Several {
            workloads: vec![first, second],
        };
        let rates = |load: &Load| [1, 5, 12, 14].map(|second| load.rate_at(second * SECOND));
        assert_eq!(rates(&load), [Some(5.0), Some(8.0), Some(3.0), None]);
        assert_eq!((load.end_ns(), load.is_paced()), (14 * SECOND, true));
        assert_eq!(load.peak_rate(), 8.0);
        load.stretch_to(7 * SECOND);
        assert_eq!(load.end_ns(), 7 * SECOND);
        assert_eq!(load.rate_at(3 * SECOND), Some(8.0));
    }

    #[test]
    fn users_have_no_rate() {
        let users = workload("users", 0, Load::users(3, SECOND));
        let load = Load::Several {
            workloads: vec![users, workload("arrivals", 0, arrivals(5, SECOND))],
        };
        assert!(!load.is_paced());
        assert_eq!(load.rate_at(0), Some(5.0));
    }

    #[test]
    fn arrivals_of_a_workload_are_shifted_by_its_start() {
        let load = arrivals(5, 10 * SECOND);
        let alone = Schedule::new(&load, 1);
        let late = workload("late", 4 * SECOND, load);
        let shifted = Schedule::new(&late.load_on_timeline(), 1);
        assert_eq!(shifted.total(), alone.total());
        for number in 0..alone.total() {
            let times = [&alone, &shifted].map(|schedule| schedule.at(number).unwrap().intended_ns);
            assert_eq!(times[1], times[0] + 4 * SECOND, "{number}");
        }
        let users = workload("users", 4 * SECOND, Load::users(3, SECOND));
        assert_eq!(users.load_on_timeline().end_ns(), 5 * SECOND);
    }
}
