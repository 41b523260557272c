//! Options of a run, in addition to its plan.

use std::{net::IpAddr, sync::Arc};

use measure::{Labels, accumulator::Accumulator};
use plan::{Schedule, Share};

use crate::{driver::Driver, publications::Publications, user::hook::Hooks};
use worker::{
    client::{HttpClientConfig, hosts::Allow},
    lease::Lease,
    stop::StopHandle,
    takeover::ShardTakeover,
    watchdog::Doing,
};

/// Creates a front end's accumulator for each worker.
pub type AccumulatorMaker = Arc<dyn Fn() -> Box<dyn Accumulator> + Send + Sync>;

/// Creates a worker's driver on the thread of that worker.
pub type DriverMaker = Arc<dyn Fn(DriverContext) -> Box<dyn Driver> + Send + Sync>;

/// Returns how many arrivals of a worker are due by a time, in nanoseconds from the start.
pub type DueArrivals = Arc<dyn Fn(usize, u64) -> u64 + Send + Sync>;

/// Background work with its own workers. It adds no arrivals to the load.
#[derive(Clone)]
pub struct BackgroundWork {
    /// Creates the driver of each worker.
    pub driver: DriverMaker,
    /// Number of workers.
    pub workers: usize,
    /// Creates a front end's accumulators. `None` if no front end has its own metrics.
    pub frontend: Option<AccumulatorMaker>,
}

/// The data that a driver receives when it starts.
#[derive(Debug, Clone)]
pub struct DriverContext {
    /// Index of the worker within its group.
    pub worker: usize,
    /// This worker's share of the run's numbered things, across all processes.
    pub share: Share,
    /// Settings of the HTTP client.
    pub client: HttpClientConfig,
    /// Labels known before the run.
    pub labels: Labels,
    /// Schedule of the whole run. A worker starts the arrivals of its share.
    pub schedule: Schedule,
    /// Whether this process has arrivals.
    pub arrives: bool,
    /// Publications of the run. `None` without listeners.
    pub publications: Option<Arc<Publications>>,
}

/// Default pacing slack, in nanoseconds. It is much shorter than network delays and much longer
/// than a wake-up.
pub const PACING_SLACK_NS: u64 = 100_000;

/// What a process may do in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunRole {
    /// Runs its share of the load as planned.
    #[default]
    AsPlanned,
    /// Runs the whole load, which can be changed during the run. Requires scenarios.
    Steered,
    /// Runs its share of the load, and may take over the shares of other processes.
    TakesOver,
    /// Joined late and therefore has no arrivals.
    Late,
}

/// Options of a run, in addition to the plan.
#[derive(Clone, Default)]
pub struct EngineOptions {
    /// What this process may do in the run.
    pub role: RunRole,
    /// Number of workers. `None` derives the number from the planned peak.
    pub workers: Option<usize>,
    /// Seed for all random numbers.
    pub seed: u64,
    /// Whether to trace requests and responses.
    pub trace: bool,
    /// Whether virtual users report each step, as `--once` requires.
    pub walks: bool,
    /// Time to wait for in-flight work after the last arrival. `None` means no limit.
    pub drain_ns: Option<u64>,
    /// How much later than its deadline an action may start so that several actions share a
    /// wake-up, in nanoseconds. `None` means [`PACING_SLACK_NS`].
    pub pacing_slack_ns: Option<u64>,
    /// Local addresses for connections, used in turn.
    pub sources: Vec<IpAddr>,
    /// Handle that stops the run.
    pub stop: StopHandle,
    /// Lease that the conductor must renew. `None` if the run has no conductor.
    pub lease: Option<Lease>,
    /// Handle for takeovers. It rejects them if the work has fixed shares.
    pub takeovers: ShardTakeover,
    /// Memory budget of all workers together, in bytes. `None` means no limit.
    pub memory: Option<u64>,
    /// Hosts that the user allows in addition to the plan's hosts.
    pub hosts: Allow,
    /// Creates a front end's accumulators.
    pub frontend: Option<AccumulatorMaker>,
    /// A front end's hooks for requests and responses.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Driver for work other than scenarios. It may also replace the scenario driver.
    pub driver: Option<DriverMaker>,
    /// Planned arrivals of a driver that has its own schedules.
    pub due: Option<DueArrivals>,
    /// Work that runs alongside the load.
    pub background: Option<BackgroundWork>,
    /// Describes what a hung worker is doing.
    pub doing: Option<Doing>,
    /// This process's share of the run: arrivals, users and limits.
    pub share: Share,
}
