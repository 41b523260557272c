//! Figures of streamed responses as text, for the terminal and `report.md`.

use analysis::summary::{GoodputRow, Row, Stats, StreamRow, Summary};
use record::units;

/// Statistics that tables show, with their names in the summary.
pub const STATISTICS: [(&str, &str); 5] = [
    ("p50", "p50"),
    ("p90", "p90"),
    ("p95", "p95"),
    ("p99", "p99"),
    ("max", "max"),
];

/// Explanation of the times, for the foot of a table.
pub const MEANING: &str = "time to first token: from the intended start to the first event with content; gap: between two events with content, over all streams; time per token: mean after the first token, per stream. An incomplete stream ranks above all others.";

/// A time of streamed responses.
pub struct StreamTime<'a> {
    pub name: &'static str,
    /// Name of the time in the summary.
    pub key: &'static str,
    pub stats: &'a Stats,
}

/// Returns the rows of a table that have streamed responses.
pub fn rows(summary: &Summary) -> Vec<(&Row, &StreamRow)> {
    let rows = summary.request_rows().into_iter();
    let rows: Vec<_> = rows
        .filter_map(|row| Some((row, row.stream.as_ref()?)))
        .collect();
    match rows.as_slice() {
        // The only label with streamed responses has the same figures as all requests.
        [(all, of_all), (one, of_one)] if all.id == 0 && of_all == of_one => {
            let is_judged = times(of_all).iter().any(|time| {
                STATISTICS
                    .iter()
                    .any(|(_, s)| is_judged(summary, all, time, s))
            });
            vec![if is_judged {
                (all, of_all)
            } else {
                (one, of_one)
            }]
        }
        _ => rows,
    }
}

/// Returns the times of a row's streamed responses.
pub fn times(row: &StreamRow) -> Vec<StreamTime<'_>> {
    let all = [
        ("first event", "first_event", &row.first_event),
        (
            "first event, from first byte written",
            "first_event_service",
            &row.first_event_service,
        ),
        ("time to first token", "ttft", &row.ttft),
        (
            "first token, from first byte written",
            "ttft_service",
            &row.ttft_service,
        ),
        ("gap", "gap", &row.gap),
        ("time per token", "per_token", &row.per_token),
    ];
    let known = all.into_iter().filter_map(|(name, key, stats)| {
        Some(StreamTime {
            name,
            key,
            stats: stats.as_ref()?,
        })
    });
    known.collect()
}

/// Returns whether the brief report shows this time.
pub fn is_main(time: &StreamTime<'_>) -> bool {
    matches!(time.key, "ttft" | "gap" | "per_token")
}

/// Returns whether a criterion judges a statistic of a time.
pub fn is_judged(summary: &Summary, row: &Row, time: &StreamTime<'_>, statistic: &str) -> bool {
    summary.is_judged(row, &format!("stream/{}/{statistic}", time.key))
}

/// Formats a statistic, with a mark if a criterion judges it.
pub fn cell(summary: &Summary, row: &Row, time: &StreamTime<'_>, statistic: &str) -> String {
    let stats = time.stats;
    let figure = match statistic {
        "p50" => &stats.p50,
        "p90" => &stats.p90,
        "p95" => &stats.p95,
        "p99" => &stats.p99,
        _ => &stats.max,
    };
    let mark = if is_judged(summary, row, time, statistic) {
        "*"
    } else {
        ""
    };
    format!("{}{mark}", figure.value())
}

/// Formats the numbers of streams and tokens.
pub fn counts(summary: &Summary, row: &Row, stream: &StreamRow) -> String {
    let mark = if summary.is_judged(row, "stream/tokens_per_second") {
        "*"
    } else {
        ""
    };
    format!(
        "{} of {} complete; {} tokens by {}, {}/s{mark}",
        units::count(stream.complete),
        units::count(stream.requests),
        units::count(stream.tokens),
        stream.token_source(),
        units::rate(stream.tokens_per_second),
    )
}

/// Formats the result of a goodput metric.
pub fn goodput(summary: &Summary, index: usize, row: &GoodputRow) -> String {
    let mark = |figure: &str| {
        let path = format!("/goodput/{index}/{figure}");
        let mut criteria = summary.criteria.iter();
        let is_judged = criteria.any(|judged| judged.figure.as_ref() == Some(&path));
        if is_judged { "*" } else { "" }
    };
    let share = row.share.map_or_else(|| "–".to_owned(), units::share);
    format!(
        "goodput ({}): {share}{}, {} of {}, {}/s{}",
        row.bounds.join(", "),
        mark("share"),
        units::count(row.good),
        units::count(row.of),
        units::rate(row.per_second),
        mark("per_second"),
    )
}
