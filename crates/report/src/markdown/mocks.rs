//! Section of `report.md` about mocks: requested and served latencies.

use super::{
    sections::section,
    table::{MarkdownTable, escaped},
};
use crate::mocks;
use analysis::summary::Summary;

pub fn latencies(summary: &Summary) -> String {
    if summary.mocks.is_empty() {
        return String::new();
    }
    let mut table = MarkdownTable::new(&mocks::HEADS);
    for row in &summary.mocks {
        table.row(mocks::cells(row));
    }
    let late = mocks::lateness(&summary.mocks).unwrap_or_default();
    let below = format!("{} {late}", mocks::MEANING);
    section("Mocks", &format!("{table}\n{}", escaped(&below)))
}
