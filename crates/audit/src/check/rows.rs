//! Compares the rows of a table with the total: sums, means, extremes, percentiles.

use crate::import::{
    PrintedFigure, PrintedReport, Range,
    model::{Cover, LatencyStats, PrintedRow, Total},
};

use super::{
    checker::{Checker, Off, by, off, time},
    finding::Severity,
};

pub fn check(checker: &mut Checker, report: &PrintedReport) {
    let rows: Vec<&PrintedRow> = report.rows.iter().collect();
    if rows.is_empty() {
        return;
    }
    if report.cover == Cover::Some {
        endpoints(checker, report);
        return;
    }
    let figures: [fn(&PrintedRow) -> Option<&PrintedFigure>; 4] = [
        |row| row.requests.as_ref(),
        |row| row.failures.as_ref(),
        |row| row.rate.as_ref(),
        |row| row.failure_rate.as_ref(),
    ];
    for figure in figures {
        let parts: Option<Vec<&PrintedFigure>> = rows.iter().map(|row| figure(row)).collect();
        if let (Some(total), Some(parts)) = (figure(&report.all), parts) {
            checker.sum("rows", total, &parts, Total::Sum, false);
        }
    }
    let parts: Vec<&PrintedRow> = rows.into_iter().filter(|row| has_requests(row)).collect();
    let sizes = parts
        .iter()
        .map(|row| Some((row.requests.as_ref()?, row.mean_bytes.as_ref()?)))
        .collect::<Option<Vec<_>>>();
    if let (Some(total), Some(sizes)) = (&report.all.mean_bytes, sizes) {
        mean(checker, total, &sizes, |bytes| format!("{bytes:.1}"));
    }
    let latency = |row: &'_ PrintedRow| row.latency.clone();
    let whole = report.all.latency.as_ref();
    if let Some(whole) = whole {
        let parts: Option<Vec<LatencyStats>> = parts.iter().map(|row| latency(row)).collect();
        parts_of(checker, whole, &parts.unwrap_or_default());
    }
    if let Some(whole) = &report.all.percentiles {
        let parts: Option<Vec<LatencyStats>> =
            parts.iter().map(|row| row.percentiles.clone()).collect();
        parts_of(checker, whole, &parts.unwrap_or_default());
    }
}

fn has_requests(row: &PrintedRow) -> bool {
    row.requests
        .as_ref()
        .is_none_or(|requests| requests.value > 0.0)
}

pub fn parts_of(checker: &mut Checker, whole: &LatencyStats, parts: &[LatencyStats]) {
    if parts.is_empty() {
        return;
    }
    let means = parts
        .iter()
        .map(|part| Some((part.count.as_ref()?, part.mean.as_ref()?)))
        .collect::<Option<Vec<_>>>();
    if let (Some(total), Some(means)) = (&whole.mean, means) {
        mean(checker, total, &means, time);
    }
    let least = |parts: &[LatencyStats]| {
        let all: Option<Vec<PrintedFigure>> = parts.iter().map(|part| part.min.clone()).collect();
        all?.into_iter().min_by(|a, b| a.value.total_cmp(&b.value))
    };
    let greatest = |parts: &[LatencyStats]| {
        let all: Option<Vec<PrintedFigure>> = parts.iter().map(|part| part.max.clone()).collect();
        all?.into_iter().max_by(|a, b| a.value.total_cmp(&b.value))
    };
    if let (Some(min), Some(least)) = (&whole.min, least(parts)) {
        checker.same("rows", min, &least);
    }
    if let (Some(max), Some(greatest)) = (&whole.max, greatest(parts)) {
        checker.same("rows", max, &greatest);
    }
    for (share, figure) in &whole.percentiles {
        percentile(checker, whole, *share, figure, parts);
    }
}

fn mean(
    checker: &mut Checker,
    total: &PrintedFigure,
    parts: &[(&PrintedFigure, &PrintedFigure)],
    format_value: fn(f64) -> String,
) {
    checker.look();
    let zero = Range::exactly(0.0);
    let count = parts.iter().fold(zero, |sum, (n, _)| sum.plus(n.range));
    let sum = parts
        .iter()
        .fold(zero, |sum, (n, mean)| sum.plus(n.range.times(mean.range)));
    if count.low <= 0.0 {
        return;
    }
    let kind = match off(total.range, sum.over(count)) {
        Off::Not => return,
        Off::Little => Severity::Remark,
        Off::Much => Severity::Contradiction,
    };
    let n: f64 = parts.iter().map(|(n, _)| n.value).sum();
    let value = parts
        .iter()
        .map(|(n, mean)| n.value * mean.value)
        .sum::<f64>()
        / n;
    let text = format!(
        "{}, but the mean of the {} below it, weighted by requests, is {} ({})",
        total.named(),
        if parts.len() == 1 {
            "one part".into()
        } else {
            format!("{} parts", parts.len())
        },
        format_value(value),
        by(total.value, value)
    )
    .replace(" below it", "");
    let mut figures = vec![total];
    for (n, mean) in parts {
        figures.extend([*mean, *n]);
    }
    checker.find(kind, "rows", &figures, text);
}

fn percentile(
    checker: &mut Checker,
    whole: &LatencyStats,
    share: f64,
    figure: &PrintedFigure,
    parts: &[LatencyStats],
) {
    let of_part = |part: &LatencyStats| {
        let same = |p: &&(f64, PrintedFigure)| (p.0 - share).abs() < 1e-9;
        // The median comes before a percentile of the same share and is less precise.
        part.percentiles
            .iter()
            .rfind(same)
            .map(|(_, figure)| figure.clone())
    };
    let Some(of_parts) = parts
        .iter()
        .map(of_part)
        .collect::<Option<Vec<PrintedFigure>>>()
    else {
        return;
    };
    let by_value = |a: &&PrintedFigure, b: &&PrintedFigure| a.value.total_cmp(&b.value);
    let (Some(least), Some(greatest)) = (
        of_parts.iter().min_by(by_value),
        of_parts.iter().max_by(by_value),
    ) else {
        return;
    };
    if share >= 1.0 {
        checker.same("rows", figure, greatest);
        return;
    }
    checker.look();
    let between = Range {
        low: least.range.low,
        high: if is_below_parts(whole, share, parts) {
            greatest.range.high
        } else {
            f64::INFINITY
        },
    };
    let between = between.widened(whole.blur.share.min(0.01), 0.0);
    if off(figure.range, between) != Off::Not {
        let text = format!(
            "{}, but the values of its parts are between {} and {}",
            figure.named(),
            least.named(),
            greatest.named(),
        );
        let mut figures = vec![figure];
        figures.extend(&of_parts);
        checker.find(Severity::Contradiction, "rows", &figures, text);
    }
}

fn is_below_parts(whole: &LatencyStats, share: f64, parts: &[LatencyStats]) -> bool {
    if !whole.blur.ranks_gaps {
        return true;
    }
    let rank = |count: f64| (share * (count - 1.0)).floor();
    let counts: Option<Vec<f64>> = parts
        .iter()
        .map(|part| part.count.as_ref().map(|count| count.value))
        .collect();
    let Some(counts) = counts else { return false };
    let reached: f64 = counts.iter().map(|count| rank(*count) + 1.0).sum();
    reached > rank(counts.iter().sum())
}

/// Checks tables that may be incomplete. The count of each status must not exceed the total.
fn endpoints(checker: &mut Checker, report: &PrintedReport) {
    for code in &report.all.codes {
        let status = code.name.rsplit('.').next().unwrap_or_default();
        let of_status = |figure: &&PrintedFigure| figure.name.rsplit('.').next() == Some(status);
        let parts: Vec<&PrintedFigure> = report
            .rows
            .iter()
            .flat_map(|row| row.codes.iter().filter(of_status))
            .collect();
        if !parts.is_empty() {
            checker.sum("endpoints", code, &parts, Total::AtLeast, report.is_period);
        }
    }
}
