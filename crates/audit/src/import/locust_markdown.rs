//! Reads Locust tables in Markdown. The number of users and the duration are taken from the text
//! above the table.

use super::{
    figure::PrintedFigure,
    lines::{NumberedLine, Word},
    locust::{self, ColumnKind, PrintStyle},
    model::{PrintedReport, PrintedRow, Rates, Tool},
    number::{self, Rounding, plain},
};

#[must_use]
pub fn read(lines: &[NumberedLine]) -> Vec<PrintedReport> {
    let mut reports = Vec::new();
    let mut table: Option<(Vec<(ColumnKind, String)>, PrintedReport)> = None;
    let mut above = Above::default();
    for line in lines {
        let Some(cells) = line.cells() else {
            if let Some((_, report)) = table.take() {
                reports.push(report);
                above = Above::default();
            }
            above.sentence(line);
            continue;
        };
        match &mut table {
            None => {
                table = head(&cells).map(|head| {
                    let mut report = PrintedReport::new(Tool::Locust, "table", line.place());
                    report.rates = Rates::Whole;
                    report.bound = above.users.take().map(locust::users);
                    report.planned = above.duration.take();
                    (head, report)
                });
            }
            Some((head, report)) => {
                if let Some(row) = row(head, &cells) {
                    if locust::is_total(&row.name) {
                        report.all = row;
                    } else {
                        report.rows.push(row);
                    }
                }
            }
        }
    }
    reports.extend(table.map(|(_, report)| report));
    reports.retain(|report| !report.rows.is_empty());
    reports
}

fn head(cells: &[Word<'_>]) -> Option<Vec<(ColumnKind, String)>> {
    let head: Vec<(ColumnKind, String)> = cells
        .iter()
        .map(|cell| {
            (
                ColumnKind::from_heading(&cell.text.to_lowercase()),
                cell.text.to_owned(),
            )
        })
        .collect();
    let has = |wanted: ColumnKind| head.iter().any(|(column, _)| *column == wanted);
    (has(ColumnKind::Name)
        && has(ColumnKind::Requests)
        && (has(ColumnKind::Mean) || has(ColumnKind::Rate)))
    .then_some(head)
}

fn row(head: &[(ColumnKind, String)], cells: &[Word<'_>]) -> Option<PrintedRow> {
    let is_rule = |cell: &Word<'_>| cell.text.chars().all(|c| matches!(c, '-' | ':'));
    if cells.len() != head.len() || cells.iter().all(is_rule) {
        return None;
    }
    let columns = || head.iter().zip(cells);
    let name: Vec<&str> = columns()
        .filter(|((column, _), cell)| *column == ColumnKind::Name && !cell.text.is_empty())
        .map(|(_, cell)| cell.text.trim_matches(['*', '`', '_']))
        .collect();
    let mut row = PrintedRow::new(name.join(" "), cells.first()?.place);
    let is_read = columns().all(|((column, heading), cell)| {
        locust::put(&mut row, *column, heading, *cell, style(heading))
    });
    locust::end(&mut row);
    is_read.then_some(row)
}

fn style(heading: &str) -> PrintStyle {
    let seconds = heading.contains("(s)") || heading.contains("(sec");
    PrintStyle {
        times: Rounding::Either,
        unit_s: if seconds { 1.0 } else { 1e-3 },
        unit: if seconds { "s" } else { "ms" },
    }
}

/// Figures in the text above the table, such as `with 175 simulated users running for 10 minutes`.
#[derive(Default)]
struct Above {
    users: Option<PrintedFigure>,
    duration: Option<PrintedFigure>,
}

impl Above {
    fn sentence(&mut self, line: &NumberedLine) {
        let words = line.words();
        if words.first().is_some_and(|word| word.text.starts_with('#')) {
            return;
        }
        for (at, word) in words.iter().enumerate() {
            let text = word.text.trim_end_matches(['.', ',', ';']);
            if matches!(text, "user" | "users") {
                self.users = number_before(&words[..at], "users").or(self.users.take());
            }
            let unit = match text.trim_end_matches('s') {
                "second" | "sec" => 1.0,
                "minute" | "min" => 60.0,
                "hour" => 3600.0,
                _ => continue,
            };
            let [.., before, n] = &words[..at] else {
                continue;
            };
            if before.text == "for" {
                self.duration =
                    number::figure("run time", n.text, n.place, Rounding::Nearest, |u| {
                        u.is_empty().then_some(unit)
                    })
                    .map(|figure| PrintedFigure {
                        text: format!("{} {text}", figure.text),
                        ..figure
                    })
                    .or(self.duration.take());
            }
        }
    }
}

fn number_before(words: &[Word<'_>], name: &str) -> Option<PrintedFigure> {
    let adjectives = ["simulated", "concurrent", "virtual", "locust"];
    let number = words
        .iter()
        .rev()
        .find(|word| !adjectives.contains(&word.text.to_lowercase().as_str()))?;
    let text = if number.text == "one" {
        "1"
    } else {
        number.text
    };
    number::figure(name, text, number.place, Rounding::Exact, plain)
}
