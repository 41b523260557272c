//! Which labels and phases a criterion is of, by the names that a run has. What was counted under them is others' business.

use measure::{LabelId, label, label::Group};
use plan::{
    Criterion,
    criteria::{Metric, Span, fits},
};
use record::Run;

/// What a criterion is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    /// None: all requests.
    pub labels: Option<Vec<LabelId>>,
    /// None: all phases.
    pub phases: Option<Vec<u32>>,
}

impl Subject {
    /// What it is of in this run; else why there is nothing.
    pub fn of(run: &Run, criterion: &Criterion) -> Result<Subject, String> {
        let is_iteration = matches!(criterion.metric, Metric::Time(Span::Iteration, _));
        let labels = match (&criterion.of, is_iteration) {
            (None, false) => None,
            (pattern, _) => {
                let wanted = |label: &&measure::Label| {
                    let named = pattern.as_ref().is_none_or(|pattern| {
                        fits(pattern, &label.text) || fits(pattern, &label.name)
                    });
                    label.id != label::ALL
                        && (label.group == Group::Iteration) == is_iteration
                        && named
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
                            format!("there is no label like \"{pattern}\"")
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
}
