//! Section of `report.md` about nodes.

use super::{
    sections::section,
    table::{MarkdownTable, escaped},
};
use crate::nodes;
use analysis::summary::Summary;

pub fn table(summary: &Summary) -> String {
    if summary.nodes.is_empty() {
        return String::new();
    }
    let mut table = MarkdownTable::new(&nodes::HEADS);
    for row in &summary.nodes {
        table.row(nodes::cells(row));
    }
    section("Nodes", &format!("{table}\n{}", escaped(nodes::MEANING)))
}
