//! Checks counts: statuses, errors, virtual users, and sums.

use crate::import::{
    PrintedFigure, PrintedReport,
    model::{PrintedRow, Sessions, Total},
};

use record::units;

use super::{checker::Checker, finding::Severity};

pub fn check(checker: &mut Checker, report: &PrintedReport) {
    for row in [&report.all].into_iter().chain(&report.rows) {
        row_of(checker, row, report.is_period);
    }
    if !report.is_period {
        unanswered(checker, &report.all);
    }
    sessions(checker, &report.sessions, report);
    for ledger in &report.ledgers {
        let parts: Vec<&PrintedFigure> = ledger.parts.iter().collect();
        checker.sum("sum", &ledger.total, &parts, ledger.is, false);
    }
    for (a, b) in &report.again {
        checker.same("same", a, b);
    }
}

fn row_of(checker: &mut Checker, row: &PrintedRow, is_period: bool) {
    let codes: Vec<&PrintedFigure> = row.codes.iter().collect();
    if let (Some(responses), false) = (&row.responses, codes.is_empty()) {
        checker.sum("codes", responses, &codes, Total::Sum, is_period);
    }
    if let (Some(failures), Some(requests)) = (&row.failures, &row.requests) {
        checker.order("failures", failures, requests);
        failed_share(checker, row, failures, requests);
    }
    samples(checker, row, is_period);
    classes(checker, row, is_period);
}

fn failed_share(
    checker: &mut Checker,
    row: &PrintedRow,
    failures: &PrintedFigure,
    requests: &PrintedFigure,
) {
    let Some(share) = row.failed_share.as_ref().filter(|_| requests.value > 0.0) else {
        return;
    };
    checker.look();
    let should = failures.range.over(requests.range);
    if should.gap(share.range) > 1e-6 {
        let text = format!(
            "{}, but {} of {} are {}",
            share.named(),
            failures.named(),
            requests.named(),
            units::share(failures.value / requests.value)
        );
        checker.find(
            Severity::Contradiction,
            "failures",
            &[share, failures, requests],
            text,
        );
    }
}

fn samples(checker: &mut Checker, row: &PrintedRow, is_period: bool) {
    let Some(count) = row
        .latency
        .as_ref()
        .and_then(|latency| latency.count.as_ref())
    else {
        return;
    };
    let counted = row.responses.as_ref().or(row.requests.as_ref());
    match counted {
        Some(counted) if counted.place != count.place => {
            checker.sum("samples", count, &[counted], Total::Sum, is_period);
        }
        None if !row.codes.is_empty() => {
            let codes: Vec<&PrintedFigure> = row.codes.iter().collect();
            checker.sum("samples", count, &codes, Total::Sum, is_period);
        }
        _ => {}
    }
}

fn classes(checker: &mut Checker, row: &PrintedRow, is_period: bool) {
    let counts: Option<Vec<&PrintedFigure>> = row
        .by_class
        .iter()
        .map(|(_, latency)| latency.count.as_ref())
        .collect();
    let all = row
        .latency
        .as_ref()
        .and_then(|latency| latency.count.as_ref());
    if let (Some(counts), Some(all)) = (counts.filter(|counts| !counts.is_empty()), all) {
        checker.sum("samples", all, &counts, Total::Sum, is_period);
    }
    for (class, latency) in &row.by_class {
        let of_class = |code: &&PrintedFigure| {
            let code = code.name.rsplit('.').next().unwrap_or_default();
            code.starts_with(*class)
        };
        let codes: Vec<&PrintedFigure> = row.codes.iter().filter(of_class).collect();
        if let Some(count) = &latency.count {
            checker.sum("samples", count, &codes, Total::Sum, is_period);
        }
    }
}

fn unanswered(checker: &mut Checker, all: &PrintedRow) {
    let (Some(requests), Some(responses)) = (&all.requests, &all.responses) else {
        return;
    };
    checker.order("answers", responses, requests);
    let errors: Vec<&PrintedFigure> = all.errors.iter().map(|error| &error.count).collect();
    let named: f64 = errors.iter().map(|error| error.value).sum();
    let missing = requests.value - responses.value;
    checker.look();
    if missing > named {
        let text = format!(
            "{} and {}: {} requests have no answer but only {} have an error; the others were in flight when the run ended",
            requests.named(),
            responses.named(),
            units::count(missing as u64),
            units::count(named as u64),
        );
        let mut figures = vec![requests, responses];
        figures.extend(&errors);
        checker.find(Severity::Remark, "answers", &figures, text);
    }
    let certain: Vec<&PrintedFigure> = all
        .errors
        .iter()
        .filter(|error| error.unanswered == Some(true))
        .map(|error| &error.count)
        .collect();
    if certain.is_empty() {
        return;
    }
    checker.look();
    let without: f64 = certain.iter().map(|error| error.value).sum();
    if without > missing {
        let text = format!(
            "{} requests were never answered, but {} minus {} is {}",
            units::count(without as u64),
            requests.named(),
            responses.named(),
            units::count(missing.max(0.0) as u64),
        );
        let mut figures = certain.clone();
        figures.extend([requests, responses]);
        checker.find(Severity::Contradiction, "answers", &figures, text);
    }
}

fn sessions(checker: &mut Checker, sessions: &Sessions, report: &PrintedReport) {
    let Some(created) = &sessions.created else {
        return;
    };
    let by_name: Vec<&PrintedFigure> = sessions.by_name.iter().collect();
    if !by_name.is_empty() {
        checker.sum("users", created, &by_name, Total::Sum, report.is_period);
    }
    if let (Some(length), Some(completed)) = (&sessions.length, &sessions.completed) {
        let count = length.count.as_ref().filter(|n| n.place != completed.place);
        if let Some(count) = count {
            checker.sum("samples", count, &[completed], Total::Sum, report.is_period);
        }
    }
    if report.is_period {
        return;
    }
    let ends: Vec<&PrintedFigure> = [&sessions.completed, &sessions.failed]
        .into_iter()
        .flatten()
        .collect();
    checker.sum("users", created, &ends, Total::AtLeast, false);
    let ended: f64 = ends.iter().map(|end| end.value).sum();
    if created.value > ended {
        let text = format!(
            "{}, but {} did not finish: they were still running when the run ended",
            created.named(),
            units::count((created.value - ended) as u64)
        );
        let mut figures = vec![created];
        figures.extend(&ends);
        checker.find(Severity::Remark, "users", &figures, text);
    }
    failed_users(checker, sessions, &report.all);
}

/// Checks that every failed user has an error, unless an excerpt omits errors.
fn failed_users(checker: &mut Checker, sessions: &Sessions, all: &PrintedRow) {
    let errors: Vec<&PrintedFigure> = all.errors.iter().map(|error| &error.count).collect();
    match &sessions.failed {
        Some(failed) if errors.is_empty() && failed.value > 0.0 => {
            checker.look();
            let text = format!("{}, but no errors are printed", failed.named());
            checker.find(Severity::Remark, "users", &[failed], text);
        }
        Some(failed) => checker.sum("users", failed, &errors, Total::AtMost, false),
        None => {}
    }
}
