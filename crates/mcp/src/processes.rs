//! The active process, the ended processes, and the number of starts per hour.

use plan::units::HOUR;
use worker::clock;

use crate::{
    options::LoadCaps,
    process::{ProcessOrder, TestProcess},
};

/// Maximum number of ended processes that agents can still refer to by their handles.
const MOST_ENDED: usize = 100;

/// The processes of a server.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    all: Vec<TestProcess>,
    starts_ns: Vec<u64>,
}

impl Processes {
    /// Returns why no process may start now, or `None` if one may start.
    pub fn obstacle(&mut self, caps: &LoadCaps) -> Option<String> {
        self.update(caps);
        if let Some(active) = self.active() {
            return Some(format!(
                "{} is still running, and one run is possible at a time: wait with run_status, or end it with run_stop",
                active.name()
            ));
        }
        let now_ns = clock::monotonic_ns();
        self.starts_ns
            .retain(|at_ns| now_ns.saturating_sub(*at_ns) < HOUR);
        (self.starts_ns.len() >= caps.runs_per_hour).then(|| {
            format!(
                "{} runs started within the last hour, which is the cap --runs-per-hour",
                self.starts_ns.len()
            )
        })
    }

    /// Starts a process.
    ///
    /// Fails with a one-line error if the process cannot be started.
    pub fn start(&mut self, order: ProcessOrder) -> Result<(), String> {
        self.all.push(TestProcess::start(order)?);
        self.starts_ns.push(clock::monotonic_ns());
        if self.all.len() > MOST_ENDED {
            self.all.remove(0);
        }
        Ok(())
    }

    /// Updates all processes and enforces the limits.
    pub fn update(&mut self, caps: &LoadCaps) {
        for process in &mut self.all {
            process.update(caps);
        }
    }

    /// Returns the process that is running.
    pub fn active(&mut self) -> Option<&mut TestProcess> {
        self.all.iter_mut().find(|process| process.code.is_none())
    }

    /// Returns a process by its handle or the name of its run. `last` refers to the newest.
    pub fn find(&mut self, name: &str) -> Option<&mut TestProcess> {
        let mut newest_first = self.all.iter_mut().rev();
        newest_first.find(|process| name == "last" || process.is_called(name))
    }
}
