//! Custom metrics in the terminal, one line per metric.

use analysis::summary::{CustomRow, Summary};
use record::units;

use super::{
    Detail,
    text::{Columns, cut, wrap},
};
use crate::custom;

const MOST_BRIEF: usize = 10;
const LONGEST_NAME: usize = 40;

pub(super) fn render(summary: &Summary, columns: Columns, detail: Detail) -> String {
    let rows = &summary.custom;
    let most = match detail {
        Detail::Brief => MOST_BRIEF,
        Detail::Full => rows.len(),
    };
    // Always show judged figures.
    let is_shown = |(at, row): &(usize, &CustomRow)| *at < most || !row.judged.is_empty();
    let shown: Vec<&CustomRow> = rows
        .iter()
        .enumerate()
        .filter(is_shown)
        .map(|(_, row)| row)
        .collect();
    let mut lines = vec!["Custom metrics".to_owned()];
    lines.extend(shown.iter().map(|row| wrap(&line(row), 4, columns)));
    let more = rows.len() - shown.len();
    if more > 0 {
        lines.push(format!(
            "  and {} more: see the report, or use --verbose",
            units::count(more as u64)
        ));
    }
    if custom::has_marks(rows) {
        lines.push("* judged by a criterion".to_owned());
    }
    lines.join("\n")
}

fn line(row: &CustomRow) -> String {
    let name = cut(&row.name, LONGEST_NAME);
    let (kind, count, rate) = (&row.kind, custom::count(row), custom::per_second(row));
    let begin = format!("  {name} ({kind}): {count}, {rate}/s");
    let figures = custom::statistics(row);
    if figures.is_empty() {
        return begin;
    }
    let figures = figures
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    format!("{begin}; {}", figures.collect::<Vec<_>>().join(", "))
}
