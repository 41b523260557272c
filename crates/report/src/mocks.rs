//! Text about mocks, for tables and terminals.

use analysis::summary::{MockRow, MockTime};
use record::units::{self, count};

/// Column heads of the table. Columns with `<` contain text.
pub const HEADS: [&str; 10] = [
    "Mock",
    "<Route",
    "Requests",
    "<Answers",
    "mean",
    "p50",
    "p95",
    "p99",
    "Off by",
    "Utilisation",
];
pub const MEANING: &str = "Times are requested / served; for a queue, computed from its arrivals / served. Off by: largest difference between the served times and those computed for each request, including faults and queues. – : fewer than ten responses are beyond the percentile, or there is no capacity.";

#[must_use]
pub fn cells(row: &MockRow) -> Vec<String> {
    let time = |what| row.time(what).map(time_cell);
    let mut cells = vec![
        row.mock.clone(),
        route(row),
        count(row.received),
        answers(row),
    ];
    cells.extend(["mean", "p50", "p95", "p99"].map(|what| or_dash(time(what))));
    cells.push(or_dash(row.difference.map(off)));
    let utilisation = row.capacity.as_ref().map(|busy| {
        let capacity = units::rate(busy.per_second);
        format!("{} of {capacity}/s", units::share(busy.utilisation))
    });
    cells.push(or_dash(utilisation));
    cells
}

#[must_use]
pub fn lateness(rows: &[MockRow]) -> Option<String> {
    let mut reported: Vec<String> = rows
        .iter()
        .filter_map(|row| Some(format!("{} {}", row.mock, units::time(row.late_p99_ns?))))
        .collect();
    reported.dedup();
    (!reported.is_empty())
        .then(|| format!("p99 lateness of mock responses: {}.", reported.join(", ")))
}

#[must_use]
pub fn sentences(rows: &[MockRow]) -> Vec<String> {
    rows.iter().map(sentence).collect()
}

fn sentence(row: &MockRow) -> String {
    let mut parts = vec![format!(
        "mock {}, {}: {} requests{}",
        row.mock,
        row.route,
        count(row.received),
        if is_plain(row) {
            String::new()
        } else {
            format!(", {}", answers(row))
        }
    )];
    parts.extend(row.times.iter().map(|one| {
        let asked = units::time(one.planned_ns.unwrap_or(one.due_ns));
        let served = units::time(one.served_ns);
        format!("{} {asked} requested, {served} served", one.statistic)
    }));
    parts.extend(
        row.difference
            .map(|share| format!("{} difference from the computed times", off(share))),
    );
    parts.extend(row.capacity.as_ref().map(|busy| {
        let used = units::share(busy.utilisation);
        format!("{used} of {}/s used", units::rate(busy.per_second))
    }));
    parts.extend(row.late_p99_ns.map(|late| {
        format!(
            "99 % of the responses were at most {} late",
            units::time(late)
        )
    }));
    parts.join("; ")
}

fn is_plain(row: &MockRow) -> bool {
    row.resets + row.silent == 0 && row.codes.len() == 1
}

fn route(row: &MockRow) -> String {
    match &row.from {
        Some(from) => format!("{} (as {from})", row.route),
        None => row.route.clone(),
    }
}

fn answers(row: &MockRow) -> String {
    let codes = row.codes.iter();
    let codes = codes.map(|(code, n)| format!("{code} × {}", count(*n)));
    let wrong = [(row.resets, "reset"), (row.silent, "never answered")];
    let wrong = wrong.into_iter().filter(|(n, _)| *n > 0);
    let wrong = wrong.map(|(n, what)| format!("{} {what}", count(n)));
    let all: Vec<String> = codes.chain(wrong).collect();
    or_dash((!all.is_empty()).then(|| all.join(", ")))
}

fn time_cell(one: &MockTime) -> String {
    let asked = one.planned_ns.unwrap_or(one.due_ns);
    format!("{} / {}", units::time(asked), units::time(one.served_ns))
}

fn off(share: f64) -> String {
    let size = units::share(share.abs());
    match share {
        0.0 => size,
        share if share > 0.0 => format!("+{size}"),
        _ => format!("−{size}"),
    }
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".into())
}

#[cfg(test)]
mod tests {
    use analysis::summary::MockCapacity;

    use super::*;

    fn row() -> MockRow {
        let time_cell = |what: &str, asked_ns, due_ns, served_ns| MockTime {
            statistic: what.into(),
            planned_ns: asked_ns,
            due_ns,
            served_ns,
        };
        MockRow {
            mock: "lorota".into(),
            route: "GET /a".into(),
            received: 207,
            codes: [(200, 200), (503, 5)].into(),
            resets: 2,
            silent: 0,
            from: None,
            times: vec![
                time_cell("mean", Some(130_000_000), 131_000_000, 131_500_000),
                time_cell("p50", None, 4_200_000, 4_250_000),
            ],
            difference: Some(0.0119),
            late_p99_ns: Some(214_000),
            capacity: Some(MockCapacity {
                workers: 8,
                per_second: 1_000.0,
                utilisation: 0.625,
            }),
        }
    }

    #[test]
    fn a_row_says_what_was_asked_and_what_was_served() {
        let wanted = [
            "lorota",
            "GET /a",
            "207",
            "200 × 200, 503 × 5, 2 reset",
            "130 ms / 132 ms",
            "4.20 ms / 4.25 ms",
            "–",
            "–",
            "+1.19 %",
            "62.5 % of 1,000/s",
        ];
        assert_eq!(cells(&row()), wanted);
        assert_eq!(HEADS.len(), wanted.len());
        let late = lateness(&[row(), row()]).unwrap();
        assert!(late.ends_with("responses: lorota 214 µs."), "{late}");
    }

    #[test]
    fn a_sentence_says_the_same() {
        let wanted = "mock lorota, GET /a: 207 requests, 200 × 200, 503 × 5, 2 reset; mean 130 ms requested, 132 ms served; \
             p50 4.20 ms requested, 4.25 ms served; +1.19 % difference from the computed times; 62.5 % of 1,000/s used; 99 % of the responses were at most 214 µs late";
        assert_eq!(sentences(&[row()]), [wanted]);
    }
}
