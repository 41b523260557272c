//! Key figures: load, responses, errors, percentiles, maximum.

use crate::{
    figures::per_second,
    summary::{Deciding, Figure, Row, Stats, Summary},
};
use measure::TimeKind;
use plan::work::DEFAULT;
use record::units;

pub(super) fn key_figures(summary: &Summary) -> Vec<Deciding> {
    let mut figures = Vec::new();
    if !summary.run.load.is_empty() {
        figures.push(figure("load", summary.run.load.clone(), None));
    }
    figures.extend(answered(summary));
    figures.extend(summary.all.error_share.map(|share| {
        let note = format!(
            "{} of {}",
            units::count(summary.all.errors),
            units::count(summary.all.count)
        );
        figure("errors", units::share(share), Some(note))
    }));
    let Some((row, stats)) = summary.headline_stats() else {
        return figures;
    };
    figures.extend(times(stats, unpaused(summary, row)));
    let named = figures.iter_mut().find(|figure| figure.name == "p50");
    if let Some(first) = named {
        let mut of = summary.headline_name().to_owned();
        if summary.headline() == TimeKind::Iteration && row.text != DEFAULT {
            of = format!("{of} of {}", row.text);
        }
        first.note = Some(match first.note.take() {
            Some(note) => format!("{of}; {note}"),
            None => of,
        });
    }
    figures
}

/// Returns responses per second. For an imported run, returns the rate that its tool reported.
fn answered(summary: &Summary) -> Option<Deciding> {
    if summary.run.imported_from.is_some() {
        let reported = summary.all.reports("per_second");
        return reported.then(|| figure("requests/s", units::rate(summary.all.per_second), None));
    }
    let answered = summary.requests.ok + summary.requests.failed;
    let rate = per_second(answered, summary.run.elapsed_ns);
    let best = summary.trend.as_ref().map(|trend| {
        let best = units::rate(trend.best.ok_per_second);
        format!("best quarter of the load: {best}/s ok")
    });
    (summary.requests.issued > 0).then(|| figure("answered/s", units::rate(rate), best))
}

fn unpaused<'a>(summary: &Summary, row: &'a Row) -> Option<&'a Stats> {
    let stats = row.unpaused.as_ref();
    stats.filter(|_| summary.headline() == TimeKind::Iteration)
}

fn times(stats: &Stats, unpaused: Option<&Stats>) -> Vec<Deciding> {
    let without = |of: fn(&Stats) -> Figure| unpaused.map(of);
    let times = [
        ("p50", stats.p50, without(|stats| stats.p50)),
        ("p95", stats.p95, without(|stats| stats.p95)),
        ("p99", stats.p99, without(|stats| stats.p99)),
        ("largest", stats.max, without(|stats| stats.max)),
    ];
    let reported = times.into_iter().filter(|(_, time, _)| !time.unreported);
    reported
        .map(|(name, time, without)| {
            let without = without.map(|time| format!("{} without pauses", time.value()));
            let notes: Vec<String> = without.into_iter().chain(interval(time)).collect();
            let note = (!notes.is_empty()).then(|| notes.join("; "));
            figure(name, time.value(), note)
        })
        .collect()
}

fn interval(time: Figure) -> Option<String> {
    let interval = time.thin?.interval()?;
    Some(format!("few samples: {interval}"))
}

fn figure(name: &str, value: String, note: Option<String>) -> Deciding {
    Deciding {
        name: name.to_owned(),
        value,
        note,
    }
}
