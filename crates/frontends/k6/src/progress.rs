//! State of a run that the worker updates and the terminal shows.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use k6::progress::Status;

/// The counts of a run.
#[derive(Debug)]
pub struct Progress {
    /// Number of virtual users that exist.
    pub initialized: AtomicU64,
    /// Number of complete iterations.
    pub completed: AtomicU64,
    /// Number of interrupted iterations.
    pub interrupted: AtomicU64,
    /// When the planned virtual users were initialised. 0 before that.
    began_ns: AtomicU64,
    /// Start of the executors in nanoseconds from the start of the run. `u64::MAX` before that.
    base_ns: AtomicU64,
    /// End of the executors. `u64::MAX` before that.
    ended_ns: AtomicU64,
    /// Counts of each scenario.
    pub scenarios: Vec<ScenarioProgress>,
}

/// The counts of a scenario.
#[derive(Debug, Default)]
pub struct ScenarioProgress {
    status: AtomicU8,
    /// Number of virtual users that the scenario has.
    pub vus: AtomicU64,
    /// Number of virtual users that are running an iteration.
    pub busy: AtomicU64,
    /// Number of iterations that have started.
    pub started: AtomicU64,
}

impl Progress {
    pub fn new(scenarios: usize) -> Progress {
        Progress {
            initialized: AtomicU64::default(),
            completed: AtomicU64::default(),
            interrupted: AtomicU64::default(),
            began_ns: AtomicU64::default(),
            base_ns: AtomicU64::new(u64::MAX),
            ended_ns: AtomicU64::new(u64::MAX),
            scenarios: (0..scenarios)
                .map(|_| ScenarioProgress::default())
                .collect(),
        }
    }

    /// Returns when the executors started. `None` before that.
    pub fn base_ns(&self) -> Option<u64> {
        Some(self.base_ns.load(Relaxed)).filter(|ns| *ns < u64::MAX)
    }

    /// Records that the planned virtual users exist, which starts k6's clock.
    pub fn initialized_at(&self, now_ns: u64) {
        self.began_ns.store(now_ns, Relaxed);
    }

    /// Returns the time since the start of the test, by k6's definition.
    pub fn elapsed_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.began_ns.load(Relaxed))
    }

    /// Returns the number of virtual users that scenarios have.
    pub fn active_vus(&self) -> u64 {
        let scenarios = self.scenarios.iter();
        scenarios.map(|scenario| scenario.vus.load(Relaxed)).sum()
    }

    pub fn begin(&self, base_ns: u64) {
        self.base_ns.store(base_ns, Relaxed);
    }

    /// Returns when the executors ended. `None` before that.
    pub fn ended_ns(&self) -> Option<u64> {
        Some(self.ended_ns.load(Relaxed)).filter(|ns| *ns < u64::MAX)
    }

    pub fn end(&self, ended_ns: u64) {
        self.ended_ns.store(ended_ns, Relaxed);
    }
}

impl ScenarioProgress {
    pub fn status(&self) -> Status {
        match self.status.load(Relaxed) {
            0 => Status::Waiting,
            1 => Status::Running,
            2 => Status::Stopping,
            3 => Status::Interrupted,
            _ => Status::Done,
        }
    }

    pub fn set_status(&self, status: Status) {
        let number = match status {
            Status::Waiting => 0,
            Status::Running => 1,
            Status::Stopping => 2,
            Status::Interrupted => 3,
            Status::Done => 4,
        };
        self.status.store(number, Relaxed);
    }
}
