//! Reads tables printed by Locust. Rows are read from the right, because names may contain any
//! characters.

use super::{
    figure::Position,
    lines::{NumberedLine, Word},
    locust::{self, ColumnKind, TERMINAL},
    model::{Bound, Failures, PrintedReport, PrintedRow, Rates, SumRelation, Tool, Total},
    number::{self, Rounding, plain},
};

#[must_use]
pub fn read(lines: &[NumberedLine]) -> Vec<PrintedReport> {
    let mut reader = TableReader::default();
    for line in lines {
        reader.line(line);
    }
    reader.end();
    let mut reports = reader.reports;
    let tables = reports
        .iter()
        .filter(|report| report.rates == Rates::Unknown);
    if tables.count() > 1 {
        for report in reports
            .iter_mut()
            .filter(|report| report.rates == Rates::Unknown)
        {
            report.rates = Rates::Current;
        }
    }
    reports
}

type ColumnHeading = Vec<(ColumnKind, String)>;

#[derive(Default)]
struct TableReader {
    reports: Vec<PrintedReport>,
    table: Option<OpenTable>,
    users: Option<Bound>,
}

enum OpenTable {
    Rows {
        head: ColumnHeading,
        report: Box<PrintedReport>,
    },
    Errors {
        sum: Vec<Failures>,
    },
}

impl TableReader {
    fn line(&mut self, line: &NumberedLine) {
        let words = line.words();
        if let Some(table) = head(&words, line.place()) {
            self.end();
            self.table = Some(table);
            return;
        }
        if line.text.contains("users") {
            self.users = users(&words).or(self.users.take());
        }
        let is_rule = line.text.trim().starts_with('-');
        match &mut self.table {
            None => {}
            Some(_) if is_rule => {}
            Some(OpenTable::Rows { .. }) if words.is_empty() => {}
            Some(OpenTable::Rows { head, report }) => {
                let Some(row) = row(head, &words, line.place()) else {
                    self.end();
                    return;
                };
                if locust::is_total(&row.name) {
                    report.all = row;
                    self.end();
                } else {
                    report.rows.push(row);
                }
            }
            Some(OpenTable::Errors { sum }) => {
                let count = words.first().and_then(|word| {
                    number::figure("occurrences", word.text, word.place, Rounding::Exact, plain)
                });
                match count.filter(|_| words.len() > 1) {
                    Some(mut count) => {
                        let error = words[1..]
                            .iter()
                            .map(|w| w.text)
                            .collect::<Vec<_>>()
                            .join(" ");
                        count.name = error;
                        sum.push(Failures {
                            count,
                            unanswered: None,
                        });
                    }
                    None => self.end(),
                }
            }
        }
    }

    fn end(&mut self) {
        match self.table.take() {
            Some(OpenTable::Rows { head, mut report }) => {
                let is_empty = report.rows.is_empty() && report.all.requests.is_none();
                if is_empty {
                    return;
                }
                let has_rates = head.iter().any(|(column, _)| *column == ColumnKind::Rate);
                let above = self.reports.last_mut().filter(|_| !has_rates);
                if let Some(above) = above.filter(|above| above.all.percentiles.is_none())
                    && same_names(above, &report)
                {
                    return join(above, &report);
                }
                if has_rates {
                    report.bound.clone_from(&self.users);
                }
                self.reports.push(*report);
            }
            Some(OpenTable::Errors { sum }) => {
                let known = self.reports.last_mut().filter(|r| r.all.errors.is_empty());
                if let Some(report) = known {
                    let parts = sum.iter().map(|failures| failures.count.clone()).collect();
                    report
                        .ledgers
                        .extend(report.all.failures.clone().map(|total| SumRelation {
                            total,
                            parts,
                            is: Total::Sum,
                        }));
                    report.all.errors = sum;
                } else if let Some(first) = sum.first() {
                    let mut report = PrintedReport::new(Tool::Locust, "errors", first.count.place);
                    report.all.errors = sum;
                    self.reports.push(report);
                }
            }
            None => {}
        }
    }
}

fn head(words: &[Word<'_>], place: Position) -> Option<OpenTable> {
    let texts: Vec<&str> = words.iter().map(|word| word.text).collect();
    if texts.starts_with(&["#", "occurrences"]) {
        return Some(OpenTable::Errors { sum: Vec::new() });
    }
    let name = texts
        .iter()
        .position(|text| *text == "Name")
        .filter(|at| *at <= 1)?;
    let mut head: ColumnHeading = Vec::new();
    let mut hash = false;
    for text in texts[name + 1..].iter().filter(|text| **text != "|") {
        if *text == "#" {
            hash = true;
            continue;
        }
        let heading = if hash {
            format!("# {text}")
        } else {
            (*text).to_owned()
        };
        hash = false;
        head.push((ColumnKind::from_heading(&heading.to_lowercase()), heading));
    }
    let is_ours = head
        .iter()
        .any(|(column, _)| *column == ColumnKind::Requests)
        && head.len() >= 4
        && head
            .iter()
            .all(|(column, _)| !matches!(column, ColumnKind::Other | ColumnKind::Name));
    is_ours.then(|| OpenTable::Rows {
        head,
        report: {
            let mut report = Box::new(PrintedReport::new(Tool::Locust, "table", place));
            report.rates = Rates::Unknown;
            report
        },
    })
}

fn row(head: &ColumnHeading, words: &[Word<'_>], place: Position) -> Option<PrintedRow> {
    let mut cells = Vec::new();
    let mut left = words.len();
    while cells.len() < head.len() {
        left = left.checked_sub(1)?;
        if words[left].text != "|" {
            cells.push(words[left]);
        }
    }
    cells.reverse();
    let name: Vec<&str> = words[..left].iter().map(|word| word.text).collect();
    let mut row = PrintedRow::new(name.join(" "), place);
    let is_read = head
        .iter()
        .zip(&cells)
        .all(|((column, heading), cell)| locust::put(&mut row, *column, heading, *cell, TERMINAL));
    locust::end(&mut row);
    (is_read && !row.name.is_empty()).then_some(row)
}

fn same_names(a: &PrintedReport, b: &PrintedReport) -> bool {
    b.rows
        .iter()
        .all(|row| a.rows.iter().any(|other| other.name == row.name))
}

fn join(above: &mut PrintedReport, percentiles: &PrintedReport) {
    above.rates = Rates::Whole;
    let below = [&percentiles.all];
    let mut pairs = Vec::new();
    for (row, is_all) in percentiles
        .rows
        .iter()
        .map(|r| (r, false))
        .chain(below.map(|r| (r, true)))
    {
        let found = if is_all {
            Some(&mut above.all)
        } else {
            above.rows.iter_mut().find(|other| other.name == row.name)
        };
        let Some(found) = found else { continue };
        if let (Some(a), Some(b)) = (&found.requests, &row.requests) {
            pairs.push((a.clone(), b.clone()));
        }
        found.percentiles.clone_from(&row.latency);
    }
    above.again.append(&mut pairs);
}

/// Reads the number of users from `Ramping to 6 users at a rate of 3.00 per second` or `(6 total
/// users)`.
fn users(words: &[Word<'_>]) -> Option<Bound> {
    let texts: Vec<&str> = words.iter().map(|word| word.text).collect();
    let at = texts
        .windows(3)
        .position(|w| w[0] == "Ramping" && w[1] == "to")
        .map(|at| at + 2)
        .or_else(|| {
            texts
                .windows(3)
                .position(|w| w[1] == "total" && w[2] == "users)")
        })?;
    let word = words.get(at)?;
    let text = word.text.trim_start_matches('(');
    let mut place = word.place;
    place.column += word.text.len() - text.len();
    number::figure("users", text, place, Rounding::Exact, plain).map(locust::users)
}
