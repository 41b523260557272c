//! Selects the slowest endpoint by the time that the endpoint table shows.

use crate::summary::{Conclusion, Figure, Row, Stats, Summary, Tone};

type Time = (&'static str, &'static str, fn(&Row) -> Option<&Stats>);
type Percentile = (&'static str, fn(&Stats) -> Figure);

const PERCENTILES: [Percentile; 3] = [
    ("p95", |stats| stats.p95),
    ("p90", |stats| stats.p90),
    ("p50", |stats| stats.p50),
];

pub(super) fn slowest(summary: &Summary) -> Option<Conclusion> {
    if summary.is_generators() {
        return None;
    }
    let (key, name, stats) = time(summary);
    let timed: Vec<usize> = (0..summary.labels.len())
        .filter(|at| stats(&summary.labels[*at]).is_some())
        .collect();
    let given = |at: usize, figure: fn(&Stats) -> Figure| {
        let known = stats(&summary.labels[at]).map(figure);
        known.filter(|figure| !figure.too_few && !figure.unreported)
    };
    let having = |(_, figure): &Percentile| {
        let having = timed.iter().filter(|at| given(**at, *figure).is_some());
        having.count()
    };
    // Use a percentile that all rows have, otherwise the one that most rows have.
    let (percentile, figure) = PERCENTILES
        .into_iter()
        .find(|percentile| having(percentile) == timed.len())
        .or_else(|| PERCENTILES.into_iter().max_by_key(having))?;
    let mut ranked: Vec<((u8, u64), usize, Figure)> = timed
        .iter()
        .filter_map(|at| given(*at, figure).map(|figure| (rank(figure), *at, figure)))
        .collect();
    ranked.sort_by_key(|(rank, _, _)| *rank);
    let [.., (second, _, _), (first, at, slow)] = ranked.as_slice() else {
        return None;
    };
    if first == second {
        return None;
    }
    let among = if ranked.len() == summary.labels.len() {
        "The slowest endpoint".to_owned()
    } else {
        format!(
            "Among the {} endpoints (of {}) with enough answers for {percentile}, the slowest",
            ranked.len(),
            summary.labels.len()
        )
    };
    let all = stats(&summary.all).map(figure)?;
    let text = format!(
        "{among} was {}, with a {percentile} {name} of {slow}. For all requests it was {all}.",
        summary.labels[*at].text,
    );
    let figures = [
        format!("labels.{at}.{key}.{percentile}"),
        format!("all.{key}.{percentile}"),
    ];
    let figures = figures.each_ref().map(String::as_str);
    Some(Conclusion::new("slowest", Tone::Neutral, text, &figures))
}

fn time(summary: &Summary) -> Time {
    let mut rows = [&summary.all].into_iter().chain(&summary.labels);
    if rows.all(|row| row.response.is_some()) {
        ("response", "response time", |row| row.response.as_ref())
    } else {
        ("service", "service time", |row| row.service.as_ref())
    }
}

fn rank(figure: Figure) -> (u8, u64) {
    match (figure.ns, figure.at_least_ns) {
        (Some(ns), _) => (0, ns),
        (None, Some(ns)) => (1, ns),
        (None, None) => (2, 0),
    }
}
