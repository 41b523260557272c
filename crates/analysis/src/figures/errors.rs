//! What went wrong, by cause: how often, under which labels, and the first sample of each.

use std::collections::BTreeMap;

use measure::{LabelId, label::Group};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rates::share_of;
use record::{EventKind, FirstError, Run};

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
    /// The first of all.
    pub first: Option<FirstError>,
    /// The end of the last interval in which it came, in nanoseconds from the start.
    #[serde(default)]
    pub last_ns: Option<u64>,
}

/// The causes of a run's errors, most frequent first.
pub fn rows(run: &Run) -> Vec<ErrorRow> {
    let mut rows: BTreeMap<(String, String), (u64, Vec<LabelId>)> = BTreeMap::new();
    for label in run
        .labels
        .iter()
        .filter(|label| label.id != measure::label::ALL && label.group != Group::Iteration)
    {
        let part = run.totals.label(label.id);
        let failures = part
            .failures
            .iter()
            .map(|(reason, n)| (reason.clone(), "failed", *n));
        let faults = part
            .slot
            .counters
            .faults
            .0
            .iter()
            .map(|(fault, n)| (fault.text().to_owned(), fault.class().name(), *n));
        for (reason, class, n) in failures.chain(faults) {
            let row = rows.entry((reason, class.to_owned())).or_default();
            row.0 += n;
            row.1.push(label.id);
        }
    }
    let ended = run.totals.label(measure::label::ALL).slot.counters.ended();
    let firsts: Vec<&FirstError> = run
        .events
        .iter()
        .filter(|event| event.event == EventKind::FirstError)
        .filter_map(|event| event.error.as_ref())
        .collect();
    let row = |((reason, class), (count, labels)): ((String, String), (u64, Vec<LabelId>))| {
        let first = firsts
            .iter()
            .filter(|first| first.reason == reason)
            .min_by_key(|first| first.done_ns);
        ErrorRow {
            first: first.map(|first| (*first).clone()),
            last_ns: run.totals.last_seen.get(&reason).copied(),
            reason,
            class,
            count,
            share: share_of(count, ended),
            labels,
        }
    };
    let mut rows: Vec<ErrorRow> = rows.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
    rows
}
