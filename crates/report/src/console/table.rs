//! The table of labels. Columns are as wide as their content, and the label column gets the rest of
//! the line.

use analysis::summary::{Figure, P999_SAMPLES, Row, Stats, Summary};
use record::units;

use super::{
    Detail,
    text::{Columns, cut, wrap},
};

const HEADS: [&str; COLUMNS] = [
    "requests", "errors", "rps", "mean", "p50", "p90", "p95", "p99", "p99.9", "max",
];
const COLUMNS: usize = 10;
const ERRORS: usize = 1;
const RATE: usize = 2;
const MEAN: usize = 3;
const P90: usize = 5;
const P999: usize = 8;
const MAX: usize = 9;
/// Columns of times, with their names in the summary.
const TIMES: [(usize, &str); 7] = [
    (MEAN, "mean_ns"),
    (MEAN + 1, "p50"),
    (P90, "p90"),
    (P90 + 1, "p95"),
    (P90 + 2, "p99"),
    (P999, "p999"),
    (MAX, "max"),
];
/// Columns to drop on a narrow terminal, in this order.
const DROPPED: [usize; 4] = [P999, MEAN, P90, RATE];
const MAX_THIN: usize = 6;
const MIN_LABEL: usize = 12;
/// Minimum width of labels. Columns are dropped to reach it.
const GOOD_LABEL: usize = 20;
const SERVICE: &str = "  service";
const FIRST_BYTE: &str = "  first byte";
const UNPAUSED: &str = "  without pauses";
const FEW: &str = "too few";
const JUDGED: char = '*';

pub(super) fn render(summary: &Summary, columns: Columns, detail: Detail) -> String {
    let lines = lines(summary, detail);
    let mut shown = [true; COLUMNS];
    if detail == Detail::Brief {
        let is_marked = |column: usize| {
            let mut lines = lines.iter();
            lines.any(|line| line.cells[column].ends_with(JUDGED))
        };
        shown[MEAN] = is_marked(MEAN);
        shown[P90] = is_marked(P90);
        shown[P999] = summary.all.count >= P999_SAMPLES || is_marked(P999);
    }
    let (mut text, dropped, shown) = layout(&lines, columns, shown);
    let mut foot = |line: &str| {
        text.push('\n');
        text.push_str(&wrap(line, 2, columns));
    };
    let has = |mark: &str| lines.iter().skip(1).any(|line| line.shows(mark, shown));
    if !dropped.is_empty() {
        foot(&format!(
            "too narrow for {}: see the report, or use a wider terminal",
            dropped.join(" and ")
        ));
    }
    let is_own = summary.run.imported_from.is_none();
    let has_response = summary.all.response.is_some() && is_own;
    if detail == Detail::Brief {
        if has(&JUDGED.to_string()) {
            foot("* judged by a criterion");
        }
        let marks = [FEW, "?"].into_iter().filter(|mark| has(mark));
        let marks: Vec<&str> = marks.collect();
        if !marks.is_empty() {
            foot(&format!(
                "{}: fewer than 10 samples are beyond this percentile",
                marks.join(" and ")
            ));
        }
        return text;
    }
    if has_response {
        foot(
            "response: from the intended start to the last byte read; service: from the first \
            byte written; first byte: from the first byte written to the first byte read",
        );
    }
    if is_own && summary.run.elapsed_ns > 0 {
        foot(&format!(
            "rps: over {}, from the start to the last completion or the end of the load",
            units::time(summary.run.elapsed_ns)
        ));
    }
    if !summary.iteration_rows().is_empty() && is_own {
        foot("iteration: from the intended arrival to the last response");
    }
    if !summary.transactions.is_empty() {
        foot("transaction: from the due time of a group's first step to the end of its last step");
    }
    if has(&JUDGED.to_string()) {
        foot("* judged by a criterion");
    }
    text + &thin(summary, columns)
}

fn lines(summary: &Summary, detail: Detail) -> Vec<TableLine> {
    let mut lines = vec![TableLine {
        label: match &summary.run.imported_from {
            Some(tool) => format!("by {tool}"),
            None => summary.headline_name().to_owned(),
        },
        cells: HEADS.map(str::to_owned),
    }];
    for row in summary.request_rows() {
        let (times, time) = match (&row.response, &row.service) {
            (Some(response), _) => (Some(response), "response"),
            (None, service) => (service.as_ref(), "service"),
        };
        let mut line = TableLine::new(&row.text, row, times);
        line.mark(summary, row);
        line.mark_times(summary, row, time);
        lines.push(line);
        let parts = [
            (SERVICE, "service", &row.service),
            (FIRST_BYTE, "first_byte", &row.first_byte),
        ];
        let parts = parts.into_iter().filter(|(_, part, times)| {
            let is_wanted = detail == Detail::Full && row.response.is_some();
            *part != time && times.is_some() && (is_wanted || summary.judges_time(row, part))
        });
        for (name, part, times) in parts {
            let mut line = TableLine::times(name, times.as_ref());
            line.mark_times(summary, row, part);
            lines.push(line);
        }
        lines.extend(judged_percentiles(row));
    }
    for row in summary.iteration_rows().iter().chain(&summary.transactions) {
        let mut line = TableLine::new(&row.called(), row, row.iteration.as_ref());
        line.mark_times(summary, row, "iteration");
        lines.push(line);
        lines.extend(judged_percentiles(row));
        if row.unpaused.is_some() {
            lines.push(TableLine::times(UNPAUSED, row.unpaused.as_ref()));
        }
    }
    lines
}

/// Percentiles that occur only in criteria, each on a separate line below its row.
fn judged_percentiles(row: &Row) -> Vec<TableLine> {
    let lines = row.judged_percentiles.iter().flat_map(|(time, figures)| {
        let of = match time.as_str() {
            "service" => "service ",
            "first_byte" => "first byte ",
            "first_event" => "first event ",
            "ttft" => "time to first token ",
            "gap" => "gap ",
            "per_token" => "time per token ",
            _ => "",
        };
        figures.iter().map(move |(name, figure)| TableLine {
            label: format!("  {of}{name} {}{JUDGED}", figure.value()),
            cells: Default::default(),
        })
    });
    lines.collect()
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
            of("response", row.response.as_ref()),
            of("service", row.service.as_ref()),
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
    for line in reported.iter().take(MAX_THIN) {
        text.push_str(&format!("\n{}", wrap(&format!("  {line}"), 4, columns)));
    }
    let more = reported.len().saturating_sub(MAX_THIN);
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
    cells: [String; COLUMNS],
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
        let mut cells: [String; COLUMNS] = Default::default();
        if let Some(stats) = stats {
            // The mean of the answered requests alone would hide the unanswered ones.
            if let Some(mean) = stats.mean_ns.filter(|_| stats.unanswered == 0) {
                cells[MEAN] = units::time(mean.round() as u64);
            }
            let figures = [stats.p50, stats.p90, stats.p95, stats.p99, stats.p999];
            for (cell, figure) in cells[MEAN + 1..MAX].iter_mut().zip(figures) {
                *cell = percentile(figure, stats.max);
            }
            cells[MAX] = stats.max.value();
        }
        TableLine {
            label: label.to_owned(),
            cells,
        }
    }

    /// Marks the counts that criteria judge.
    fn mark(&mut self, summary: &Summary, row: &Row) {
        for (column, figure) in [
            (ERRORS, "errors"),
            (ERRORS, "error_share"),
            (RATE, "per_second"),
        ] {
            if summary.is_judged(row, figure) {
                self.mark_cell(column);
            }
        }
    }

    /// Marks the times that criteria judge.
    fn mark_times(&mut self, summary: &Summary, row: &Row, time: &str) {
        for (column, figure) in TIMES {
            if summary.is_judged(row, &format!("{time}/{figure}")) {
                self.mark_cell(column);
            }
        }
    }

    fn mark_cell(&mut self, column: usize) {
        let cell = &mut self.cells[column];
        if !cell.is_empty() && !cell.ends_with(JUDGED) {
            cell.push(JUDGED);
        }
    }

    /// Returns whether the line has only a label, which then contains the figure.
    fn has_no_cells(&self) -> bool {
        self.cells.iter().all(String::is_empty)
    }

    fn shows(&self, mark: &str, shown: [bool; COLUMNS]) -> bool {
        if self.has_no_cells() {
            return self.label.contains(mark);
        }
        let cells = self.cells.iter().zip(shown);
        cells
            .filter(|(_, shown)| *shown)
            .any(|(cell, _)| cell.contains(mark))
    }
}

fn percentile(figure: Figure, max: Figure) -> String {
    let largest = max.ns.or(max.at_least_ns);
    match figure.thin {
        Some(thin) if thin.ns.is_none() && largest.is_some() && thin.at_least_ns == largest => {
            FEW.to_owned()
        }
        _ => figure.value(),
    }
}

fn layout(
    lines: &[TableLine],
    columns: Columns,
    mut is_shown: [bool; COLUMNS],
) -> (String, Vec<&'static str>, [bool; COLUMNS]) {
    let width = |text: &str| text.chars().count();
    let widths: [usize; COLUMNS] = std::array::from_fn(|i| {
        lines
            .iter()
            .map(|line| width(&line.cells[i]))
            .max()
            .unwrap_or(0)
    });
    let labels = lines
        .iter()
        .filter(|line| !line.has_no_cells())
        .map(|line| width(&line.label))
        .max()
        .unwrap_or(0);
    let taken = |is_shown: &[bool; COLUMNS]| -> usize {
        let is_shown = widths
            .iter()
            .zip(is_shown)
            .filter(|(_, is_shown)| **is_shown);
        is_shown.map(|(width, _)| width + 1).sum()
    };
    let mut dropped = Vec::new();
    for column in DROPPED {
        if is_shown[column] && taken(&is_shown) + labels.min(GOOD_LABEL) > columns.count() {
            is_shown[column] = false;
            dropped.push(HEADS[column]);
        }
    }
    let room = columns.count().saturating_sub(taken(&is_shown));
    let label_width = labels.min(room).max(MIN_LABEL);
    let render = |line: &TableLine| {
        if line.has_no_cells() {
            return line.label.clone();
        }
        let label = cut(&line.label, label_width);
        let mut text = format!("{label:<label_width$}");
        let cells = line.cells.iter().zip(widths).zip(is_shown);
        for ((cell, width), _) in cells.filter(|(_, is_shown)| *is_shown) {
            text.push_str(&format!(" {cell:>width$}"));
        }
        text.trim_end().to_owned()
    };
    let text = lines.iter().map(render).collect::<Vec<_>>().join("\n");
    (text, dropped, is_shown)
}
