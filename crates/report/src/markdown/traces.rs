//! Section of `report.md` about traced requests.

use analysis::summary::Summary;

use super::{
    sections::section,
    table::{MarkdownTable, escaped},
};
use crate::traces;

pub fn slowest(summary: &Summary) -> String {
    let Some(of_run) = &summary.traces else {
        return String::new();
    };
    let mut table = MarkdownTable::new(&traces::HEADS);
    for (one, cells) in traces::rows(summary) {
        let id = one.ids.trace_id.clone();
        table.row(cells.into_iter().chain([id]));
        table.link_last_cell(one.url.as_deref());
    }
    let table = if table.is_empty() {
        String::new()
    } else {
        table.to_string()
    };
    section(
        "Traced requests",
        &format!("{table}\n{}", escaped(&of_run.sentence)),
    )
}
