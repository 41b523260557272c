//! Finds the figure of the summary that a criterion judges, so that every report marks the same
//! figure.

use std::collections::BTreeSet;

use plan::{
    Criterion,
    criteria::{Metric, Op, SpanFilter, Stat, fits, parse_criterion},
    units::Quantity,
};
use record::{Run, units};

use super::subject::Subject;
use crate::{
    exclusions::ExcludedSpans,
    summary::{CustomRow, Row, Summary, custom},
};

/// Percentiles that rows of the summary have.
const PERCENTILES: [&str; 5] = ["p50", "p90", "p95", "p99", "p99.9"];

/// Sets the path of each criterion's figure.
pub(crate) fn add(run: &Run, summary: &mut Summary) {
    let paths: Vec<Option<String>> = summary
        .criteria
        .iter()
        .map(|judged| {
            judged.measured.as_ref()?;
            let criterion = parse_criterion(&judged.text).ok()?;
            path(run, summary, &criterion)
        })
        .collect();
    for (judged, path) in summary.criteria.iter_mut().zip(paths) {
        judged.figure = path;
    }
    mark_rows(summary);
    custom::mark(&mut summary.custom, &summary.criteria);
}

/// Lists in each row which of its figures are judged.
fn mark_rows(summary: &mut Summary) {
    let paths = summary.criteria.iter();
    let paths = paths.filter_map(|judged| figure_of_row(judged.figure.as_deref()?));
    let figures: BTreeSet<String> = paths.map(str::to_owned).collect();
    let marks = |summary: &Summary, row: &Row| -> Vec<String> {
        let judged = figures
            .iter()
            .filter(|figure| summary.is_judged(row, figure));
        judged.cloned().collect()
    };
    let all: Vec<Vec<String>> = summary.rows().map(|row| marks(summary, row)).collect();
    let rows = [&mut summary.all].into_iter();
    let rows = rows.chain(&mut summary.labels);
    let rows = rows
        .chain(&mut summary.iterations)
        .chain(&mut summary.transactions);
    for (row, judged) in rows.zip(all) {
        row.judged = judged;
    }
}

/// Returns `response/p95` of `/labels/3/response/p95`. `None` if no row has the figure.
fn figure_of_row(path: &str) -> Option<&str> {
    let (group, rest) = path.strip_prefix('/')?.split_once('/')?;
    match group {
        "all" => Some(rest),
        "labels" | "iterations" | "transactions" => Some(rest.split_once('/')?.1),
        _ => None,
    }
}

/// Returns `None` if the criterion judges a part of the run, several labels together, or a figure
/// that the summary does not have.
fn path(run: &Run, summary: &Summary, criterion: &Criterion) -> Option<String> {
    let is_of_a_part = criterion.phase.is_some() || criterion.steady;
    if is_of_a_part || !ExcludedSpans::new(run, |_| true).is_empty() {
        return None;
    }
    match &criterion.metric {
        Metric::Time(span, stat) => {
            let row = row(run, summary, criterion)?;
            Some(format!("{row}/{}/{}", time(*span), statistic(*stat)?))
        }
        Metric::Errors => {
            let row = row(run, summary, criterion)?;
            let is_share = matches!(criterion.value, Quantity::Share(_));
            let figure = if is_share { "error_share" } else { "errors" };
            Some(format!("{row}/{figure}"))
        }
        Metric::Rate => Some(format!("{}/per_second", row(run, summary, criterion)?)),
        Metric::InFlight => Some("/in_flight/max".to_owned()),
        Metric::LatenessP99 => Some("/lateness/p99".to_owned()),
        Metric::Server(name, stat) => server(summary, name, *stat, criterion),
        Metric::Custom(name, stat) => custom_figure(summary, name, *stat, criterion),
        Metric::Unsent | Metric::Messages(_) => None,
    }
}

fn time(span: SpanFilter) -> &'static str {
    match span {
        SpanFilter::Response => "response",
        SpanFilter::Service => "service",
        SpanFilter::FirstByte => "first_byte",
        SpanFilter::Iteration | SpanFilter::Transaction => "iteration",
    }
}

fn statistic(stat: Stat) -> Option<String> {
    match stat {
        Stat::Mean => Some("mean_ns".to_owned()),
        Stat::Max => Some("max".to_owned()),
        Stat::Quantile(q) => {
            let name = percentile_name(q);
            let is_known = PERCENTILES.contains(&name.as_str());
            is_known.then(|| name.replace('.', ""))
        }
    }
}

/// Returns the name of a quantile: `p99.9` for 0.999.
pub(crate) fn percentile_name(q: f64) -> String {
    format!("p{}", units::decimal((q * 1e6).round() / 1e4))
}

fn row(run: &Run, summary: &Summary, criterion: &Criterion) -> Option<String> {
    let subject = Subject::from_criterion(run, criterion).ok()?;
    let Some(labels) = subject.labels else {
        return Some("/all".to_owned());
    };
    let [id] = labels.as_slice() else { return None };
    let groups: [(&str, &[Row]); 3] = [
        ("labels", &summary.labels),
        ("iterations", &summary.iterations),
        ("transactions", &summary.transactions),
    ];
    groups.into_iter().find_map(|(group, rows)| {
        let at = rows.iter().position(|row| row.id == *id)?;
        Some(format!("/{group}/{at}"))
    })
}

/// Returns the figure of the instance that decided: the one nearest to the bound or furthest
/// beyond it.
fn server(summary: &Summary, name: &str, stat: Stat, criterion: &Criterion) -> Option<String> {
    let wanted = criterion.of.as_deref();
    let is_asked = |own: Option<&str>| wanted.is_none_or(|of| own.is_some_and(|own| fits(of, own)));
    let figures = summary.server.iter().enumerate().filter_map(|(at, row)| {
        let value = if stat == Stat::Max { row.max } else { row.mean };
        (row.name == name && is_asked(row.instance.as_deref())).then_some((at, value))
    });
    let (at, _) = match criterion.op {
        Op::Less | Op::LessOrEqual => figures.rev().max_by(|a, b| a.1.total_cmp(&b.1)),
        Op::Greater | Op::GreaterOrEqual => figures.min_by(|a, b| a.1.total_cmp(&b.1)),
    }?;
    let figure = if stat == Stat::Max { "max" } else { "mean" };
    Some(format!("/server/{at}/{figure}"))
}

fn custom_figure(
    summary: &Summary,
    name: &str,
    stat: Option<Stat>,
    criterion: &Criterion,
) -> Option<String> {
    let is_histogram = |row: &CustomRow| row.values.is_some() == stat.is_some();
    let mut rows = summary.custom.iter();
    let at = rows.position(|row| row.name == name && is_histogram(row))?;
    let figure = match stat {
        Some(stat) => format!("values/{}", custom_statistic(stat)),
        None if matches!(criterion.value, Quantity::PerSecond(_)) => "per_second".to_owned(),
        None => "count".to_owned(),
    };
    Some(format!("/custom/{at}/{figure}"))
}

fn custom_statistic(stat: Stat) -> String {
    match stat {
        Stat::Mean => "mean".to_owned(),
        Stat::Max => "max".to_owned(),
        Stat::Quantile(q) => percentile_name(q),
    }
}
