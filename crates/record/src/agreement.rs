//! Whether the figures of an interval agree with each other: a record that somebody changed, or that was put together from
//! several, usually does not.

use measure::{
    Kind, Label, Outcome,
    label::{self, Role},
    slot::Counters,
};

use crate::Frame;

/// What the labels of an interval say together must be what its row of all requests says, and no label may have more times
/// than answers.
pub(crate) fn holds(frame: &Frame, labels: &[Label]) -> bool {
    let mut all = Counters::default();
    let mut sum = Counters::default();
    for ((id, _), part) in &frame.parts {
        let role = labels.iter().find(|known| known.id == *id);
        let Some(role) = role.map(|known| known.group.role()) else {
            continue;
        };
        if *id == label::ALL {
            all.add(&part.slot.counters);
        } else if role == Role::Request {
            sum.add(&part.slot.counters);
            let counters = &part.slot.counters;
            let has_more = |outcome, answers: u64| {
                let times = [Kind::Service, Kind::Response];
                let counts = times.map(|kind| part.slot.histogram(kind, outcome));
                counts
                    .into_iter()
                    .flatten()
                    .any(|times| times.count() > answers)
            };
            if has_more(Outcome::Ok, counters.ok) || has_more(Outcome::Failed, counters.failed) {
                return false;
            }
        }
    }
    let figures = |counters: &Counters| {
        let unanswered = counters.without_answer();
        (counters.issued, counters.ok, counters.failed, unanswered)
    };
    figures(&all) == figures(&sum)
}
