//! Checks that count / time = rate. If no time is printed, all rows must agree on one.

use crate::import::{
    PrintedFigure, PrintedReport, Range,
    model::{PrintedRow, Rates, ReportedSpan},
};

use record::units;

use super::{
    checker::{Checker, Off, by, length, off, time},
    finding::Severity,
};

const THREADS: f64 = 0.1;
const NOTICED_S: f64 = 2.5;

pub fn check(checker: &mut Checker, report: &PrintedReport) {
    if let Some(span) = &report.span {
        for row in [&report.all].into_iter().chain(&report.rows) {
            if let (Some(rate), Some(count)) = (&row.rate, &row.requests) {
                rate_of(checker, report, rate, count, span);
            }
        }
        if let (Some(rate), Some(count)) = (&report.transfer, &report.bytes) {
            rate_of(checker, report, rate, count, span);
        }
        planned(checker, report, &span.seconds, span.seconds.range);
    } else {
        same_time(checker, report);
    }
    threads(checker, report);
}

fn rate_of(
    checker: &mut Checker,
    report: &PrintedReport,
    rate: &PrintedFigure,
    count: &PrintedFigure,
    span: &ReportedSpan,
) {
    checker.look();
    let time_range = span.seconds.range;
    let window = Range {
        low: (time_range.low - span.idle_s).max(span.least_s).max(0.0),
        high: time_range.high.max(span.least_s),
    };
    let mean = mean_of_periods(report);
    if off(rate.range, count.range.over(window)) != Off::Much {
        if let Some((mean, rates)) = mean.filter(|(mean, _)| !is_mean(rate, *mean)) {
            let text = format!(
                "{}, but the mean of the rates of its {} periods is {}",
                rate.named(),
                rates.len(),
                units::decimal(mean)
            );
            let mut figures = vec![rate];
            figures.extend(rates);
            checker.find(Severity::Remark, "rate", &figures, text);
        }
        return;
    }
    let should = count.value / span.seconds.value.max(span.least_s);
    let counted = if count.name == "read" {
        count.render()
    } else {
        format!("{} requests", count.render())
    };
    let mut text = format!(
        "{}, but {counted} in {} are {}/s ({})",
        rate.named(),
        length(span.seconds.value),
        shown_rate(should, count),
        by(rate.value, should),
    );
    let mut kind = Severity::Contradiction;
    if let Some((mean, rates)) = mean.filter(|(mean, _)| is_mean(rate, *mean)) {
        // The first and last periods are shorter but are counted as whole periods.
        let ends = 2.0 / rates.len() as f64;
        if (rate.value - should).abs() <= ends * should {
            kind = Severity::Remark;
        }
        text.push_str(&format!(
            "; the mean of the rates of its {} periods does match {}",
            rates.len(),
            units::decimal(mean)
        ));
    }
    if let Some(rate_is) = span.rate_is {
        text.push_str("; ");
        text.push_str(rate_is);
    }
    checker.find(kind, "rate", &[rate, count, &span.seconds], text);
}

fn shown_rate(rate: f64, count: &PrintedFigure) -> String {
    if count.name == "read" {
        units::bytes(rate as u64)
    } else {
        units::rate(rate)
    }
}

fn mean_of_periods(report: &PrintedReport) -> Option<(f64, Vec<&PrintedFigure>)> {
    let periods = report.periods.iter().filter(|period| period.is_period);
    let rates: Vec<&PrintedFigure> = periods
        .filter_map(|period| period.all.rate.as_ref())
        .collect();
    let sum: f64 = rates.iter().map(|rate| rate.value).sum();
    let n = report.periods.len();
    (!rates.is_empty()).then_some((sum / n as f64, rates))
}

fn is_mean(rate: &PrintedFigure, mean: f64) -> bool {
    off(rate.range, Range::exactly(mean).widened(0.0, 0.5)) == Off::Not
}

fn same_time(checker: &mut Checker, report: &PrintedReport) {
    if report.rates == Rates::Current {
        return;
    }
    let times: Vec<(Range, [&PrintedFigure; 2])> = [&report.all]
        .into_iter()
        .chain(&report.rows)
        .flat_map(times_of)
        .collect();
    let width = |range: &Range| (range.high - range.low) / range.high;
    let best = times
        .iter()
        .min_by(|a, b| width(&a.0).total_cmp(&width(&b.0)));
    let Some((range, [count, rate])) = best else {
        return;
    };
    let mut differing: Vec<&PrintedFigure> = Vec::new();
    for (other, [other_count, other_rate]) in &times {
        if other_rate.place == rate.place {
            continue;
        }
        checker.look();
        if off(*range, *other) != Off::Much {
            continue;
        }
        if report.rates == Rates::Unknown {
            differing.extend([other_rate, other_count]);
            continue;
        }
        let (took, should) = (
            other_count.value / other_rate.value,
            count.value / rate.value,
        );
        let text = format!(
            "{} at {}/s take {}, but {} at {}/s take {} ({})",
            other_count.named(),
            units::rate(other_rate.value),
            time(took),
            count.named(),
            units::rate(rate.value),
            time(should),
            by(took, should),
        );
        let figures = [*other_rate, *other_count, *rate, *count];
        checker.find(Severity::Contradiction, "rate", &figures, text);
    }
    if !differing.is_empty() {
        let text = format!(
            "{} of {} rates do not match their counts over the duration that {} at {}/s imply: \
            during a run, {} prints the rates of the last seconds",
            differing.len() / 2,
            times.len(),
            count.named(),
            units::rate(rate.value),
            report.tool.name(),
        );
        differing.extend([rate, count]);
        checker.find(Severity::Remark, "rate", &differing, text);
    }
    planned(checker, report, rate, *range);
}

fn times_of(row: &PrintedRow) -> impl Iterator<Item = (Range, [&PrintedFigure; 2])> {
    let pairs = [
        (&row.requests, &row.rate),
        (&row.failures, &row.failure_rate),
    ];
    pairs.into_iter().filter_map(|(count, rate)| {
        let (count, rate) = (count.as_ref()?, rate.as_ref()?);
        let is_some = count.value > 0.0 && rate.value > 0.0;
        is_some.then(|| (count.range.over(rate.range), [count, rate]))
    })
}

/// Checks the planned duration. A run may end early but not late.
fn planned(checker: &mut Checker, report: &PrintedReport, figure: &PrintedFigure, took: Range) {
    let Some(planned) = &report.planned else {
        return;
    };
    checker.look();
    let planned_range = Range {
        high: planned.range.high + NOTICED_S,
        ..planned.range
    };
    if off(took, planned_range) != Off::Much {
        return;
    }
    let is_short = took.high < planned_range.low;
    let middle = f64::midpoint(took.low, took.high);
    let text = format!(
        "{}: the run took {}, but {} was planned{}",
        figure.named(),
        time(middle),
        planned.render(),
        if is_short { ": it was ended early" } else { "" }
    );
    // Without a printed time, only the plan shows how long the run took.
    let kind = if is_short || report.span.is_none() {
        Severity::Remark
    } else {
        Severity::Contradiction
    };
    checker.find(kind, "duration", &[figure, planned], text);
}

fn threads(checker: &mut Checker, report: &PrintedReport) {
    let mean = report.per_thread.as_ref().and_then(|row| row.mean.as_ref());
    let (Some(mean), Some(threads), Some(rate)) = (mean, &report.threads, &report.all.rate) else {
        return;
    };
    if let Some(bound) = &report.bound {
        checker.order("threads", threads, &bound.figure);
    }
    checker.look();
    let together = mean.range.times(threads.range);
    let should = rate.range.widened(THREADS, 0.0);
    if off(together, should) == Off::Not {
        return;
    }
    let value = mean.value * threads.value;
    let is_high = value > rate.value;
    let text = format!(
        "{} × {} = {}/s, but {} ({}){}",
        mean.named(),
        threads.named(),
        units::rate(value),
        rate.named(),
        by(value, rate.value),
        if is_high {
            "; the mean does not include tenths of a second without an answer"
        } else {
            ""
        }
    );
    let kind = if is_high || value > rate.value * (1.0 - 2.0 * THREADS) {
        Severity::Remark
    } else {
        Severity::Contradiction
    };
    checker.find(kind, "threads", &[mean, threads, rate], text);
}
