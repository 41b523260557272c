//! Planned and achieved volume of each scenario.

use measure::{LabelId, NoAnswer, label::LabelGroup};
use plan::Draw;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::{ArrivalLedger, load_end_ns, per_second, share_of};
use record::{Model, Run, RunState};

const HOUR_S: f64 = 3600.0;
const MOST_DRAWN_LIVE: u64 = 2_000_000;
/// Maximum number of arrivals drawn for a final summary, which takes seconds.
const MOST_DRAWN: u64 = 500_000_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioRow {
    pub id: Option<LabelId>,
    /// Name of the scenario, or its index in the plan.
    pub name: String,
    /// Share of arrivals that the scenario's weight gives. `None` if the record does not contain
    /// it.
    pub share: Option<f64>,
    /// Planned arrivals that were due before the run ended, as drawn by weight. `None` in a closed
    /// loop.
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
    let total: u64 = facts.iter().map(|facts| u64::from(facts.weight)).sum();
    let draw = Draw::new(run.manifest.seed, facts.iter().map(|facts| facts.weight));
    let in_flight = run.manifest.state == RunState::Running || run.cut.is_some();
    let planned = arrivals.and_then(|arrivals| arrivals.planned);
    let drawn = planned
        .filter(|n| {
            let most = if in_flight {
                MOST_DRAWN_LIVE
            } else {
                MOST_DRAWN
            };
            facts.len() < 2 || *n <= most
        })
        .map(|planned| draw.counts(planned));
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
        let planned = drawn
            .as_ref()
            .filter(|_| known)
            .map(|drawn| mine().map(|(i, _)| drawn[i]).sum::<u64>());
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
