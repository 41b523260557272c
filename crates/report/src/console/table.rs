//! The table of labels: requests, errors, rate and percentiles. Columns are as wide as what stands in them; the labels get
//! what is left of the line.

use analysis::summary::{Row, Stats, Summary};

use record::units;

use super::text::{WIDTH, cut};

const HEADS: [&str; 9] = [
    "requests", "errors", "rps", "p50", "p90", "p95", "p99", "p99.9", "max",
];
const MIN_LABEL: usize = 12;
const RESPONSE: &str = "  response";

/// The table, with its footnotes.
pub(super) fn of(summary: &Summary) -> String {
    let mut lines = vec![Line {
        label: match &summary.run.imported_from {
            Some(tool) => format!("by {tool}"),
            None => "service".into(),
        },
        cells: HEADS.map(str::to_owned),
    }];
    for row in [&summary.all].into_iter().chain(&summary.labels) {
        lines.push(Line::of(&row.text, row, row.service.as_ref()));
        if row.response.is_some() {
            lines.push(Line::times(RESPONSE, row.response.as_ref()));
        }
    }
    for row in &summary.iterations {
        lines.push(Line::of(
            &format!("iteration {}", row.text),
            row,
            row.iteration.as_ref(),
        ));
    }
    let mut text = layout(&lines);
    if lines.iter().any(|line| line.label == RESPONSE) {
        text.push_str(
            "\nservice: first byte written to last byte read; response: from the intended start",
        );
    }
    if summary.run.imported_from.is_none() && summary.run.elapsed_ns > 0 {
        text.push_str(&format!(
            "\nrps: by {}, from the start to the last completion or the end of the load",
            units::time(summary.run.elapsed_ns)
        ));
    }
    if !summary.iterations.is_empty() && summary.run.imported_from.is_none() {
        text.push_str("\niteration: from the intended arrival to the last answer");
    }
    let thin = |line: &Line| line.cells.iter().any(|cell| cell == "–");
    if lines.iter().any(thin) && summary.run.imported_from.is_none() {
        text.push_str("\n– fewer than 10 samples lie beyond this percentile: it would be chance");
    }
    text
}

struct Line {
    label: String,
    cells: [String; 9],
}

impl Line {
    fn of(label: &str, row: &Row, stats: Option<&Stats>) -> Line {
        let mut line = Line::times(label, stats);
        let cells = [
            ("count", units::count(row.count)),
            ("errors", units::count(row.errors)),
            ("per_second", units::rate(row.per_second)),
        ];
        for (cell, (name, text)) in line.cells.iter_mut().zip(cells) {
            *cell = if row.tells(name) { text } else { "–".into() };
        }
        line
    }

    fn times(label: &str, stats: Option<&Stats>) -> Line {
        let mut cells: [String; 9] = Default::default();
        if let Some(stats) = stats {
            let figures = [stats.p50, stats.p90, stats.p95, stats.p99, stats.p999];
            for (cell, figure) in cells[3..8].iter_mut().zip(figures) {
                *cell = figure.to_string();
            }
            cells[8] = stats.max.to_string();
        }
        Line {
            label: label.to_owned(),
            cells,
        }
    }
}

fn layout(lines: &[Line]) -> String {
    let width = |text: &str| text.chars().count();
    let widths: [usize; 9] = std::array::from_fn(|i| {
        lines
            .iter()
            .map(|line| width(&line.cells[i]))
            .max()
            .unwrap_or(0)
    });
    let taken: usize = widths.iter().map(|width| width + 1).sum();
    let labels = lines
        .iter()
        .map(|line| width(&line.label))
        .max()
        .unwrap_or(0);
    let label_width = labels.min(WIDTH.saturating_sub(taken)).max(MIN_LABEL);
    let render = |line: &Line| {
        let label = cut(&line.label, label_width);
        let mut text = format!("{label:<label_width$}");
        for (cell, width) in line.cells.iter().zip(widths) {
            text.push_str(&format!(" {cell:>width$}"));
        }
        text.trim_end().to_owned()
    };
    lines.iter().map(render).collect::<Vec<_>>().join("\n")
}
