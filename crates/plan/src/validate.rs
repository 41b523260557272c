//! Validation of plans, independent of their source format.

use crate::{At, Draw, Load, Plan, PoolPolicy, Shape, Work, Workload, schedule::Schedule, units};

/// A problem in a test file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Position in the file. `None` if the plan is not from a file.
    pub at: Option<At>,
    /// What is wrong and how to fix it, on one line.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{at}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Problem {
    /// Creates a problem without a position.
    #[must_use]
    pub fn anywhere(message: impl Into<String>) -> Problem {
        Problem {
            at: None,
            message: message.into(),
        }
    }
}

/// Maximum number of arrivals. A larger number is probably a typing error.
const MAX_ARRIVALS: u64 = 20_000_000_000;

impl Plan {
    /// Returns all problems that prevent the plan from running.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        // External drivers choose their own hosts.
        if self.target.is_empty() && !matches!(self.work, Work::External(_)) {
            problems.push(Problem::anywhere(
                "no target: set it in the file or with --target URL",
            ));
        }
        self.work_problems(&mut problems);
        if self.http.pool == PoolPolicy::Shared(0) {
            problems.push(Problem::anywhere("0 connections: use at least 1"));
        }
        self.load.problems(&mut problems);
        self.late_workloads(&mut problems);
        self.background_problems(&mut problems);
        self.listen_problems(&mut problems);
        problems
    }

    fn work_problems(&self, problems: &mut Vec<Problem>) {
        let Work::Scenarios(scenarios) = &self.work else {
            return;
        };
        if scenarios.is_empty() {
            problems.push(Problem::anywhere(
                "no scenarios: there are no requests to send",
            ));
        } else if let Some(workload) = self.idle_workload() {
            problems.push(Problem::anywhere(format!(
                "workload `{}` has no scenario with a weight above 0: name one",
                workload.name
            )));
        } else if scenarios.iter().all(|scenario| scenario.weight == 0) {
            problems.push(Problem::anywhere(
                "every scenario has weight 0, so none would run: raise a weight",
            ));
        }
    }

    /// Finds workloads that would start after the end of the load.
    fn late_workloads(&self, problems: &mut Vec<Problem>) {
        let end_ns = self.end_ns();
        let late = self
            .workloads()
            .iter()
            .filter(|one| one.starts_ns >= end_ns);
        for workload in late {
            problems.push(Problem::anywhere(format!(
                "workload `{}` would start when `max-duration` has ended the load: start it earlier, or increase `max-duration`",
                workload.name
            )));
        }
    }

    /// Returns a workload that runs no scenario, if there is one.
    fn idle_workload(&self) -> Option<&Workload> {
        let has_weight = |index: &usize| {
            let scenario = self.scenarios().get(*index);
            scenario.is_some_and(|scenario| scenario.weight > 0)
        };
        let mut workloads = self.workloads().iter();
        workloads.find(|workload| !workload.scenarios.iter().any(has_weight))
    }

    /// Creates the schedule of the load. With several workloads, the schedule is empty: see
    /// [`Plan::schedule_of_workload`].
    #[must_use]
    pub fn schedule(&self, seed: u64) -> Schedule {
        let schedule = Schedule::new(&self.load, seed);
        match self.max_duration_ns {
            Some(end_ns) => schedule.until(end_ns),
            None => schedule,
        }
    }

    /// Returns the end of the load, in nanoseconds from the start.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.load
            .end_ns()
            .min(self.max_duration_ns.unwrap_or(u64::MAX))
    }

    /// Returns the random choice of each arrival's scenario.
    #[must_use]
    pub fn draw(&self, seed: u64) -> Draw {
        Draw::new(
            seed,
            self.scenarios().iter().map(|scenario| scenario.weight),
        )
    }

    /// Returns the highest planned arrival rate per second. `None` if no arrivals follow a
    /// schedule.
    #[must_use]
    pub fn peak_rate(&self) -> Option<f64> {
        self.load.has_arrivals().then(|| self.load.peak_rate())
    }
}

impl Load {
    /// Returns whether all arrivals follow a schedule, independently of responses.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        match self {
            Load::Open { .. } => true,
            Load::Several { workloads } => workloads.iter().all(Workload::is_open),
            Load::Closed { .. } | Load::Once => false,
        }
    }

    /// Returns whether any arrivals follow a schedule.
    #[must_use]
    pub fn has_arrivals(&self) -> bool {
        match self {
            Load::Open { .. } => true,
            Load::Several { workloads } => workloads.iter().any(Workload::is_open),
            Load::Closed { .. } | Load::Once => false,
        }
    }

    fn problems(&self, problems: &mut Vec<Problem>) {
        match self {
            Load::Once => {}
            Load::Several { workloads } => {
                let before = problems.len();
                for workload in workloads {
                    let mut own = Vec::new();
                    workload.load.problems(&mut own);
                    let named = own.into_iter().map(|problem| {
                        let text = format!("workload `{}`: {}", workload.name, problem.message);
                        Problem::anywhere(text)
                    });
                    problems.extend(named);
                }
                if problems.len() == before {
                    check_duration(self.end_ns(), problems);
                }
            }
            Load::Closed {
                users, duration_ns, ..
            } => {
                if *users == 0 {
                    problems.push(Problem::anywhere("0 users: use at least 1"));
                }
                check_duration(*duration_ns, problems);
            }
            Load::Open { phases, .. } => {
                let total: u64 = phases
                    .iter()
                    .map(|phase| phase.duration_ns)
                    .fold(0, u64::saturating_add);
                check_duration(total, problems);
                let expected: f64 = phases
                    .iter()
                    .map(|phase| expected_arrivals(phase.shape, phase.duration_ns))
                    .sum();
                if expected > MAX_ARRIVALS as f64 {
                    problems.push(Problem::anywhere(format!(
                        "about {expected:.0} arrivals are more than any run can send: use a \
                        lower rate or a shorter duration"
                    )));
                }
            }
        }
    }

    /// Returns the highest rate per second, or 0 if the load has no rate. For several loads,
    /// returns the sum of their highest rates, even if those occur at different times.
    #[must_use]
    pub fn peak_rate(&self) -> f64 {
        if let Load::Several { workloads } = self {
            return workloads.iter().map(|one| one.load.peak_rate()).sum();
        }
        let Load::Open { phases, .. } = self else {
            return 0.0;
        };
        let peak = |shape: Shape, duration: u64| match shape {
            Shape::Rate(rate) => rate.as_f64(),
            Shape::Staircase { from, to } => from.as_f64().max(to.as_f64()),
            Shape::Count(count) => count as f64 / (duration.max(1) as f64 / units::SECOND as f64),
            Shape::Pause => 0.0,
        };
        phases
            .iter()
            .map(|phase| peak(phase.shape, phase.duration_ns))
            .fold(0.0, f64::max)
    }
}

fn check_duration(duration_ns: u64, problems: &mut Vec<Problem>) {
    if duration_ns > units::MAX_DURATION {
        problems.push(Problem::anywhere(
            "the test is longer than 100 days: make it shorter",
        ));
    }
}

fn expected_arrivals(shape: Shape, duration_ns: u64) -> f64 {
    let seconds = duration_ns as f64 / units::SECOND as f64;
    match shape {
        Shape::Rate(rate) => rate.as_f64() * seconds,
        Shape::Staircase { from, to } => f64::midpoint(from.as_f64(), to.as_f64()) * seconds,
        Shape::Count(count) => count as f64,
        Shape::Pause => 0.0,
    }
}
