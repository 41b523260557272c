//! The result of a single iteration, as text.

use analysis::summary::Summary;
use record::units;

use super::{
    criteria_in,
    text::{Columns, wrap},
};
use crate::printable;

#[must_use]
pub fn trial_in(summary: &Summary, columns: Columns) -> String {
    let summary = &*printable::names(summary);
    let mut blocks = vec![format!("\n{}", wrap(&outcome(summary), 2, columns))];
    if !summary.criteria.is_empty() {
        blocks.push(criteria_in(&summary.criteria, columns));
    }
    let notes = summary
        .notes
        .iter()
        .map(|note| wrap(&format!("Note: {note}"), 6, columns));
    let notes: Vec<String> = notes.collect();
    if !notes.is_empty() {
        blocks.push(notes.join("\n"));
    }
    if let Some(measurement) = &summary.measurement {
        blocks.push(wrap(&measurement.line(), 2, columns));
    }
    blocks.join("\n\n") + "\n"
}

#[must_use]
pub fn is_through(summary: &Summary) -> bool {
    let requests = &summary.requests;
    let iterations = summary.arrivals.as_ref();
    requests.failed + requests.unanswered == 0
        && iterations.is_none_or(|arrivals| arrivals.failed + arrivals.abandoned == 0)
}

fn outcome(summary: &Summary) -> String {
    let requests = &summary.requests;
    let took = units::time(summary.run.elapsed_ns);
    let sent = match requests.issued {
        1 => "1 request".to_owned(),
        n => format!("{} requests", units::count(n)),
    };
    let bad = requests.failed + requests.unanswered;
    if is_through(summary) {
        format!(
            "One iteration of {} passed: {sent} in {took}.",
            summary.run.name
        )
    } else {
        format!(
            "One iteration of {} failed: {bad} of {sent} failed, in {took}.",
            summary.run.name
        )
    }
}
