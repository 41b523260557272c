//! Section of `report.md` about deliveries.

use super::{
    sections::section,
    table::{MarkdownTable, escaped},
};
use crate::deliveries;
use analysis::summary::Summary;

pub fn deliveries(summary: &Summary) -> String {
    if summary.deliveries.is_empty() {
        return String::new();
    }
    let mut table = MarkdownTable::new(&deliveries::HEADS);
    let mut below = Vec::new();
    for row in &summary.deliveries {
        table.row(deliveries::cells(row));
        below.extend(deliveries::connections(row));
        below.extend(deliveries::remarks(row));
    }
    let below = below.iter().map(|line| format!("- {}\n", escaped(line)));
    let below: String = below.collect();
    let text = format!("{table}\n{}\n\n{below}", deliveries::MEANING);
    section("Deliveries", text.trim_end())
}
