//! Causes of errors with their counts, labels and first samples.

use std::collections::BTreeMap;

use measure::{LabelId, label::Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rates::share_of;
use record::{EventKind, FirstError, LabelTotals, Run};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorRow {
    pub reason: String,
    /// `failed` if there was a response, otherwise the class of the missing response.
    pub class: String,
    pub count: u64,
    /// Share of all finished requests. `None` if no request finished.
    #[serde(default)]
    pub share: Option<f64>,
    pub labels: Vec<LabelId>,
    #[serde(default)]
    pub by_label: Vec<UnderLabel>,
    pub first: Option<FirstError>,
    /// End of the last interval in which the error occurred, in nanoseconds from the start.
    #[serde(default)]
    pub last_ns: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnderLabel {
    pub label: LabelId,
    pub count: u64,
    pub first: Option<FirstError>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorCause {
    pub reason: String,
    pub class: &'static str,
    pub count: u64,
}

#[must_use]
pub fn causes(part: &LabelTotals) -> Vec<ErrorCause> {
    let failures = part.failures.iter();
    let failed = failures.map(|(reason, n)| ErrorCause {
        reason: reason.clone(),
        class: "failed",
        count: *n,
    });
    let faults = part.slot.counters.faults.0.iter();
    let faults = faults.map(|(fault, n)| ErrorCause {
        reason: fault.text().to_owned(),
        class: fault.class().name(),
        count: *n,
    });
    failed.chain(faults).collect()
}

pub fn rows(run: &Run) -> Vec<ErrorRow> {
    let mut rows: BTreeMap<(String, String), Vec<(LabelId, u64)>> = BTreeMap::new();
    for label in run
        .labels
        .iter()
        .filter(|label| label.id != measure::label::ALL && label.group.role() != Role::Iteration)
    {
        let part = run.totals.label(label.id);
        for cause in causes(&part) {
            let key = (cause.reason, cause.class.to_owned());
            let row = rows.entry(key).or_default();
            row.push((label.id, cause.count));
        }
    }
    let ended = run.totals.label(measure::label::ALL).slot.counters.ended();
    let firsts: Vec<&FirstError> = run
        .events
        .iter()
        .filter(|event| event.event == EventKind::FirstError)
        .filter_map(|event| event.error.as_ref())
        .collect();
    let row = |((reason, class), counts): ((String, String), Vec<(LabelId, u64)>)| {
        let of_cause = || firsts.iter().filter(|first| first.reason == reason);
        let earliest = |first: &&&FirstError| first.done_ns;
        let under = |(label, count): &(LabelId, u64)| UnderLabel {
            label: *label,
            count: *count,
            first: of_cause()
                .filter(|first| first.label == *label)
                .min_by_key(earliest)
                .map(|first| (*first).clone()),
        };
        let count = counts.iter().map(|(_, n)| n).sum();
        ErrorRow {
            first: of_cause()
                .min_by_key(earliest)
                .map(|first| (*first).clone()),
            last_ns: run.totals.last_seen.get(&reason).copied(),
            labels: counts.iter().map(|(label, _)| *label).collect(),
            by_label: counts.iter().map(under).collect(),
            reason,
            class,
            count,
            share: share_of(count, ended),
        }
    };
    let mut rows: Vec<ErrorRow> = rows.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
    rows
}
