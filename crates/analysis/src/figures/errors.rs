//! Causes of errors with count, labels and first sample.

use std::collections::BTreeMap;

use measure::{LabelId, label::Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rates::share_of;
use record::{EventKind, FirstError, LabelTotals, Run};

/// One cause of errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorRow {
    /// In words.
    pub reason: String,
    /// `failed` (an answer came), or the class of the missing answer.
    pub class: String,
    /// How often.
    pub count: u64,
    /// Their share of all requests that ended; none of nothing.
    #[serde(default)]
    pub share: Option<f64>,
    /// Under which labels, in numbers.
    pub labels: Vec<LabelId>,
    /// The same label by label: how often, and the first of each.
    #[serde(default)]
    pub by_label: Vec<UnderLabel>,
    /// The first of all.
    pub first: Option<FirstError>,
    /// The end of the last interval in which it came, in nanoseconds from the start.
    #[serde(default)]
    pub last_ns: Option<u64>,
}

/// A cause of errors under one label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnderLabel {
    /// Which.
    pub label: LabelId,
    /// How often.
    pub count: u64,
    /// The first of all.
    pub first: Option<FirstError>,
}

/// Causes of errors in a part, with class and count.
#[must_use]
pub fn causes(part: &LabelTotals) -> Vec<(String, &'static str, u64)> {
    let failures = part.failures.iter();
    let failed = failures.map(|(reason, n)| (reason.clone(), "failed", *n));
    let faults = part.slot.counters.faults.0.iter();
    let faults = faults.map(|(fault, n)| (fault.text().to_owned(), fault.class().name(), *n));
    failed.chain(faults).collect()
}

/// Causes of errors, most frequent first.
pub fn rows(run: &Run) -> Vec<ErrorRow> {
    let mut rows: BTreeMap<(String, String), Vec<(LabelId, u64)>> = BTreeMap::new();
    for label in run
        .labels
        .iter()
        .filter(|label| label.id != measure::label::ALL && label.group.role() != Role::Iteration)
    {
        let part = run.totals.label(label.id);
        for (reason, class, n) in causes(&part) {
            let row = rows.entry((reason, class.to_owned())).or_default();
            row.push((label.id, n));
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
