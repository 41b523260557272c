//! Builds an index entry from the record and the summary. Both are free of secrets.

use plan::criteria::SpanFilter;
use record::Run;
use serde_json::Value;

use super::{IndexedRow, IndexedRun, RowSubject, RowTimes};
use crate::compare;
use analysis::{
    figures::{Figure, Stats},
    summary::{self, Summary},
};

#[must_use]
pub fn index(run: &Run, summary: &Summary, plan: &Value) -> IndexedRun {
    let manifest = &run.manifest;
    let about = manifest.about.as_ref();
    let dir = run.dir.as_deref().and_then(|dir| dir.file_name());
    let measurement = summary.measurement.as_ref();
    let invalid = measurement.filter(|measurement| measurement.verdict == "INVALID");
    let invalid = invalid.map(|measurement| {
        let reason = measurement.reasons.first();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        format!("its measurement is INVALID{reason}")
    });
    IndexedRun {
        run: dir.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        began_ns: summary.run.started_wall_ns,
        began_utc: summary.run.started_utc.clone(),
        name: summary.run.name.clone(),
        tags: about.map_or_else(Vec::new, |about| about.tags.clone()),
        target: summary.run.target.clone(),
        revision: manifest.git.clone(),
        load: summary.run.load.clone(),
        model: summary.run.model,
        state: summary.run.state,
        elapsed_ns: summary.run.elapsed_ns,
        measurement: measurement.map(|measurement| measurement.verdict.clone()),
        criteria: summary.verdict.criteria,
        exit_code: summary.exit_code,
        fault: invalid.or_else(|| {
            let fault = compare::fault(summary, Some(run))?;
            Some(format!("it {fault}"))
        }),
        fingerprint: compare::fingerprint(summary, run, plan),
        headline: headline(summary),
        rows: rows(summary),
        recorded: true,
    }
}

fn headline(summary: &Summary) -> (SpanFilter, Option<String>) {
    match summary.headline() {
        measure::TimeKind::Response => (SpanFilter::Response, None),
        _ => (SpanFilter::Service, None),
    }
}

fn rows(summary: &Summary) -> Vec<IndexedRow> {
    let all = [(RowSubject::All, &summary.all)].into_iter();
    let endpoints = summary.labels.iter().map(|row| (RowSubject::Endpoint, row));
    let iterations = summary
        .iterations
        .iter()
        .map(|row| (RowSubject::Iteration, row));
    let transactions = summary.transactions.iter();
    let transactions = transactions.map(|row| (RowSubject::Transaction, row));
    let rows = all.chain(endpoints).chain(iterations).chain(transactions);
    rows.map(|(of, row)| of_row(of, row)).collect()
}

const OF_STREAMS: [SpanFilter; 4] = [
    SpanFilter::FirstEvent,
    SpanFilter::Ttft,
    SpanFilter::Gap,
    SpanFilter::PerToken,
];

fn of_row(of: RowSubject, row: &summary::Row) -> IndexedRow {
    let spanning = match of {
        RowSubject::Transaction => SpanFilter::Transaction,
        _ => SpanFilter::Iteration,
    };
    let times = [
        (SpanFilter::Service, &row.service),
        (SpanFilter::Response, &row.response),
        (SpanFilter::FirstByte, &row.first_byte),
        (spanning, &row.iteration),
    ];
    let times = times
        .into_iter()
        .map(|(span, stats)| (span, stats.as_ref()));
    let of_streams = OF_STREAMS.map(|span| (span, row.stream.as_ref().and_then(|s| s.time(span))));
    let times = times
        .chain(of_streams)
        .filter_map(|(span, stats)| Some(of_time(span, stats?)));
    IndexedRow {
        subject: of,
        label: if of == RowSubject::All {
            String::new()
        } else {
            row.text.clone()
        },
        count: row.count,
        error_share: row.error_share.filter(|_| row.reports("errors")),
        per_second: row.reports("per_second").then_some(row.per_second),
        times: times.collect(),
    }
}

fn of_time(span: SpanFilter, stats: &Stats) -> RowTimes {
    let known = |figure: &Figure| figure.ns.map(|ns| ns as f64);
    let figures = [&stats.p50, &stats.p90, &stats.p95, &stats.p99, &stats.p999];
    RowTimes {
        span,
        mean: stats.mean_ns,
        percentiles: figures.map(known),
        max: known(&stats.max),
    }
}
