//! Checks that the figures of an interval are consistent. An edited record is usually inconsistent.

use std::collections::BTreeSet;

use measure::{
    Label, LabelId, OutcomeClass, TimeKind,
    label::{self, Role},
};

use crate::IntervalRecord;

/// Returns whether the labels add up to all requests, and no label has more times than responses.
pub(crate) fn holds(frame: &IntervalRecord, labels: &[Label]) -> bool {
    let requests = labels
        .iter()
        .filter(|label| label.group.role() == Role::Request);
    let requests: BTreeSet<LabelId> = requests.map(|label| label.id).collect();
    let (mut all, mut sum) = ([0u64; 4], [0u64; 4]);
    for ((id, _), part) in &frame.parts {
        let counters = &part.slot.counters;
        let figures = [
            counters.issued,
            counters.ok,
            counters.failed,
            counters.without_answer(),
        ];
        let total = if *id == label::ALL {
            &mut all
        } else if requests.contains(id) {
            &mut sum
        } else {
            continue;
        };
        total
            .iter_mut()
            .zip(figures)
            .for_each(|(total, n)| *total += n);
        let has_more = |outcome, answers: u64| {
            let times = [TimeKind::Service, TimeKind::Response];
            let times = times.map(|kind| part.slot.histogram(kind, outcome));
            let mut times = times.into_iter().flatten();
            times.any(|times| times.count() > answers)
        };
        if has_more(OutcomeClass::Ok, counters.ok)
            || has_more(OutcomeClass::Failed, counters.failed)
        {
            return false;
        }
    }
    all == sum
}
