//! Workloads: several loads on the timeline of one run, each with its own start.

use serde::Serialize;

use crate::Load;

/// A load with a name, which starts at its own time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workload {
    /// Name, which is unique in the run.
    pub name: String,
    /// Start, in nanoseconds from the start of the run.
    pub starts_ns: u64,
    /// How long iterations may go on after the end of the load, in nanoseconds.
    pub graceful_stop_ns: u64,
    /// Arrivals or users, with times from the start of the workload.
    pub load: Load,
    /// Number of planned arrivals. `None` for users, whose number of iterations is not planned.
    pub planned: Option<u64>,
    /// Description in the words of the test's tool.
    pub text: String,
}

impl Workload {
    /// Returns the end of the load, in nanoseconds from the start of the run.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.starts_ns.saturating_add(self.load.end_ns())
    }

    /// Returns the planned arrivals per second at a time of the run. `None` outside of the workload,
    /// or if it has no rate.
    #[must_use]
    pub fn rate_at(&self, at_ns: u64) -> Option<f64> {
        self.load.rate_at(at_ns.checked_sub(self.starts_ns)?)
    }

    /// Whether the arrivals follow a schedule, independently of responses.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.load, Load::Open { .. })
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
}
