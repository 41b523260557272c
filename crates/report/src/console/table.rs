//! Formats the table of labels. Columns are as wide as their content, and the label column gets the
//! rest of the line.

use analysis::summary::{Figure, Row, Stats, Summary};
use record::units;

use super::text::{Columns, cut, wrap};

const HEADS: [&str; 9] = [
    "requests", "errors", "rps", "p50", "p90", "p95", "p99", "p99.9", "max",
];
const MOST_THIN: usize = 6;
const MIN_LABEL: usize = 12;
/// Minimum width of labels. Columns are dropped to reach it.
const GOOD_LABEL: usize = 20;
const LEFT_OUT: [usize; 3] = [7, 4, 2];
const RESPONSE: &str = "  response";
const UNPAUSED: &str = "  without pauses";

pub(super) fn render(summary: &Summary, columns: Columns) -> String {
    let mut lines = vec![TableLine {
        label: match &summary.run.imported_from {
            Some(tool) => format!("by {tool}"),
            None => "service".into(),
        },
        cells: HEADS.map(str::to_owned),
    }];
    for row in summary.request_rows() {
        lines.push(TableLine::new(&row.text, row, row.service.as_ref()));
        if row.response.is_some() {
            lines.push(TableLine::times(RESPONSE, row.response.as_ref()));
        }
    }
    let over_requests = [summary.iteration_rows(), summary.transactions.as_slice()];
    for row in over_requests.into_iter().flatten() {
        lines.push(TableLine::new(&row.called(), row, row.iteration.as_ref()));
        if row.unpaused.is_some() {
            lines.push(TableLine::times(UNPAUSED, row.unpaused.as_ref()));
        }
    }
    let (mut text, left_out) = layout(&lines, columns);
    let mut foot = |line: &str| {
        text.push('\n');
        text.push_str(&wrap(line, 2, columns));
    };
    if !left_out.is_empty() {
        foot(&format!(
            "too narrow for {}: see the report, or use a wider terminal",
            left_out.join(" and ")
        ));
    }
    if lines.iter().any(|line| line.label == RESPONSE) {
        foot("service: first byte written to last byte read; response: from the intended start");
    }
    if summary.run.imported_from.is_none() && summary.run.elapsed_ns > 0 {
        foot(&format!(
            "rps: over {}, from the start to the last completion or the end of the load",
            units::time(summary.run.elapsed_ns)
        ));
    }
    if !summary.iteration_rows().is_empty() && summary.run.imported_from.is_none() {
        foot("iteration: from the intended arrival to the last response");
    }
    if !summary.transactions.is_empty() {
        foot("transaction: from the due time of a group's first step to the end of its last step");
    }
    text + &thin(summary, columns)
}

fn thin(summary: &Summary, columns: Columns) -> String {
    let rows = summary.request_rows().into_iter();
    let rows = rows
        .chain(summary.iteration_rows())
        .chain(&summary.transactions);
    let times = rows.flat_map(|row| {
        let of = |name: &str, stats: Option<&Stats>| {
            let reported = stats.map(intervals).unwrap_or_default();
            let of = format!("{} {name}", row.called());
            (!reported.is_empty()).then(|| format!("{}: {}", of.trim(), reported.join(", ")))
        };
        [
            of("service", row.service.as_ref()),
            of("response", row.response.as_ref()),
            of("", row.iteration.as_ref()),
            of("without pauses", row.unpaused.as_ref()),
        ]
    });
    let reported: Vec<String> = times.flatten().collect();
    if reported.is_empty() {
        return String::new();
    }
    let head = "? fewer than 10 samples are beyond this percentile, so it may be due to chance; 95 % intervals:";
    let mut text = format!("\n{}", wrap(head, 2, columns));
    for line in reported.iter().take(MOST_THIN) {
        text.push_str(&format!("\n{}", wrap(&format!("  {line}"), 4, columns)));
    }
    let more = reported.len().saturating_sub(MOST_THIN);
    if more > 0 {
        text.push_str(&format!("\n  and {more} more (see the report)"));
    }
    text
}

fn intervals(stats: &Stats) -> Vec<String> {
    let figures = [
        ("p50", stats.p50),
        ("p90", stats.p90),
        ("p95", stats.p95),
        ("p99", stats.p99),
        ("p99.9", stats.p999),
    ];
    let reported = figures.into_iter().filter_map(|(name, figure)| {
        let interval = figure.thin?.interval()?;
        Some(format!("{name} {interval}"))
    });
    reported.collect()
}

struct TableLine {
    label: String,
    cells: [String; 9],
}

impl TableLine {
    fn new(label: &str, row: &Row, stats: Option<&Stats>) -> TableLine {
        let mut line = TableLine::times(label, stats);
        let cells = [
            ("count", units::count(row.count)),
            ("errors", units::count(row.errors)),
            ("per_second", units::rate(row.per_second)),
        ];
        for (cell, (name, text)) in line.cells.iter_mut().zip(cells) {
            *cell = if row.reports(name) {
                text
            } else {
                "–".into()
            };
        }
        line
    }

    fn times(label: &str, stats: Option<&Stats>) -> TableLine {
        let mut cells: [String; 9] = Default::default();
        if let Some(stats) = stats {
            let figures = [stats.p50, stats.p90, stats.p95, stats.p99, stats.p999];
            for (cell, figure) in cells[3..8].iter_mut().zip(figures) {
                *cell = percentile(figure, stats.max);
            }
            cells[8] = stats.max.value();
        }
        TableLine {
            label: label.to_owned(),
            cells,
        }
    }
}

fn percentile(figure: Figure, max: Figure) -> String {
    let largest = max.ns.or(max.at_least_ns);
    match figure.thin {
        Some(thin) if thin.ns.is_none() && largest.is_some() && thin.at_least_ns == largest => {
            "≥ max?".to_owned()
        }
        _ => figure.value(),
    }
}

fn layout(lines: &[TableLine], columns: Columns) -> (String, Vec<&'static str>) {
    let width = |text: &str| text.chars().count();
    let widths: [usize; 9] = std::array::from_fn(|i| {
        lines
            .iter()
            .map(|line| width(&line.cells[i]))
            .max()
            .unwrap_or(0)
    });
    let labels = lines
        .iter()
        .map(|line| width(&line.label))
        .max()
        .unwrap_or(0);
    let mut is_shown = [true; 9];
    let taken = |is_shown: &[bool; 9]| -> usize {
        let is_shown = widths
            .iter()
            .zip(is_shown)
            .filter(|(_, is_shown)| **is_shown);
        is_shown.map(|(width, _)| width + 1).sum()
    };
    for column in LEFT_OUT {
        if taken(&is_shown) + labels.min(GOOD_LABEL) > columns.count() {
            is_shown[column] = false;
        }
    }
    let room = columns.count().saturating_sub(taken(&is_shown));
    let label_width = labels.min(room).max(MIN_LABEL);
    let render = |line: &TableLine| {
        let label = cut(&line.label, label_width);
        let mut text = format!("{label:<label_width$}");
        let cells = line.cells.iter().zip(widths).zip(is_shown);
        for ((cell, width), _) in cells.filter(|(_, is_shown)| *is_shown) {
            text.push_str(&format!(" {cell:>width$}"));
        }
        text.trim_end().to_owned()
    };
    let text = lines.iter().map(render).collect::<Vec<_>>().join("\n");
    let left_out = HEADS
        .into_iter()
        .zip(is_shown)
        .filter(|(_, is_shown)| !is_shown);
    (text, left_out.map(|(head, _)| head).collect())
}
