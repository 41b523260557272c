//! Streamed responses in the terminal: a table of times, and lines of counts.

use analysis::summary::Summary;

use super::{
    Detail,
    text::{Columns, cut, wrap},
};
use crate::streams::{self, STATISTICS};

const MOST_BRIEF: usize = 5;

pub(super) fn render(summary: &Summary, columns: Columns, detail: Detail) -> String {
    let rows = streams::rows(summary);
    let most = match detail {
        Detail::Brief => MOST_BRIEF,
        Detail::Full => rows.len(),
    };
    let heads = STATISTICS.map(|(name, _)| name.to_owned());
    let mut table = vec![("Streamed responses".to_owned(), heads.to_vec())];
    let mut has_marks = false;
    for (row, stream) in rows.iter().take(most) {
        table.push((cut(&row.text, 60), Vec::new()));
        for time in streams::times(stream) {
            let judged = |(_, key): &(&str, &str)| streams::is_judged(summary, row, &time, key);
            let is_shown = detail == Detail::Full || streams::is_main(&time);
            if !is_shown && !STATISTICS.iter().any(judged) {
                continue;
            }
            let cells = STATISTICS.map(|(_, key)| streams::cell(summary, row, &time, key));
            has_marks |= cells.iter().any(|cell| cell.ends_with('*'));
            table.push((format!("  {}", time.name), cells.to_vec()));
        }
        let counts = streams::counts(summary, row, stream);
        has_marks |= counts.ends_with('*');
        table.push((format!("  {counts}"), Vec::new()));
    }
    let mut lines = match rows.len() {
        0 => Vec::new(),
        _ => aligned(&table, columns),
    };
    if rows.len() > most {
        lines.push(format!(
            "  and {} more requests: see the report, or use --verbose",
            rows.len() - most
        ));
    }
    for (index, row) in summary.goodput.iter().enumerate() {
        let text = streams::goodput(summary, index, row);
        has_marks |= text.contains('*');
        lines.push(wrap(&text, 2, columns));
    }
    if has_marks && detail == Detail::Brief {
        lines.push("* judged by a criterion".to_owned());
    }
    if detail == Detail::Full && !rows.is_empty() {
        lines.push(wrap(streams::MEANING, 2, columns));
    }
    lines.join("\n")
}

/// Right-aligns the cells of a table. Lines without cells are wrapped.
fn aligned(table: &[(String, Vec<String>)], columns: Columns) -> Vec<String> {
    let width = |text: &str| text.chars().count();
    let with_cells = || table.iter().filter(|(_, cells)| !cells.is_empty());
    let label = with_cells().map(|(label, _)| width(label)).max();
    let label = label.unwrap_or(0);
    let widths: Vec<usize> = (0..STATISTICS.len())
        .map(|i| {
            let cells = with_cells().filter_map(|(_, cells)| cells.get(i));
            cells.map(|cell| width(cell)).max().unwrap_or(0)
        })
        .collect();
    let line = |(name, cells): &(String, Vec<String>)| {
        if cells.is_empty() {
            return wrap(name, 4, columns);
        }
        let mut line = format!("{name:<label$}");
        for (cell, width) in cells.iter().zip(&widths) {
            line.push_str(&format!(" {cell:>width$}"));
        }
        line
    };
    table.iter().map(line).collect()
}
