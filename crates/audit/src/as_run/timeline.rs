//! Converts the periods of imported runs to points. Cumulative counts are converted to differences.
//! Periods without times yield no points.

use std::ops::Range;

use crate::import::{PrintedReport, Tool};

use analysis::{
    series::{Columns, Distribution, Heat, SCHEMA, Series},
    summary::Figure,
};

use super::figures::{bad_codes, failed, stats, total, whole_number};

const PERIOD_S: f64 = 10.0;

pub fn began_s(report: &PrintedReport) -> Option<f64> {
    let first = report.periods.first().and_then(moment_s);
    match report.tool {
        // Locust writes the first line after the first second.
        Tool::Locust => first,
        _ => report.began_s.or(first),
    }
}

pub fn elapsed_ns(report: &PrintedReport) -> u64 {
    if let Some(span) = &report.span {
        return (span.seconds.value * 1e9) as u64;
    }
    let ends = (
        report.periods.first().and_then(moment_s),
        report.periods.last().and_then(moment_s),
    );
    if let (Some(first), Some(last)) = ends
        && last > first
    {
        return ((last - first) * 1e9) as u64;
    }
    let all = &report.all;
    match (whole_number(&all.requests), &all.rate) {
        (Some(count), Some(rate)) if rate.value > 0.0 => (count as f64 / rate.value * 1e9) as u64,
        _ => 0,
    }
}

fn moment_s(period: &PrintedReport) -> Option<f64> {
    period.began_s.or_else(|| period.title.parse().ok())
}

/// Returns whether percentiles in the history cover only the last seconds, as with
/// `--csv-full-history`.
pub fn has_windows(report: &PrintedReport) -> bool {
    report.periods.iter().any(|period| !period.rows.is_empty())
}

pub fn series(report: &PrintedReport) -> Series {
    let mut points = Columns::default();
    let zero_s = began_s(report).unwrap_or(0.0);
    let mut periods: Vec<(f64, &PrintedReport)> = report
        .periods
        .iter()
        .filter_map(|period| Some((moment_s(period)?, period)))
        .collect();
    periods.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut before: Option<(f64, &PrintedReport)> = None;
    let windows = has_windows(report);
    for (moment, period) in periods {
        let span = if report.periods_run_on {
            before.map_or(zero_s, |(moment, _)| moment)..moment
        } else {
            // The first and last periods may be shorter than the others.
            let end = report
                .ended_s
                .unwrap_or(f64::INFINITY)
                .min(moment + PERIOD_S);
            moment.max(zero_s)..end
        };
        if span.end > span.start {
            push(
                &mut points,
                period,
                before.map(|(_, report)| report),
                span.start - zero_s..span.end - zero_s,
                report.periods_run_on,
                windows,
            );
        }
        before = report.periods_run_on.then_some((moment, period));
    }
    let widths = points
        .from_ns
        .iter()
        .zip(&points.to_ns)
        .map(|(from, to)| to - from);
    Series {
        schema: SCHEMA,
        width_ns: widths.max().unwrap_or(0),
        points,
        heat: Heat::default(),
        distribution: distribution(report),
        labels: Vec::new(),
        criteria_timeline: Vec::new(),
        custom: Vec::new(),
        constants: Vec::new(),
        server: Vec::new(),
    }
}

fn push(
    points: &mut Columns,
    period: &PrintedReport,
    before: Option<&PrintedReport>,
    seconds: Range<f64>,
    run_on: bool,
    windows: bool,
) {
    let since =
        |total: fn(&PrintedReport) -> u64| total(period).saturating_sub(before.map_or(0, total));
    let ns = |s: f64| (s.max(0.0) * 1e9).round() as u64;
    points.from_ns.push(ns(seconds.start));
    points.to_ns.push(ns(seconds.end));
    let requests = since(|p| whole_number(&p.all.requests).unwrap_or(0));
    let failures = since(|p| failed(&p.all, p.tool));
    let none = since(|p| {
        let errors = p.all.errors.iter();
        total(
            errors
                .filter(|e| e.unanswered == Some(true))
                .map(|e| e.count.value as u64),
        )
    });
    points.phase.push(0);
    points.due.push(0);
    points
        .started
        .push(since(|p| whole_number(&p.sessions.created).unwrap_or(0)));
    points.skipped.push(0);
    points.issued.push(requests);
    // Artillery's failures are responses, whereas the failures of other tools include unanswered
    // requests.
    let failures = match period.tool {
        Tool::Artillery => failures,
        _ => failures.saturating_sub(none),
    };
    points
        .ok
        .push(requests.saturating_sub(failures.saturating_add(none)));
    points.failed.push(failures);
    points.unanswered.push(none);
    let of_status = |digit: u16| {
        let bad = bad_codes(&period.all, period.tool);
        total(bad.filter(|(code, _)| code / 100 == digit).map(|(_, n)| n))
    };
    let by_status = [of_status(4), of_status(5)];
    let other = failures.saturating_sub(total(by_status));
    let names = ["status 4xx", "status 5xx", "failed", "no answer"];
    for (name, n) in names
        .into_iter()
        .zip([by_status[0], by_status[1], other, none])
    {
        points.errors.entry(name.into()).or_default().push(n);
    }
    for (class, column) in (1..).zip(points.classes()) {
        let codes = period.all.codes.iter().filter(|code| {
            let digits = code.name.rsplit('.').next().unwrap_or_default();
            digits.parse::<u16>().is_ok_and(|code| code / 100 == class)
        });
        column.push(total(codes.map(|code| code.value as u64)));
    }
    points.bytes_out.push(0);
    points
        .bytes_in
        .push(period.bytes.as_ref().map_or(0, |bytes| bytes.value as u64));
    times(points, period, run_on, windows);
    let users = period.bound.as_ref().map(|bound| bound.figure.value);
    points.users.push(users);
    points.in_flight.push(None);
    points.in_flight_max.push(None);
    points.littles_law.push(None);
    points.connections_open.push(0);
    points.connections_opened.push(0);
    points.stall_ns.push(0);
    points.throttled.push(0.0);
}

fn times(points: &mut Columns, period: &PrintedReport, run_on: bool, windows: bool) {
    let mut all = period.all.clone();
    if run_on {
        // Use percentiles only if the tool prints them for each period, because otherwise they are
        // cumulative.
        all.latency = all.others.pop().filter(|_| windows);
    }
    let known = stats(&all);
    let figure = |percentile: fn(&analysis::summary::Stats) -> Figure| {
        known.as_ref().and_then(|stats| percentile(stats).ns)
    };
    let service = &mut points.service;
    service.p50.push(figure(|stats| stats.p50));
    service.p95.push(figure(|stats| stats.p95));
    service.p99.push(figure(|stats| stats.p99));
    service.max.push(figure(|stats| stats.max));
    for times in [
        &mut points.response,
        &mut points.iteration,
        &mut points.lateness,
        &mut points.wait,
    ] {
        for column in [
            &mut times.p50,
            &mut times.p95,
            &mut times.p99,
            &mut times.max,
        ] {
            column.push(None);
        }
    }
}

fn distribution(report: &PrintedReport) -> Vec<Distribution> {
    let Some(latency) = &report.all.latency else {
        return Vec::new();
    };
    let more = report
        .all
        .percentiles
        .iter()
        .flat_map(|more| &more.percentiles);
    let mut curve: Vec<(f64, u64)> = latency
        .percentiles
        .iter()
        .chain(more)
        .map(|(share, figure)| (*share, (figure.value * 1e9).round() as u64))
        .collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    curve.dedup_by(|a, b| a.0 == b.0);
    if curve.is_empty() {
        return Vec::new();
    }
    vec![Distribution {
        time: "service".into(),
        count: whole_number(&latency.count)
            .or_else(|| whole_number(&report.all.requests))
            .unwrap_or(0),
        unanswered: 0,
        curve,
        density: Vec::new(),
    }]
}
