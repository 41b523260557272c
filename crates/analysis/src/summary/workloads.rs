//! Planned and achieved load of each workload.

use record::{Model, Run, WorkloadFacts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ScenarioRow;
use crate::figures::ArrivalLedger;

/// A workload in a plan with several loads. Times count from the start of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRow {
    pub name: String,
    /// Model of the load: `open` or `closed`.
    pub model: Model,
    /// Description of the load.
    pub text: String,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Planned arrivals that were due before the run ended. `None` if the workload is closed, or if
    /// a run with several open workloads ended early.
    pub planned: Option<u64>,
    /// Maximum number of users. `None` if the workload is open.
    pub users: Option<u32>,
    /// Iterations that ended, with any result.
    pub ended: u64,
    pub completed: u64,
    pub failed: u64,
}

pub(super) fn rows(
    run: &Run,
    arrivals: Option<&ArrivalLedger>,
    scenarios: &[ScenarioRow],
) -> Vec<WorkloadRow> {
    let load = &run.manifest.load;
    let row = |facts: &WorkloadFacts| {
        let own = || {
            scenarios
                .iter()
                .filter(|row| facts.scenarios.contains(&row.name))
        };
        WorkloadRow {
            name: facts.name.clone(),
            model: facts.model,
            text: facts.text.clone(),
            start_ns: facts.start_ns,
            end_ns: facts.end_ns,
            planned: planned(run, arrivals, facts),
            users: facts.users,
            ended: own().map(|row| row.ended).sum(),
            completed: own().map(|row| row.completed).sum(),
            failed: own().map(|row| row.failed).sum(),
        }
    };
    // A single workload is the whole load, which the summary already describes.
    let several = load.workloads.iter().filter(|_| load.workloads.len() > 1);
    several.map(row).collect()
}

/// Returns the planned arrivals of a workload that were due before the run ended. `None` if the
/// workload is closed, or if the record does not contain the number.
pub(super) fn planned(
    run: &Run,
    arrivals: Option<&ArrivalLedger>,
    facts: &WorkloadFacts,
) -> Option<u64> {
    let own = facts.planned?;
    let due = arrivals?.planned?;
    if Some(due) == run.manifest.load.planned {
        return Some(own);
    }
    // The record contains only the sum of the due arrivals of all workloads.
    let open = run.manifest.load.workloads.iter();
    let open = open.filter(|workload| workload.planned.is_some()).count();
    (open == 1).then_some(due)
}
