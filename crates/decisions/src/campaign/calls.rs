//! Requests per iteration of each scenario, by endpoint: as planned, and as measured in each stage.

use std::collections::BTreeSet;

use analysis::summary::Summary;
use serde::{Deserialize, Serialize};

use super::{FinishedStage, StageOutcome};

/// How often an iteration of a scenario calls an endpoint, according to the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedCall {
    pub scenario: String,
    pub endpoint: String,
    /// Mean number of requests per iteration. `None` if conditions or responses determine it during
    /// the run.
    pub per_iteration: Option<f64>,
}

/// The requests of an endpoint per iteration of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRow {
    pub scenario: String,
    pub endpoint: String,
    /// Planned mean number of requests per iteration. `None` if conditions or responses determine
    /// it during the run.
    pub planned: Option<f64>,
    /// Requests divided by iterations, by stage. `None` for a stage that did not run or has no
    /// iterations, and if scenarios have the same name. Requests are counted by endpoint. If
    /// several scenarios call the endpoint, this is the number of all its requests, divided by the
    /// iterations of all these scenarios.
    pub measured: Vec<Option<f64>>,
    /// Whether other scenarios also call the endpoint.
    pub is_shared: bool,
}

/// Returns a row for each scenario and endpoint of the first stage with a plan.
pub(super) fn rows(stages: &[FinishedStage<'_>]) -> Vec<CallRow> {
    let mut planned = stages.iter().filter_map(|stage| stage.planned);
    let calls = planned.next().map_or(&[][..], |planned| &planned.calls);
    let rows = calls.iter().map(|call| {
        let callers = calls.iter().filter(|other| other.endpoint == call.endpoint);
        let callers: Vec<&str> = callers.map(|other| other.scenario.as_str()).collect();
        let measured = stages.iter().map(|stage| match &stage.outcome {
            StageOutcome::Ran { page, .. } => measured(&page.summary, &call.endpoint, &callers),
            _ => None,
        });
        CallRow {
            scenario: call.scenario.clone(),
            endpoint: call.endpoint.clone(),
            planned: call.per_iteration,
            measured: measured.collect(),
            is_shared: callers.len() > 1,
        }
    });
    rows.collect()
}

fn measured(summary: &Summary, endpoint: &str, callers: &[&str]) -> Option<f64> {
    let iterations = summary.scenarios.iter();
    let iterations = iterations.filter(|row| callers.contains(&row.name.as_str()));
    let names: BTreeSet<&str> = iterations.clone().map(|row| row.name.as_str()).collect();
    if iterations.clone().count() > names.len() {
        // Scenarios with the same name cannot be distinguished.
        return None;
    }
    let iterations: u64 = iterations.map(|row| row.ended).sum();
    let mut labels = summary.labels.iter();
    let requests = labels.find(|row| row.text == endpoint);
    let requests = requests.map_or(0, |row| row.count);
    (iterations > 0).then(|| requests as f64 / iterations as f64)
}
