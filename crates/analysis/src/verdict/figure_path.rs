//! Finds the figure in the summary that a criterion judges, so that every report marks the same
//! figure.

use std::collections::BTreeSet;

use plan::{
    Criterion,
    criteria::{GoodputBound, Metric, Op, SpanFilter, Stat, fits, parse_criterion},
    units::Quantity,
};
use record::{Run, units};

use super::{kind_of, subject::Subject};
use crate::{
    exclusions::ExcludedSpans,
    figures::Sampled,
    summary::{CustomRow, Row, SHARE, SUM, Summary, custom, stream::all_goodputs},
};

/// Percentiles that rows of the summary contain.
const PERCENTILES: [&str; 5] = ["p50", "p90", "p95", "p99", "p99.9"];

/// Sets the path of each criterion's figure.
pub(crate) fn add(run: &Run, summary: &mut Summary) {
    add_percentiles(run, summary);
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

/// Adds percentiles that rows lack to the rows that criteria judge.
fn add_percentiles(run: &Run, summary: &mut Summary) {
    let criteria = summary.criteria.iter();
    let criteria = criteria.filter(|judged| judged.measured.is_some());
    let criteria: Vec<Criterion> = criteria
        .filter_map(|judged| parse_criterion(&judged.text).ok())
        .collect();
    for criterion in criteria {
        let Metric::Time(span, Stat::Quantile(q)) = criterion.metric else {
            continue;
        };
        let name = percentile_name(q);
        if PERCENTILES.contains(&name.as_str()) || is_of_a_part(run, &criterion) {
            continue;
        }
        let Some((group, at)) = row(run, summary, &criterion) else {
            continue;
        };
        let shown = summary.request_rows().first().map(|row| row.id);
        let rows = match group {
            "labels" => summary.labels.get_mut(at).into_iter().collect(),
            "iterations" => summary.iterations.get_mut(at).into_iter().collect(),
            "transactions" => summary.transactions.get_mut(at).into_iter().collect(),
            // Tables may show a single label in place of all requests.
            _ => {
                let labels = summary.labels.iter_mut();
                let mut rows: Vec<&mut Row> = labels.filter(|row| Some(row.id) == shown).collect();
                rows.push(&mut summary.all);
                rows
            }
        };
        for row in rows {
            let totals = run.totals.label(row.id);
            let figure = Sampled::from_totals(&totals, kind_of(span)).given_quantile(q);
            if let Some(figure) = figure {
                let figures = row.judged_percentiles.entry(time(span).to_owned());
                figures.or_default().insert(name.clone(), figure);
            }
        }
    }
}

/// Returns whether a criterion judges only part of the run, for which rows have no figures.
fn is_of_a_part(run: &Run, criterion: &Criterion) -> bool {
    let is_of_a_part = criterion.phase.is_some() || criterion.steady;
    is_of_a_part || !ExcludedSpans::new(run, |_| true).is_empty()
}

/// Adds to each row the names of its figures that criteria judge.
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

/// Returns the part of a path within its row: `response/p95` for `/labels/3/response/p95`. `None`
/// if the figure is not in a row.
fn figure_of_row(path: &str) -> Option<&str> {
    let (group, rest) = path.strip_prefix('/')?.split_once('/')?;
    match group {
        "all" => Some(rest),
        "labels" | "iterations" | "transactions" => Some(rest.split_once('/')?.1),
        _ => None,
    }
}

/// Returns the path of the figure that a criterion judges. `None` if the criterion judges part of
/// the run, several labels together, or a figure that the summary does not contain.
fn path(run: &Run, summary: &Summary, criterion: &Criterion) -> Option<String> {
    if is_of_a_part(run, criterion) {
        return None;
    }
    match &criterion.metric {
        Metric::Time(span, stat) => {
            let row = row_path(run, summary, criterion)?;
            Some(format!("{row}/{}", time_path(*span, *stat)))
        }
        Metric::Errors => {
            let row = row_path(run, summary, criterion)?;
            let is_share = matches!(criterion.value, Quantity::Share(_));
            let figure = if is_share { "error_share" } else { "errors" };
            Some(format!("{row}/{figure}"))
        }
        Metric::Rate => Some(format!("{}/per_second", row_path(run, summary, criterion)?)),
        Metric::TokenRate => {
            let row = row_path(run, summary, criterion)?;
            Some(format!("{row}/stream/tokens_per_second"))
        }
        Metric::Goodput(bounds) => goodput(run, bounds, criterion),
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
        SpanFilter::FirstEvent => "first_event",
        SpanFilter::Ttft => "ttft",
        SpanFilter::Gap => "gap",
        SpanFilter::PerToken => "per_token",
    }
}

/// Returns the path of the whole run's goodput. Tables do not contain the goodput of single labels.
fn goodput(run: &Run, bounds: &[GoodputBound], criterion: &Criterion) -> Option<String> {
    if criterion.of.is_some() {
        return None;
    }
    let mut all = all_goodputs(run).into_iter();
    let at = all.position(|known| known == bounds)?;
    let figure = match criterion.value {
        Quantity::PerSecond(_) => "per_second",
        _ => "share",
    };
    Some(format!("/goodput/{at}/{figure}"))
}

/// Returns the path of a statistic within a row.
fn time_path(span: SpanFilter, stat: Stat) -> String {
    let name = time(span);
    let time = if span.is_of_streams() {
        format!("stream/{name}")
    } else {
        name.to_owned()
    };
    match stat {
        Stat::Mean => format!("{time}/mean_ns"),
        Stat::Max => format!("{time}/max"),
        Stat::Quantile(q) => {
            let name = percentile_name(q);
            if PERCENTILES.contains(&name.as_str()) {
                format!("{time}/{}", name.replace('.', ""))
            } else {
                format!("judged_percentiles/{}/{name}", self::time(span))
            }
        }
    }
}

/// Returns the name of a quantile: `p99.9` for 0.999.
pub(crate) fn percentile_name(q: f64) -> String {
    format!("p{}", units::decimal((q * 1e6).round() / 1e4))
}

fn row_path(run: &Run, summary: &Summary, criterion: &Criterion) -> Option<String> {
    Some(match row(run, summary, criterion)? {
        ("all", _) => "/all".to_owned(),
        (group, at) => format!("/{group}/{at}"),
    })
}

/// Returns the group of the row that a criterion judges, and its index in the group. `None` if the
/// criterion judges several labels together.
fn row(run: &Run, summary: &Summary, criterion: &Criterion) -> Option<(&'static str, usize)> {
    let subject = Subject::from_criterion(run, criterion).ok()?;
    let Some(labels) = subject.labels else {
        return Some(("all", 0));
    };
    let [id] = labels.as_slice() else { return None };
    let groups: [(&str, &[Row]); 3] = [
        ("labels", &summary.labels),
        ("iterations", &summary.iterations),
        ("transactions", &summary.transactions),
    ];
    groups.into_iter().find_map(|(group, rows)| {
        let at = rows.iter().position(|row| row.id == *id)?;
        Some((group, at))
    })
}

/// Returns the figure of the instance that decided: the value closest to the bound or farthest
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
    let figures = match stat {
        Some(Stat::Mean) => vec!["values/mean".to_owned(), format!("values/{SHARE}")],
        Some(stat) => vec![format!("values/{}", custom_statistic(stat))],
        None if matches!(criterion.value, Quantity::PerSecond(_)) => vec!["per_second".to_owned()],
        None => vec![format!("values/{SUM}"), "count".to_owned()],
    };
    let has = |row: &CustomRow, figure: &str| match figure.strip_prefix("values/") {
        Some(own) => row.values.as_ref().is_some_and(|all| all.contains_key(own)),
        None => row.values.as_ref().is_none_or(|all| all.contains_key(SUM)),
    };
    let rows = summary.custom.iter().enumerate();
    let mut rows = rows.filter(|(_, row)| row.name == name);
    rows.find_map(|(at, row)| {
        let figure = figures.iter().find(|figure| has(row, figure))?;
        Some(format!("/custom/{at}/{figure}"))
    })
}

fn custom_statistic(stat: Stat) -> String {
    match stat {
        Stat::Mean => "mean".to_owned(),
        Stat::Max => "max".to_owned(),
        Stat::Quantile(q) => percentile_name(q),
    }
}
