//! A printed row as a row of ours: seconds become nanoseconds, and what was not printed stays open.

use std::collections::BTreeMap;

use measure::{LabelId, label::Group};

use crate::{
    import::{Figure as Printed, model},
    summary::{Figure, Row, Stats, per_second, share_of},
};

/// Nanoseconds of a second.
const NS: f64 = 1e9;

pub fn row(printed: &model::Row, id: LabelId, group: Group, text: &str, elapsed_ns: u64) -> Row {
    let answers = printed.latency.as_ref().map(|latency| &latency.count);
    let count = whole(&printed.requests)
        .or_else(|| whole(answers?))
        .unwrap_or(0);
    let unanswered = unanswered(printed, count);
    // A tool that counts failures counts those without an answer among them.
    let failures = whole(&printed.failures).unwrap_or(0);
    let errors = failures.max(unanswered);
    let rate = printed.rate.as_ref().map(|rate| rate.value);
    let codes = printed.codes.iter().filter_map(|figure| {
        let code = figure.name.rsplit('.').next()?.parse().ok()?;
        Some((code, figure.value as u64))
    });
    Row {
        id,
        group,
        text: text.to_owned(),
        count,
        errors,
        error_share: share_of(errors, count),
        per_second: if elapsed_ns > 0 {
            per_second(count, elapsed_ns)
        } else {
            rate.unwrap_or(0.0)
        },
        service: stats(printed),
        response: None,
        iteration: None,
        codes: codes.collect(),
        none: if unanswered > 0 {
            BTreeMap::from([("none".to_owned(), unanswered)])
        } else {
            BTreeMap::new()
        },
        bytes_out: 0,
        bytes_in: printed
            .mean_bytes
            .as_ref()
            .map_or(0, |mean| (mean.value * count as f64) as u64),
    }
}

pub fn whole(figure: &Option<Printed>) -> Option<u64> {
    figure.as_ref().map(|figure| figure.value as u64)
}

/// Requests without an answer: what the tool counted of them, or what its answers leave over.
fn unanswered(printed: &model::Row, count: u64) -> u64 {
    let errors = printed.errors.iter();
    let counted: u64 = errors
        .filter(|error| error.unanswered == Some(true))
        .map(|error| error.count.value as u64)
        .sum();
    let left = whole(&printed.responses).map_or(0, |answers| count.saturating_sub(answers));
    counted.max(left)
}

/// The statistics of a row; none when the tool printed none.
pub fn stats(printed: &model::Row) -> Option<Stats> {
    let latency = printed.latency.as_ref()?;
    let more = printed
        .percentiles
        .iter()
        .flat_map(|more| &more.percentiles);
    let known: Vec<(f64, u64)> = latency
        .percentiles
        .iter()
        .chain(more)
        .map(|(share, figure)| (*share, ns(figure)))
        .collect();
    let at = |share: f64| {
        let found = known.iter().find(|(known, _)| (known - share).abs() < 1e-9);
        found.map_or(Figure::not_given(), |(_, ns)| Figure::of(*ns))
    };
    let one = |figure: &Option<Printed>| figure.as_ref().map(ns);
    Some(Stats {
        count: whole(&latency.count)
            .or_else(|| whole(&printed.requests))
            .unwrap_or(0),
        unanswered: 0,
        mean_ns: latency.mean.as_ref().map(|mean| mean.value * NS),
        min_ns: one(&latency.min),
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max: one(&latency.max).map_or_else(|| at(1.0), Figure::of),
    })
}

fn ns(figure: &Printed) -> u64 {
    (figure.value * NS).round() as u64
}
