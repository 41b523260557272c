//! Compares a run with its periods.

use std::collections::BTreeMap;

use crate::import::{
    PrintedFigure, PrintedReport,
    model::{LatencyStats, PrintedRow, Total},
};

use super::{
    checker::{Checker, MARGIN, length},
    finding::Severity,
    rows::parts_of,
};

pub fn check(checker: &mut Checker, report: &PrintedReport) {
    if report.periods_run_on {
        running(checker, &report.periods);
        users(checker, &report.periods);
    } else if !report.periods.is_empty() {
        adding_up(checker, report);
    }
}

fn adding_up(checker: &mut Checker, report: &PrintedReport) {
    let mut parts: BTreeMap<&str, Vec<&PrintedFigure>> = BTreeMap::new();
    for counter in report.periods.iter().flat_map(|period| &period.counters) {
        parts.entry(&counter.name).or_default().push(counter);
    }
    let sums: Vec<(&PrintedFigure, Vec<&PrintedFigure>)> = report
        .counters
        .iter()
        .map(|counter| {
            (
                counter,
                parts.remove(counter.name.as_str()).unwrap_or_default(),
            )
        })
        .collect();
    let is_whole = sums.iter().any(|(counter, parts)| {
        let sum: f64 = parts.iter().map(|part| part.value).sum();
        counter.value > 0.0 && counter.value == sum
    });
    let is = if is_whole { Total::Sum } else { Total::AtLeast };
    for (counter, parts) in &sums {
        checker.sum("periods", counter, parts, is, false);
    }
    if !is_whole {
        return;
    }
    let lists: [fn(&PrintedReport) -> Option<&LatencyStats>; 2] = [
        |report| report.all.latency.as_ref(),
        |report| report.sessions.length.as_ref(),
    ];
    for latency in lists {
        if let Some(whole) = latency(report) {
            let parts: Vec<LatencyStats> =
                report.periods.iter().filter_map(latency).cloned().collect();
            parts_of(checker, whole, &parts);
        }
    }
}

/// Checks cumulative figures: counts and maxima never decrease, and minima never increase.
fn running(checker: &mut Checker, periods: &[PrintedReport]) {
    let mut before: BTreeMap<&str, &PrintedRow> = BTreeMap::new();
    let mut moment: Option<&PrintedFigure> = None;
    for period in periods {
        let now = period.counters.first();
        if let (Some(earlier), Some(later)) = (moment, now) {
            checker.order("periods", earlier, later);
        }
        moment = now;
        for row in [&period.all].into_iter().chain(&period.rows) {
            if let Some(earlier) = before.insert(&row.name, row) {
                step(checker, earlier, row);
            }
        }
    }
}

fn step(checker: &mut Checker, earlier: &PrintedRow, later: &PrintedRow) {
    let pairs = [
        (&earlier.requests, &later.requests),
        (&earlier.failures, &later.failures),
    ];
    for (a, b) in pairs {
        if let (Some(a), Some(b)) = (a, b) {
            checker.order("periods", a, b);
        }
    }
    let (Some(a), Some(b)) = (&earlier.latency, &later.latency) else {
        return;
    };
    if let (Some(a), Some(b)) = (&a.max, &b.max) {
        checker.order("periods", a, b);
    }
    let has_answers = earlier.requests.as_ref().is_some_and(|n| n.value > 0.0);
    if let (Some(a), Some(b), true) = (&a.min, &b.min, has_answers) {
        checker.order("periods", b, a);
    }
}

fn users(checker: &mut Checker, periods: &[PrintedReport]) {
    let level = |period: &PrintedReport| {
        let users = period.bound.as_ref()?.figure.value;
        Some((period.counters.first()?.value, users))
    };
    let levels: Option<Vec<(f64, f64)>> = periods.iter().map(level).collect();
    let Some(levels) = levels.filter(|levels| levels.len() > 1) else {
        return;
    };
    let most = levels.iter().map(|(_, users)| *users).fold(0.0, f64::max);
    let had: f64 = levels
        .windows(2)
        .map(|pair| (pair[1].0 - pair[0].0).max(0.0) * pair[0].1.max(pair[1].1))
        .sum();
    let Some(last) = periods.last() else { return };
    let mean = last
        .all
        .latency
        .as_ref()
        .and_then(|latency| latency.mean.as_ref());
    let (Some(requests), Some(mean)) = (&last.all.requests, mean) else {
        return;
    };
    checker.look();
    let took = requests.value * mean.range.low;
    if took > (had + 2.0 * most) * (1.0 + MARGIN) {
        let text = format!(
            "{} × {} = {} spent waiting, but all users together were active for only {}",
            requests.named(),
            mean.named(),
            length(took),
            length(had),
        );
        let mut figures = vec![mean, requests];
        figures.extend(last.bound.as_ref().map(|bound| &bound.figure));
        checker.find(Severity::Contradiction, "Little's law", &figures, text);
    }
}
