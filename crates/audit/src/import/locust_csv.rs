//! Reads the files of Locust's `--csv`. Each file is identified by its header.

use super::{
    csv::{CsvRecord, CsvTable},
    figure::{Position, PrintedFigure},
    lines::Word,
    locust::{self, CSV, ColumnKind},
    model::{Failures, PrintedReport, PrintedRow, Rates, Tool},
    number::{self, Rounding, plain},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsvKind {
    Stats,
    History,
    Failures,
    Exceptions,
}

impl CsvKind {
    #[must_use]
    pub fn from_table(table: &CsvTable) -> Option<CsvKind> {
        if table.has(&["type", "name", "request count", "failure count"]) {
            Some(CsvKind::Stats)
        } else if table.has(&["timestamp", "user count", "name", "total request count"]) {
            Some(CsvKind::History)
        } else if table.has(&["method", "name", "error", "occurrences"]) {
            Some(CsvKind::Failures)
        } else if table.has(&["count", "message", "traceback"]) {
            Some(CsvKind::Exceptions)
        } else {
            None
        }
    }
}

#[must_use]
pub fn read(table: &CsvTable, kind: CsvKind) -> PrintedReport {
    let place = Position { line: 1, column: 1 };
    match kind {
        CsvKind::Stats => stats(table, PrintedReport::new(Tool::Locust, "stats", place)),
        CsvKind::History => history(table, PrintedReport::new(Tool::Locust, "history", place)),
        CsvKind::Failures => counts(table, "occurrences", "error", "failures"),
        CsvKind::Exceptions => counts(table, "count", "message", "exceptions"),
    }
}

fn stats(table: &CsvTable, mut report: PrintedReport) -> PrintedReport {
    for record in &table.records {
        let row = row(table, record, |heading| {
            (ColumnKind::from_heading(heading), heading)
        });
        put(&mut report, row);
    }
    report
}

fn history(table: &CsvTable, mut report: PrintedReport) -> PrintedReport {
    report.periods_run_on = true;
    let number = |record: &CsvRecord, heading: &str| {
        let word = record.field(table.column(heading)?)?;
        number::figure(heading, word.text, word.place, Rounding::Exact, plain)
    };
    for record in &table.records {
        let Some(moment) = number(record, "timestamp") else {
            continue;
        };
        // Percentiles and rates may cover only the last ten seconds.
        let mut row = row(table, record, |heading| {
            match heading.strip_prefix("total ") {
                Some(rest) => (ColumnKind::from_heading(rest), heading),
                None if heading.ends_with("/s") => (ColumnKind::from_heading(heading), heading),
                None => (ColumnKind::Other, heading),
            }
        });
        let window = self::row(table, record, |heading| {
            let column = ColumnKind::from_heading(heading);
            let is_own = matches!(column, ColumnKind::Percentile(_));
            (if is_own { column } else { ColumnKind::Other }, heading)
        })
        .latency;
        row.others.extend(window);
        let same = report
            .periods
            .last()
            .is_some_and(|period| period.title == moment.text);
        if !same {
            let mut period = PrintedReport::new(Tool::Locust, moment.text.clone(), record.place());
            period.is_period = true;
            period.rates = Rates::Current;
            period.bound = number(record, "user count").map(locust::users);
            period.counters.push(moment);
            report.periods.push(period);
        }
        if let Some(period) = report.periods.last_mut() {
            put(period, row);
        }
    }
    report
}

fn put(report: &mut PrintedReport, row: PrintedRow) {
    if locust::is_total(&row.name) {
        report.all = row;
    } else {
        report.rows.push(row);
    }
}

fn row<'a>(
    table: &'a CsvTable,
    record: &CsvRecord,
    column: impl Fn(&'a str) -> (ColumnKind, &'a str),
) -> PrintedRow {
    let text = |heading: &str| {
        let field = table.column(heading).and_then(|at| record.field(at));
        field.map_or("", |word| word.text)
    };
    let name = format!("{} {}", text("type"), text("name"));
    let mut row = PrintedRow::new(name.trim(), record.place());
    for (at, heading) in table.header.iter().enumerate() {
        if let Some(cell) = record.field(at) {
            let (column, heading) = column(heading);
            locust::put(&mut row, column, heading, cell, CSV);
        }
    }
    locust::end(&mut row);
    row
}

fn counts(table: &CsvTable, count: &str, name: &str, title: &str) -> PrintedReport {
    let mut report = PrintedReport::new(Tool::Locust, title, Position { line: 1, column: 1 });
    for record in &table.records {
        let field = |heading: &str| record.field(table.column(heading)?);
        let label = field(name).map_or("", |word| word.text);
        let label: String = label.lines().next().unwrap_or_default().to_owned();
        let figure = field(count).and_then(|word: Word<'_>| {
            number::figure(label, word.text, word.place, Rounding::Exact, plain)
        });
        report
            .all
            .errors
            .extend(figure.map(|count: PrintedFigure| Failures {
                count,
                unanswered: None,
            }));
    }
    report
}
