//! Checks the order of statistics: percentiles ascend, min ≤ mean ≤ max, and no time exceeds the
//! duration of the run.

use crate::import::{
    PrintedFigure, PrintedReport,
    model::{LatencyStats, PrintedRow},
};

use super::{
    checker::{Checker, time},
    finding::Severity,
    spread,
};

pub fn check(checker: &mut Checker, report: &PrintedReport) {
    let run_time = report
        .span
        .as_ref()
        .filter(|_| !report.is_period)
        .map(|span| &span.seconds);
    for row in [&report.all].into_iter().chain(&report.rows) {
        row_of(checker, row, run_time);
    }
    if let Some(length) = &report.sessions.length {
        latency(checker, length, run_time);
    }
    if let Some(per_thread) = &report.per_thread {
        latency(checker, per_thread, None);
    }
    cut(checker, report);
}

fn row_of(checker: &mut Checker, row: &PrintedRow, run_time: Option<&PrintedFigure>) {
    let classes = row.by_class.iter().map(|(_, latency)| latency);
    for one in row.others.iter().chain(classes) {
        latency(checker, one, run_time);
    }
    let Some(first) = &row.latency else { return };
    match &row.percentiles {
        None => latency(checker, first, run_time),
        Some(more) => {
            // Both lists describe the same sample. The longer list bounds the mean.
            ascending(checker, &first.percentiles);
            let both = LatencyStats {
                percentiles: more.percentiles.clone(),
                cumulative: more.cumulative.clone(),
                count: more.count.clone().or_else(|| first.count.clone()),
                blur: more.blur,
                ..first.clone()
            };
            latency(checker, &both, run_time);
        }
    }
}

fn latency(checker: &mut Checker, latency: &LatencyStats, run_time: Option<&PrintedFigure>) {
    ascending(checker, &latency.percentiles);
    ascending(checker, &latency.cumulative);
    ends(checker, latency);
    digits(checker, latency);
    cumulative(checker, latency);
    if let (Some(max), Some(run_time)) = (&latency.max, run_time) {
        checker.order("longest", max, run_time);
    }
    spread::check(checker, latency);
}

fn ascending(checker: &mut Checker, figures: &[(f64, PrintedFigure)]) {
    for pair in figures.windows(2) {
        if let [(p, lower), (q, upper)] = pair
            && p <= q
        {
            checker.order("percentiles", lower, upper);
        }
    }
}

fn ends(checker: &mut Checker, latency: &LatencyStats) {
    let blurred = |figure: &PrintedFigure| {
        figure
            .range
            .of_estimates(latency.blur.share, latency.blur.amount_s)
    };
    let (min, mean, max) = (&latency.min, &latency.mean, &latency.max);
    let pairs = [(min, mean), (mean, max), (min, max)];
    for (small, large) in pairs {
        if let (Some(small), Some(large)) = (small, large) {
            checker.order("min ≤ mean ≤ max", small, large);
        }
    }
    let (first, last) = (latency.percentiles.first(), latency.percentiles.last());
    if let (Some(min), Some((_, first))) = (min, first) {
        checker.order_of("percentiles", min, min.range, first, blurred(first));
    }
    if let (Some((_, last)), Some(max)) = (last, max) {
        checker.order_of("percentiles", last, blurred(last), max, max.range);
    }
    let whole = latency
        .percentiles
        .last()
        .filter(|(share, _)| *share >= 1.0);
    if let (Some((_, whole)), Some(max)) = (whole, max) {
        checker.order_of("percentiles", max, max.range, whole, blurred(whole));
    }
}

/// Checks that a percentile printed with two digits does not have more digits.
fn digits(checker: &mut Checker, latency: &LatencyStats) {
    let is_exact = |figure: &PrintedFigure| figure.range.low == figure.range.high;
    if !latency.blur.two_digits {
        return;
    }
    let bucketed = |(share, figure): &&(f64, PrintedFigure)| *share < 1.0 && is_exact(figure);
    for (_, figure) in latency.percentiles.iter().filter(bucketed) {
        checker.look();
        let mut ms = (figure.value * 1e3).round();
        let is_whole = (ms - figure.value * 1e3).abs() < 1e-6;
        while ms >= 100.0 && ms % 10.0 == 0.0 {
            ms /= 10.0;
        }
        if ms >= 100.0 || !is_whole {
            let text = format!(
                "{}: Locust prints percentiles in whole milliseconds with two digits, rounded to buckets; this value is different",
                figure.named()
            );
            checker.find(Severity::Remark, "digits", &[figure], text);
        }
    }
}

fn cumulative(checker: &mut Checker, latency: &LatencyStats) {
    let Some(count) = &latency.count else { return };
    for (share, figure) in &latency.cumulative {
        checker.look();
        let least = share * count.value;
        let is_low = figure.value + 1.0 < least * (1.0 - 1e-5);
        if is_low || figure.value > count.value {
            let text = format!(
                "{}, but {:.4} % of {} are {:.0}",
                figure.named(),
                share * 100.0,
                count.named(),
                least
            );
            checker.find(
                Severity::Contradiction,
                "percentiles",
                &[figure, count],
                text,
            );
        }
    }
}

fn cut(checker: &mut Checker, report: &PrintedReport) {
    let max = report
        .all
        .latency
        .as_ref()
        .and_then(|latency| latency.max.as_ref());
    let timeouts = report
        .all
        .errors
        .iter()
        .find(|error| error.count.name == "timeout" && error.count.value > 0.0);
    let (Some(cut_at_s), Some(max), Some(timeouts)) = (report.cut_at_s, max, timeouts) else {
        return;
    };
    checker.look();
    let below = if max.range.high <= cut_at_s * 1.01 {
        format!(", below the default time-out of {}", time(cut_at_s))
    } else {
        String::new()
    };
    let text = format!(
        "{}{below}, but {} requests reached {}'s time-out: the latency figures do not include them",
        max.named(),
        timeouts.count.render(),
        report.tool.name(),
    );
    checker.find(Severity::Remark, "time-outs", &[max, &timeouts.count], text);
}
