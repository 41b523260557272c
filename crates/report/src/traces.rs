//! Figures of traced requests.

use analysis::summary::{SlowRequest, Summary};
use record::units;

/// Maximum number of rows per label, and of all rows, in documents.
pub const OF_LABEL: usize = 5;
pub const IN_ALL: usize = 100;

pub const HEADS: [&str; 6] = [
    "Slowest traced requests",
    "Response",
    "Service",
    "At",
    "<Outcome",
    "<Trace",
];

/// Returns the rows of the table, without the column for the trace. Empty if no request was traced.
#[must_use]
pub fn rows(summary: &Summary) -> Vec<(&SlowRequest, [String; 5])> {
    let rows = summary.traces.iter();
    let rows = rows.flat_map(|traces| traces.most_useful(OF_LABEL, IN_ALL));
    rows.map(|one| (one, cells(one))).collect()
}

fn cells(one: &SlowRequest) -> [String; 5] {
    [
        one.text.clone(),
        units::time(one.response_ns),
        one.service_ns.map_or_else(|| "–".to_owned(), units::time),
        units::moment(one.intended_ns),
        one.outcome(),
    ]
}
