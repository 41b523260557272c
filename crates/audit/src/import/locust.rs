//! Meaning and precision of Locust's columns in CSV, terminal output and Markdown.

use super::{
    figure::PrintedFigure,
    lines::Word,
    model::{Blur, Bound, LatencyStats, PrintedRow},
    number::{self, Rounding, percent},
};

/// Width of Locust's buckets: whole milliseconds below 100 ms, otherwise two digits.
pub const BLUR: Blur = Blur {
    share: 0.05,
    amount_s: 0.000_5,
    ranks_gaps: false,
    two_digits: true,
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ColumnKind {
    Name,
    Requests,
    Failures,
    Mean,
    Min,
    Max,
    Median,
    Percentile(f64),
    Rate,
    FailureRate,
    Bytes,
    Other,
}

impl ColumnKind {
    #[must_use]
    pub fn from_heading(heading: &str) -> ColumnKind {
        let has = |words: &[&str]| words.iter().any(|word| heading.contains(word));
        let heading = heading.trim();
        if let Some(share) = share(heading) {
            return ColumnKind::Percentile(share);
        }
        let per_second = has(&["/s", "/ s", "per s", "rps"]);
        match heading {
            "name" | "endpoint" | "type" | "method" | "request" | "route" | "url" => {
                ColumnKind::Name
            }
            _ if per_second && has(&["fail", "error"]) => ColumnKind::FailureRate,
            _ if per_second => ColumnKind::Rate,
            _ if has(&["size", "bytes"]) => ColumnKind::Bytes,
            _ if has(&["fail", "error"]) => ColumnKind::Failures,
            _ if has(&["avg", "average", "mean"]) => ColumnKind::Mean,
            _ if has(&["median", "med"]) => ColumnKind::Median,
            _ if has(&["min"]) => ColumnKind::Min,
            _ if has(&["max"]) => ColumnKind::Max,
            _ if has(&["reqs", "requests", "request count"]) => ColumnKind::Requests,
            _ => ColumnKind::Other,
        }
    }
}

/// Parses the heading of a percentile: `95%`, `99.9%`, `p95`, `95%ile`, `95th`.
fn share(heading: &str) -> Option<f64> {
    let digits = heading
        .trim_start_matches('p')
        .trim_end_matches("ile")
        .trim_end_matches("th")
        .trim_end_matches('%');
    let is_bare = digits == heading;
    let percent: f64 = digits.parse().ok()?;
    (!is_bare && (0.0..=100.0).contains(&percent)).then_some(percent / 100.0)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrintStyle {
    pub times: Rounding,
    pub unit_s: f64,
    pub unit: &'static str,
}

pub const TERMINAL: PrintStyle = PrintStyle {
    times: Rounding::Down,
    unit_s: 1e-3,
    unit: "ms",
};

pub const CSV: PrintStyle = PrintStyle {
    times: Rounding::Nearest,
    unit_s: 1e-3,
    unit: "ms",
};

pub fn put(
    row: &mut PrintedRow,
    column: ColumnKind,
    heading: &str,
    cell: Word<'_>,
    style: PrintStyle,
) -> bool {
    if matches!(cell.text, "N/A" | "" | "-" | "–") {
        return true;
    }
    let name = format!("{} {heading}", row.name);
    let plain =
        |rounding| number::figure(name.clone(), cell.text, cell.place, rounding, number::plain);
    let time = |rounding| {
        let mut figure = number::figure(name.clone(), cell.text, cell.place, rounding, |unit| {
            (unit.is_empty() || unit == style.unit).then_some(style.unit_s)
        })?;
        if !figure.text.ends_with(style.unit) {
            figure.unit = style.unit;
        }
        Some(figure)
    };
    let latency = row.latency.get_or_insert_with(|| LatencyStats {
        name: row.name.clone(),
        blur: BLUR,
        ..LatencyStats::default()
    });
    let place = match column {
        ColumnKind::Name | ColumnKind::Other => return true,
        ColumnKind::Failures => return failures(row, &name, cell),
        ColumnKind::Percentile(share) => {
            let figure = time(Rounding::Exact);
            let is_read = figure.is_some();
            latency.percentiles.extend(figure.map(|f| (share, f)));
            return is_read;
        }
        ColumnKind::Requests => (&mut row.requests, plain(Rounding::Exact)),
        ColumnKind::Rate => (&mut row.rate, plain(Rounding::Nearest)),
        ColumnKind::FailureRate => (&mut row.failure_rate, plain(Rounding::Nearest)),
        ColumnKind::Bytes => (&mut row.mean_bytes, plain(Rounding::Nearest)),
        ColumnKind::Mean => (&mut latency.mean, time(style.times)),
        ColumnKind::Min => (&mut latency.min, time(style.times)),
        ColumnKind::Max => (&mut latency.max, time(style.times)),
        ColumnKind::Median => {
            // Widen the range, because the median is the value of a bucket.
            let figure = time(style.times).map(|figure| PrintedFigure {
                range: figure.range.widened(BLUR.share, BLUR.amount_s),
                ..figure
            });
            let is_read = figure.is_some();
            let share = 0.5;
            let at = latency.percentiles.iter().position(|(p, _)| *p >= share);
            let at = at.unwrap_or(latency.percentiles.len());
            if let Some(figure) = figure {
                latency.percentiles.insert(at, (share, figure));
            }
            return is_read;
        }
    };
    let (place, figure) = place;
    let is_read = figure.is_some();
    *place = figure;
    is_read
}

fn failures(row: &mut PrintedRow, name: &str, cell: Word<'_>) -> bool {
    let (count, share) = cell.text.split_once('(').unwrap_or((cell.text, ""));
    row.failures = number::figure(
        name,
        count.trim(),
        cell.place,
        Rounding::Exact,
        number::plain,
    );
    let mut place = cell.place;
    place.column += count.chars().count() + 1;
    row.failed_share = number::figure(
        format!("{name} share"),
        share.trim_end_matches(')'),
        place,
        Rounding::Nearest,
        percent,
    );
    row.failures.is_some()
}

pub fn end(row: &mut PrintedRow) {
    if let Some(latency) = &mut row.latency {
        latency.count.clone_from(&row.requests);
        let is_empty = latency.mean.is_none() && latency.percentiles.is_empty();
        if is_empty && latency.max.is_none() {
            row.latency = None;
        }
    }
}

#[must_use]
pub fn is_total(name: &str) -> bool {
    matches!(
        name.to_lowercase().as_str(),
        "aggregated" | "total" | "all" | "sum"
    )
}

#[must_use]
pub fn users(figure: PrintedFigure) -> Bound {
    Bound {
        figure,
        what: "users",
        contradicts_above: 1.0,
        because: "a Locust user waits for one answer at a time",
        mean: None,
        should_be_full: true,
    }
}
