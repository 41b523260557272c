//! Converts a printed row to a Loadline row. Missing figures remain unknown.

use std::collections::BTreeMap;

use measure::{LabelId, label::LabelGroup};

use crate::import::{PrintedFigure as Printed, PrintedReport, Tool, model};

use analysis::{
    figures::{per_second, share_of},
    summary::{Figure, Row, Stats},
};

const NS: f64 = 1e9;

pub fn all(report: &PrintedReport, elapsed_ns: u64) -> Row {
    let mut all = row(
        &report.all,
        report.tool,
        0,
        LabelGroup::Request,
        "all requests",
        elapsed_ns,
    );
    // Artillery's count refers to responses rather than requests.
    if report.tool == Tool::Artillery && report.all.requests.is_none() {
        (all.count, all.errors, all.error_share) = (0, 0, None);
        all.per_second = report.all.rate.as_ref().map_or(0.0, |rate| rate.value);
        all.unreported
            .extend(["count", "errors"].map(str::to_owned));
        if report.all.rate.is_none() {
            all.unreported.push("per_second".to_owned());
        }
    }
    all.unreported.sort();
    all.unreported.dedup();
    all
}

pub fn bad_codes(printed: &model::PrintedRow, tool: Tool) -> impl Iterator<Item = (u16, u64)> + '_ {
    let codes = printed
        .codes
        .iter()
        .filter(move |_| tool == Tool::Artillery);
    codes.filter_map(|figure| {
        let code: u16 = figure.name.rsplit('.').next()?.parse().ok()?;
        (code >= 400).then_some((code, figure.value as u64))
    })
}

pub fn failed(printed: &model::PrintedRow, tool: Tool) -> u64 {
    let bad = total(bad_codes(printed, tool).map(|(_, n)| n));
    whole_number(&printed.failures).unwrap_or(0).max(bad)
}

pub fn row(
    printed: &model::PrintedRow,
    tool: Tool,
    id: LabelId,
    group: LabelGroup,
    text: &str,
    elapsed_ns: u64,
) -> Row {
    let answers = printed.latency.as_ref().map(|latency| &latency.count);
    let known = whole_number(&printed.requests).or_else(|| whole_number(answers?));
    let count = known.unwrap_or(0);
    let unanswered = unanswered(printed, count);
    let errors = match tool {
        Tool::Artillery => failed(printed, tool).saturating_add(unanswered).min(count),
        _ => failed(printed, tool).max(unanswered),
    };
    let errors_are_told = match tool {
        Tool::Artillery => !printed.codes.is_empty() || !printed.errors.is_empty(),
        Tool::Wrk | Tool::Wrk2 => known.is_some(),
        Tool::Locust
        | Tool::K6
        | Tool::JMeter
        | Tool::Vegeta
        | Tool::Oha
        | Tool::Fortio
        | Tool::Hdr
        | Tool::Loadline => printed.failures.is_some(),
    };
    let reported = [
        ("count", known.is_some()),
        ("errors", errors_are_told && known.is_some()),
        (
            "per_second",
            printed.rate.is_some() || (known.is_some() && elapsed_ns > 0),
        ),
        ("bytes_in", printed.mean_bytes.is_some() && known.is_some()),
    ];
    let rate = printed.rate.as_ref().map(|rate| rate.value);
    let codes = printed.codes.iter().filter_map(|figure| {
        let code: u16 = figure.name.rsplit('.').next()?.parse().ok()?;
        Some((code.to_string(), figure.value as u64))
    });
    Row {
        id,
        group,
        text: text.to_owned(),
        count,
        errors,
        error_share: share_of(errors, count).filter(|_| errors_are_told),
        per_second: if elapsed_ns > 0 && known.is_some() {
            per_second(count, elapsed_ns)
        } else {
            rate.unwrap_or(0.0)
        },
        service: stats(printed),
        response: None,
        first_byte: None,
        stream: None,
        iteration: None,
        unpaused: None,
        codes: codes.collect(),
        unanswered: if unanswered > 0 {
            BTreeMap::from([("none".to_owned(), unanswered)])
        } else {
            BTreeMap::new()
        },
        bytes_out: 0,
        bytes_in: printed
            .mean_bytes
            .as_ref()
            .map_or(0, |mean| (mean.value * count as f64) as u64),
        unreported: reported
            .into_iter()
            .filter(|(_, reported)| !reported)
            .map(|(name, _)| name.to_owned())
            .collect(),
        judged_percentiles: std::collections::BTreeMap::new(),
        judged: Vec::new(),
    }
}

pub fn whole_number(figure: &Option<Printed>) -> Option<u64> {
    figure.as_ref().map(|figure| figure.value as u64)
}

/// Adds up counts with saturation, because files may contain any number.
pub fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// Returns the number of unanswered requests, either as counted by the tool or as the difference
/// between requests and responses.
fn unanswered(printed: &model::PrintedRow, count: u64) -> u64 {
    let errors = printed.errors.iter();
    let counted = total(
        errors
            .filter(|error| error.unanswered == Some(true))
            .map(|error| error.count.value as u64),
    );
    let left = whole_number(&printed.responses).map_or(0, |answers| count.saturating_sub(answers));
    counted.max(left)
}

pub fn stats(printed: &model::PrintedRow) -> Option<Stats> {
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
        found.map_or(Figure::unreported(), |(_, ns)| Figure::from_ns(*ns))
    };
    let one = |figure: &Option<Printed>| figure.as_ref().map(ns);
    Some(Stats {
        count: whole_number(&latency.count)
            .or_else(|| whole_number(&printed.requests))
            .unwrap_or(0),
        unanswered: 0,
        mean_ns: latency.mean.as_ref().map(|mean| mean.value * NS),
        min_ns: one(&latency.min),
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max: one(&latency.max).map_or_else(|| at(1.0), Figure::from_ns),
    })
}

fn ns(figure: &Printed) -> u64 {
    (figure.value * NS).round() as u64
}
