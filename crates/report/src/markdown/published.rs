//! Optional tables: requests, percentiles as in Locust, and rates by phase.

use super::table::MarkdownTable;
use analysis::summary::{Figure, Row, SHARES, Summary};
use record::units;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    Requests,
    Percentiles,
    Rates,
}

#[must_use]
pub fn published(summary: &Summary, which: Published) -> String {
    match which {
        Published::Requests => requests(summary),
        Published::Percentiles => percentiles(summary),
        Published::Rates => rates(summary),
    }
    .to_string()
}

fn milliseconds(ns: f64) -> String {
    let ms = ns / 1e6;
    if ms >= 10.0 {
        format!("{ms:.0}")
    } else {
        units::decimal(ms)
    }
}

fn marked(row: &Row, figure: &str, text: String) -> String {
    if row.reports(figure) {
        text
    } else {
        "–".into()
    }
}

fn requests(summary: &Summary) -> MarkdownTable {
    let mut table = MarkdownTable::new(&[
        "Endpoint",
        "# Requests",
        "# Failures",
        "Avg response (ms)",
        "Requests / s",
    ]);
    for row in &summary.labels {
        let mean = row.response.as_ref().or(row.service.as_ref());
        table.row([
            row.text.clone(),
            marked(row, "count", row.count.to_string()),
            marked(row, "errors", row.errors.to_string()),
            mean.and_then(|stats| stats.mean_ns)
                .map_or_else(|| "–".into(), milliseconds),
            marked(row, "per_second", format!("{:.1}", row.per_second)),
        ]);
    }
    table
}

fn percentiles(summary: &Summary) -> MarkdownTable {
    let heads: Vec<String> = SHARES
        .iter()
        .map(|share| format!("{}%", units::decimal(share * 100.0)))
        .collect();
    let heads = ["Name"]
        .into_iter()
        .chain(heads.iter().map(String::as_str))
        .chain(["# reqs"]);
    let mut table = MarkdownTable::new(&heads.collect::<Vec<_>>());
    let cell = |figure: &Figure| match (figure.ns, figure.at_least_ns) {
        _ if figure.too_few || figure.unreported => "–".to_owned(),
        (Some(ns), _) => milliseconds(ns as f64),
        (None, Some(ns)) => format!("≥ {}", milliseconds(ns as f64)),
        (None, None) => "no answer".to_owned(),
    };
    let rows = summary.labels.iter().chain([&summary.all]);
    for row in rows {
        let more = summary.percentiles.iter().find(|more| more.id == row.id);
        let Some(more) = more else { continue };
        let name = if row.id == summary.all.id {
            "Aggregated"
        } else {
            &row.text
        };
        let cells = more.figures.iter().map(cell);
        table.row([name.to_owned()].into_iter().chain(cells).chain([marked(
            row,
            "count",
            row.count.to_string(),
        )]));
    }
    table
}

fn rates(summary: &Summary) -> MarkdownTable {
    let whole = |row: &Row| vec![marked(row, "per_second", units::rate(row.per_second))];
    if summary.phases.len() < 2 {
        let mut table = MarkdownTable::new(&["endpoint", "RPS"]);
        for row in &summary.labels {
            table.row([row.text.clone()].into_iter().chain(whole(row)));
        }
        table.row(["Total".to_owned()].into_iter().chain(whole(&summary.all)));
        return table;
    }
    let heads: Vec<String> = summary
        .phases
        .iter()
        .map(|phase| format!("{} RPS", phase.name))
        .collect();
    let heads = ["endpoint"]
        .into_iter()
        .chain(heads.iter().map(String::as_str));
    let mut table = MarkdownTable::new(&heads.collect::<Vec<_>>());
    for row in &summary.labels {
        let of_phase = summary
            .phases
            .iter()
            .map(|phase| phase.by_label.get(&row.id).copied().unwrap_or(0.0));
        table.row(
            [row.text.clone()]
                .into_iter()
                .chain(of_phase.map(units::rate)),
        );
    }
    let totals = summary
        .phases
        .iter()
        .map(|phase| units::rate(phase.per_second));
    table.row(["Total".to_owned()].into_iter().chain(totals));
    table
}
