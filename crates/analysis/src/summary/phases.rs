//! Planned and achieved load of each phase.

use std::collections::BTreeMap;

use measure::{LabelId, TimeKind, label, label::LabelGroup};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::{Figure, Sampled, per_second};
use record::{Model, Run};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRow {
    /// Name of the phase, or its number from 1.
    pub name: String,
    pub text: String,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Planned arrivals that were due before the run ended. `None` in a closed loop.
    pub planned: Option<u64>,
    /// Finished arrivals of the phase, with any result. `None` in a closed loop.
    pub started: Option<u64>,
    /// Finished requests whose intended start is in the phase.
    pub requests: u64,
    pub errors: u64,
    /// `requests` divided by the length of the phase in seconds. The last phase lasts until the
    /// last completion.
    pub per_second: f64,
    pub by_label: BTreeMap<LabelId, f64>,
    pub p95: Option<Figure>,
    pub p99: Option<Figure>,
}

pub(super) fn rows(run: &Run, headline: TimeKind, elapsed_ns: u64) -> Vec<PhaseRow> {
    let phases = &run.manifest.phases;
    let iterations: Vec<LabelId> = run.labels_of(LabelGroup::Iteration).map(|l| l.id).collect();
    let is_iteration = |id| iterations.contains(&id);
    let mut due_by_phase: BTreeMap<u32, u64> = BTreeMap::new();
    for row in run.totals.rows.iter() {
        *due_by_phase.entry(row.phase).or_default() += row.run.due;
    }
    let row = |(i, facts): (usize, &record::PhaseFacts)| {
        let index = i as u32;
        let due = due_by_phase.get(&index).copied().unwrap_or(0);
        let iterations = run
            .totals
            .sum(|id, phase| is_iteration(id) && phase == index);
        let started = iterations.slot.counters.ended();
        let planned = if run.is_whole() && run.manifest.load.by.is_none() {
            facts.planned
        } else {
            due
        };
        let is_open = run.manifest.load.model == Model::Open;
        let all = run
            .totals
            .sum(|id, phase| id == label::ALL && phase == index);
        let stats = Sampled::from_totals(&all, headline).stats();
        let counters = &all.slot.counters;
        let end_ns = if i + 1 == phases.len() {
            elapsed_ns
        } else {
            facts.end_ns.min(elapsed_ns)
        };
        let length_ns = end_ns.saturating_sub(facts.start_ns);
        let by_label = run.labels.iter().filter(|label| label.id != label::ALL);
        let by_label = by_label.filter_map(|label| {
            let part = run.totals.parts.get(&(label.id, index))?;
            Some((label.id, per_second(part.slot.counters.ended(), length_ns)))
        });
        PhaseRow {
            name: facts.name.clone().unwrap_or_else(|| (i + 1).to_string()),
            text: facts.text.clone(),
            start_ns: facts.start_ns,
            end_ns: facts.end_ns,
            planned: is_open.then_some(planned),
            started: is_open.then_some(started),
            requests: counters.ended(),
            errors: counters.errors(),
            per_second: per_second(counters.ended(), length_ns),
            by_label: by_label.collect(),
            p95: stats.as_ref().map(|stats| stats.p95),
            p99: stats.as_ref().map(|stats| stats.p99),
        }
    };
    phases.iter().enumerate().map(row).collect()
}
