//! Finds the labels and phases that a criterion refers to.

use measure::{
    LabelId, label,
    label::{LabelGroup, Role},
};
use plan::{
    Criterion,
    criteria::{SpanFilter, fits},
};
use record::Run;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub labels: Option<Vec<LabelId>>,
    pub phases: Option<Vec<u32>>,
}

impl Subject {
    pub fn from_criterion(run: &Run, criterion: &Criterion) -> Result<Subject, String> {
        let span = criterion.metric.over_requests();
        let labels = match (&criterion.of, span) {
            (None, None) => None,
            (pattern, _) => {
                let wanted = |label: &&measure::Label| {
                    let named = pattern.as_ref().is_none_or(|pattern| {
                        fits(pattern, &label.text) || fits(pattern, &label.name)
                    });
                    label.id != label::ALL && may_be_of(criterion, label) && named
                };
                let found: Vec<LabelId> = run
                    .labels
                    .iter()
                    .filter(wanted)
                    .map(|label| label.id)
                    .collect();
                if found.is_empty() {
                    return Err(match pattern {
                        Some(pattern) => {
                            format!("no label matches \"{pattern}\"")
                        }
                        None if span == Some(SpanFilter::Transaction) => {
                            "no `group` in the plan has a name".into()
                        }
                        None => "no iterations were recorded".into(),
                    });
                }
                Some(found)
            }
        };
        let phases = match &criterion.phase {
            None => None,
            Some(name) => {
                let found: Vec<u32> = run.manifest.phases_named(name).collect();
                if found.is_empty() {
                    return Err(format!("there is no phase \"{name}\""));
                }
                Some(found)
            }
        };
        Ok(Subject { labels, phases })
    }

    /// Returns whether the subject contains a label. A subject without labels contains only the
    /// label of all requests.
    pub fn has_label(&self, id: LabelId) -> bool {
        match &self.labels {
            None => id == label::ALL,
            Some(labels) => labels.contains(&id),
        }
    }

    pub fn has_phase(&self, phase: u32) -> bool {
        let phases = self.phases.as_ref();
        phases.is_none_or(|phases| phases.contains(&phase))
    }
}

pub(super) fn may_be_of(criterion: &Criterion, label: &measure::Label) -> bool {
    match criterion.metric.over_requests() {
        Some(SpanFilter::Transaction) => label.group == LabelGroup::Transaction,
        Some(_) => label.group == LabelGroup::Iteration,
        None => label.group.role() != Role::Iteration,
    }
}
