//! Deliveries in the terminal: a few lines for each kind of receiver.

use analysis::summary::Summary;

use super::text::{Columns, wrap};
use crate::deliveries;

/// Returns the block, or an empty text if there are no receivers.
pub(super) fn render(summary: &Summary, columns: Columns) -> String {
    let blocks = summary.deliveries.iter().map(|row| {
        let head = format!("Deliveries to {}", deliveries::receivers(row));
        let lines = deliveries::lines(row).into_iter();
        let lines = lines.map(|line| wrap(&format!("  {line}"), 4, columns));
        [head]
            .into_iter()
            .chain(lines)
            .collect::<Vec<_>>()
            .join("\n")
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}
