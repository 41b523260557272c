//! Settings of the server. Only the person who starts the server can change them.

use std::path::PathBuf;

use plan::units::{MINUTE, SECOND};

use crate::plan_files::PlanAccess;

/// Settings of `loadline mcp`.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Hosts that runs may load, in addition to this machine.
    pub allow_hosts: Vec<String>,
    /// Limits of each run.
    pub caps: LoadCaps,
    /// Folder of records.
    pub runs: PathBuf,
    /// Folder that contains the files which plans may name. `None` if plans may not name files.
    pub plans: Option<PathBuf>,
    /// Names of environment variables that plans may read.
    pub env: Vec<String>,
    /// Whether a person must confirm each run that loads another machine.
    pub asks: bool,
    /// Names of the embedded targets.
    pub labs: Vec<String>,
}

impl ServerOptions {
    /// Returns the folder and the variables that plans may read.
    pub(crate) fn access(&self) -> PlanAccess<'_> {
        PlanAccess {
            folder: self.plans.as_deref(),
            env: &self.env,
        }
    }

    /// Returns options without a folder of plans.
    #[cfg(test)]
    pub(crate) fn for_tests() -> ServerOptions {
        ServerOptions {
            allow_hosts: Vec::new(),
            caps: LoadCaps::default(),
            runs: "runs".into(),
            plans: None,
            env: Vec::new(),
            asks: true,
            labs: vec!["sum".to_owned(), "chat".to_owned()],
        }
    }
}

/// Limits of the load of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadCaps {
    /// Maximum number of requests per second.
    pub rate: f64,
    /// Maximum number of virtual users in a closed load.
    pub users: u32,
    /// Maximum duration of the load, or of a search, in nanoseconds.
    pub duration_ns: u64,
    /// Maximum number of requests of a run.
    pub requests: u64,
    /// Maximum number of runs and searches that start within an hour.
    pub runs_per_hour: usize,
}

impl Default for LoadCaps {
    fn default() -> LoadCaps {
        LoadCaps {
            rate: 200.0,
            users: 100,
            duration_ns: 5 * MINUTE,
            requests: 100_000,
            runs_per_hour: 12,
        }
    }
}

/// Time that requests in flight have to finish after the end of the load.
pub(crate) const DRAIN_NS: u64 = 30 * SECOND;
