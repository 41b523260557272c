//! Planned and achieved volume of each scenario.

use measure::{LabelId, NoAnswer, label::LabelGroup};
use plan::Draw;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::{ArrivalLedger, load_end_ns, per_second, share_of};
use record::{Model, Run, RunState};

const HOUR_S: f64 = 3600.0;
const MOST_DRAWN_LIVE: u64 = 2_000_000;
/// Maximum number of arrivals to draw for a final summary. Drawing this many takes seconds.
const MOST_DRAWN: u64 = 500_000_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioRow {
    pub id: Option<LabelId>,
    /// Name of the scenario, or its index in the plan.
    pub name: String,
    /// Workload of the scenario. `None` if the plan has a single load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Share of arrivals that the scenario's weight gives, of all arrivals or of its workload.
    /// `None` if the record does not contain it.
    pub share: Option<f64>,
    /// Planned arrivals that were due before the run ended, by the random choice of scenarios.
    /// `None` in a closed loop.
    pub planned: Option<u64>,
    pub planned_per_hour: Option<f64>,
    pub planned_per_second: Option<f64>,
    pub ended: u64,
    pub completed: u64,
    pub failed: u64,
    pub unfinished: Option<u64>,
    pub completed_per_hour: f64,
    pub completed_per_second: f64,
    pub of_plan: Option<f64>,
}

pub(super) fn rows(
    run: &Run,
    arrivals: Option<&ArrivalLedger>,
    elapsed_ns: u64,
) -> Vec<ScenarioRow> {
    if run.manifest.load.model == Model::Once {
        return Vec::new();
    }
    let facts = &run.manifest.scenarios;
    let in_flight = run.manifest.state == RunState::Running || run.cut.is_some();
    let planned = arrivals.and_then(|arrivals| arrivals.planned);
    let shares = shares(run, arrivals, in_flight);
    let length_ns = if planned.is_some() {
        load_end_ns(run)
    } else {
        elapsed_ns
    };
    let row = |name: &str| {
        let mine = || {
            let facts = facts.iter().enumerate();
            facts.filter(|(_, facts)| facts.name == name)
        };
        let known = mine().next().is_some();
        let weight = mine().map(|(_, facts)| u64::from(facts.weight)).sum();
        let workload = run.manifest.load.workload_of(name);
        let own = shares.get(workload.map_or(0, |(index, _)| index));
        let total = own.map_or(0, |own| own.total_weight);
        let drawn = own.and_then(|own| own.drawn.as_ref());
        let planned = match workload {
            // A tool's workload is also its only scenario, and the plan chooses none at random.
            Some((_, facts)) if !known => super::workloads::planned(run, arrivals, facts),
            _ => drawn
                .filter(|_| known)
                .map(|drawn| mine().map(|(i, _)| drawn[i]).sum::<u64>()),
        };
        let mut labels = run.labels_of(LabelGroup::Iteration);
        let id = labels.find(|label| label.text == name).map(|l| l.id);
        let part = id.map(|id| run.totals.label(id)).unwrap_or_default();
        let counters = &part.slot.counters;
        let unfinished = counters.unanswered[NoAnswer::Unfinished as usize];
        let completed = counters.ok;
        let asked = planned.map(|planned| per_second(planned, length_ns));
        let achieved = per_second(completed, elapsed_ns);
        ScenarioRow {
            id,
            name: name.to_owned(),
            workload: workload
                .filter(|_| run.manifest.load.workloads.len() > 1)
                .map(|(_, facts)| facts.name.clone()),
            share: share_of(weight, total).filter(|_| known),
            planned,
            planned_per_hour: asked.map(|rate| rate * HOUR_S),
            planned_per_second: asked,
            ended: counters.ended(),
            completed,
            failed: counters.errors() - unfinished,
            unfinished: (!in_flight).then_some(unfinished),
            completed_per_hour: achieved * HOUR_S,
            completed_per_second: achieved,
            of_plan: planned.and_then(|planned| share_of(completed, planned)),
        }
    };
    let mut names: Vec<&str> = Vec::new();
    let in_plan = facts.iter().map(|facts| facts.name.as_str());
    let reported = run
        .labels_of(LabelGroup::Iteration)
        .map(|label| label.text.as_str());
    for name in in_plan.chain(reported) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let rows = names.into_iter().map(row);
    rows.filter(|row| row.ended > 0 || row.planned.is_some_and(|n| n > 0))
        .collect()
}

/// The scenarios of a load or a workload: the sum of their weights, and the arrivals of each
/// scenario of the plan.
struct ScenarioShares {
    total_weight: u64,
    /// `None` in a closed loop, or if drawing would take too long.
    drawn: Option<Vec<u64>>,
}

/// Returns the shares of the single load, or those of each workload.
fn shares(run: &Run, arrivals: Option<&ArrivalLedger>, in_flight: bool) -> Vec<ScenarioShares> {
    let facts = &run.manifest.scenarios;
    let most = if in_flight {
        MOST_DRAWN_LIVE
    } else {
        MOST_DRAWN
    };
    let new = |seed: u64, weights: Vec<u32>, planned: Option<u64>| ScenarioShares {
        total_weight: weights.iter().copied().map(u64::from).sum(),
        drawn: planned
            .filter(|n| facts.len() < 2 || *n <= most)
            .map(|planned| Draw::new(seed, weights).counts(planned)),
    };
    let seed = run.manifest.seed;
    let workloads = &run.manifest.load.workloads;
    if workloads.is_empty() {
        let planned = arrivals.and_then(|arrivals| arrivals.planned);
        let weights = facts.iter().map(|facts| facts.weight).collect();
        return vec![new(seed, weights, planned)];
    }
    let share = |(index, workload): (usize, &record::WorkloadFacts)| {
        let weight = |facts: &record::ScenarioFacts| match workload.scenarios.contains(&facts.name)
        {
            true => facts.weight,
            false => 0,
        };
        let weights: Vec<u32> = facts.iter().map(weight).collect();
        let planned = super::workloads::planned(run, arrivals, workload);
        // A tool whose scenarios are not in the plan has no weights.
        let planned = planned.filter(|_| !facts.is_empty());
        new(plan::seed_of_workload(seed, index), weights, planned)
    };
    workloads.iter().enumerate().map(share).collect()
}
