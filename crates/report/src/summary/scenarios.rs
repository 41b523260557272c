//! Plan against achieved, scenario by scenario: the volumes that were asked for, and what came of them.

use measure::{LabelId, NoAnswer, label::Group};
use plan::Draw;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arrivals, per_second, share_of};
use crate::record::Run;

const HOUR_S: f64 = 3600.0;

/// What was planned of a scenario, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioRow {
    /// The label of its iterations.
    pub id: LabelId,
    /// Its name, or its place in the plan from 0.
    pub name: String,
    /// Its share of the arrivals by weight; none when the record does not say.
    pub share: Option<f64>,
    /// Arrivals planned (those that were due, when the run ended early): exactly those that the draw by weight gave it; none in
    /// a closed loop.
    pub planned: Option<u64>,
    /// The same per hour of the load's length.
    pub planned_per_hour: Option<f64>,
    /// The same per second of it.
    pub planned_per_second: Option<f64>,
    /// Arrivals that were started and ended, in whatever way.
    pub started: u64,
    /// Iterations that came to their end.
    pub completed: u64,
    /// Iterations ended by an error.
    pub failed: u64,
    /// Iterations still under way when the run ended.
    pub unfinished: u64,
    /// `completed` per hour of the load's length, as what was planned: what came to its end after the load counts.
    pub completed_per_hour: f64,
    /// The same per second of it.
    pub completed_per_second: f64,
    /// `completed` as a share of `planned`.
    pub of_plan: Option<f64>,
}

pub(super) fn of(run: &Run, arrivals: Option<&Arrivals>, elapsed_ns: u64) -> Vec<ScenarioRow> {
    let facts = &run.manifest.scenarios;
    let total: u64 = facts.iter().map(|facts| u64::from(facts.weight)).sum();
    let draw = Draw::new(run.manifest.seed, facts.iter().map(|facts| facts.weight));
    let planned = arrivals.and_then(|arrivals| arrivals.planned);
    let drawn = planned.map(|planned| draw.counts(planned));
    let load_ns = run.manifest.load.end_ns.min(elapsed_ns);
    let row = |label: &measure::Label| {
        // Scenarios of one name share a label.
        let mine = || {
            let facts = facts.iter().enumerate();
            facts.filter(|(_, facts)| facts.name == label.text)
        };
        let known = mine().next().is_some();
        let weight = mine().map(|(_, facts)| u64::from(facts.weight)).sum();
        let planned = drawn
            .as_ref()
            .filter(|_| known)
            .map(|drawn| mine().map(|(i, _)| drawn[i]).sum::<u64>());
        let part = run.totals.label(label.id);
        let counters = &part.slot.counters;
        let unfinished = counters.none[NoAnswer::Unfinished as usize];
        let completed = counters.ok;
        let asked = planned.map(|planned| per_second(planned, load_ns));
        let achieved = per_second(completed, load_ns);
        ScenarioRow {
            id: label.id,
            name: label.text.clone(),
            share: share_of(weight, total).filter(|_| known),
            planned,
            planned_per_hour: asked.map(|rate| rate * HOUR_S),
            planned_per_second: asked,
            started: counters.ended(),
            completed,
            failed: counters.failed + counters.without_answer() - unfinished,
            unfinished,
            completed_per_hour: achieved * HOUR_S,
            completed_per_second: achieved,
            of_plan: planned.and_then(|planned| share_of(completed, planned)),
        }
    };
    let rows = run.labels_of(Group::Iteration).map(row);
    rows.filter(|row| row.started > 0 || row.planned.is_some_and(|n| n > 0))
        .collect()
}
