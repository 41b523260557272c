//! Section of `report.md` about endpoints: a row for each label, with its rates, errors and times.

use super::{
    sections::{JUDGED, MARK, rates_are, section},
    table::MarkdownTable,
};
use analysis::summary::{Row, STATISTICS, Stats, Summary};
use record::units::{self, count};

pub fn endpoints(summary: &Summary) -> String {
    let parts = PartColumn::of(summary);
    let judged = summary.judged_percentiles();
    let mut table = MarkdownTable::new(&[
        "Endpoint",
        "Requests",
        "Requests/s",
        "Errors",
        "mean",
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "max",
    ]);
    table.add_columns(parts.iter().map(|part| part.name.clone()));
    table.add_columns(judged.iter().map(|(time, name)| match *time {
        "service" => format!("service {name}"),
        "first_byte" => format!("first byte {name}"),
        "first_event" => format!("first event {name}"),
        "ttft" => format!("time to first token {name}"),
        "gap" => format!("gap {name}"),
        "per_token" => format!("time per token {name}"),
        _ => (*name).to_owned(),
    }));
    let cells = |name: &str, row: &Row, time: &str| -> Vec<String> {
        let figures = &row.judged_percentiles;
        let more = judged.iter().map(|(of, name)| {
            let found = figures.get(*of).and_then(|figures| figures.get(*name));
            found.map_or_else(|| "–".to_owned(), |figure| format!("{figure}{JUDGED}"))
        });
        let own = cells(summary, &parts, name, row, time);
        own.into_iter().chain(more).collect()
    };
    let over_requests = [summary.iteration_rows(), summary.transactions.as_slice()];
    for row in over_requests.into_iter().flatten() {
        let name = row.called();
        table.row(cells(&name, row, "iteration"));
        if row.unpaused.is_some() {
            table.row(cells(&format!("{name}, without pauses"), row, "unpaused"));
        }
    }
    for row in summary.request_rows() {
        let time = if row.response.is_some() {
            "response"
        } else {
            "service"
        };
        table.row(cells(&row.text, row, time));
    }
    if let Some(tool) = &summary.run.imported_from {
        let meaning =
            format!("Percentiles are as reported by {tool}; – means that the tool reported none.");
        return section("Endpoints", &format!("{table}\n{meaning}"));
    }
    let iterations = if summary.iteration_rows().is_empty() {
        ""
    } else {
        " Percentiles of iterations cover the time from the intended arrival to the last response."
    };
    let transactions = if summary.transactions.is_empty() {
        ""
    } else {
        " Percentiles of transactions cover the time from the due time of a group's first step to the end of its last step."
    };
    section(
        "Endpoints",
        &format!(
            "{table}\nPercentiles are response times, from the intended start of a request to the last byte of its response.{iterations}{transactions} A request without a response ranks above all others. ? marks a percentile with fewer than ten samples beyond it. It may be due to chance and is shown with its 95 % interval. {MARK} {}",
            rates_are(summary)
        ),
    )
}

/// A column for a part of the response time: p99 of the service time, and the figures that criteria
/// judge.
struct PartColumn {
    name: String,
    time: &'static str,
    statistic: &'static str,
}

impl PartColumn {
    fn of(summary: &Summary) -> Vec<PartColumn> {
        let rows = summary.request_rows();
        let parts = [("service", "service"), ("first_byte", "first byte")];
        let columns = parts.into_iter().flat_map(|(time, name)| {
            let is_shown = |statistic: &str| {
                let figure = format!("{time}/{statistic}");
                let is_judged =
                    |row: &&Row| row.response.is_some() && summary.is_judged(row, &figure);
                figure == "service/p99" || rows.iter().any(is_judged)
            };
            let shown = STATISTICS.into_iter().filter(move |one| is_shown(one));
            let shown: Vec<PartColumn> = shown
                .map(|statistic| PartColumn {
                    name: format!("{name} {}", statistic_name(statistic)),
                    time,
                    statistic,
                })
                .collect();
            shown
        });
        columns.collect()
    }
}

fn statistic_name(statistic: &str) -> &str {
    match statistic {
        "mean_ns" => "mean",
        "p999" => "p99.9",
        name => name,
    }
}

fn statistic_text(stats: Option<&Stats>, statistic: &str) -> String {
    let text = stats.and_then(|stats| {
        Some(match statistic {
            // The mean of the answered requests alone would hide the unanswered ones.
            "mean_ns" => {
                units::time(stats.mean_ns.filter(|_| stats.unanswered == 0)?.round() as u64)
            }
            "p50" => stats.p50.to_string(),
            "p90" => stats.p90.to_string(),
            "p95" => stats.p95.to_string(),
            "p99" => stats.p99.to_string(),
            "p999" => stats.p999.to_string(),
            _ => stats.max.to_string(),
        })
    });
    text.unwrap_or_else(|| "–".into())
}

fn cells(
    summary: &Summary,
    parts: &[PartColumn],
    name: &str,
    row: &Row,
    time: &str,
) -> Vec<String> {
    let errors = match (row.errors, row.error_share) {
        (0, _) | (_, None) => count(row.errors),
        (n, Some(share)) => format!("{} ({})", count(n), units::share(share)),
    };
    let marked = |figures: &[&str], text: String| {
        let is_judged = figures.iter().any(|figure| summary.is_judged(row, figure));
        if is_judged { text + JUDGED } else { text }
    };
    let reported = |figure: &str, text: String| {
        if row.reports(figure) {
            text
        } else {
            "–".into()
        }
    };
    let stats = |time: &str| match time {
        "response" => row.response.as_ref(),
        "service" => row.service.as_ref(),
        "first_byte" => row.first_byte.as_ref(),
        "unpaused" => row.unpaused.as_ref(),
        _ => row.iteration.as_ref(),
    };
    let figure = |time: &str, statistic: &str| {
        let text = statistic_text(stats(time), statistic);
        marked(&[&format!("{time}/{statistic}")], text)
    };
    let counts = [
        name.to_owned(),
        reported("count", count(row.count)),
        marked(
            &["per_second"],
            reported("per_second", units::rate(row.per_second)),
        ),
        marked(&["errors", "error_share"], reported("errors", errors)),
    ];
    let times = STATISTICS.iter().map(|statistic| figure(time, statistic));
    let of_parts = parts.iter().map(|part| {
        // The columns of the row's own time already have the mark.
        if part.time == time {
            statistic_text(stats(time), part.statistic)
        } else {
            figure(part.time, part.statistic)
        }
    });
    counts.into_iter().chain(times).chain(of_parts).collect()
}
