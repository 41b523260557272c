//! Key figures: load, responses, errors, percentiles, maximum.

use crate::{
    figures::per_second,
    summary::{Deciding, Figure, Stats, Summary},
};
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
    if let Some(stats) = summary.headline_stats() {
        figures.extend(times(stats));
        let named = figures.iter_mut().find(|figure| figure.name == "p50");
        if let Some(first) = named {
            let of = summary.headline_name().to_owned();
            first.note = Some(match first.note.take() {
                Some(note) => format!("{of}; {note}"),
                None => of,
            });
        }
    }
    figures.extend(summary.headline_iteration().map(|(row, stats)| {
        let of = (row.text != DEFAULT).then(|| row.text.clone());
        let unpaused = row.unpaused.as_ref();
        let without = unpaused.map(|stats| format!("{} without pauses", stats.p95.value()));
        let notes: Vec<String> = [of, without, interval(stats.p95)]
            .into_iter()
            .flatten()
            .collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        figure("iteration p95", stats.p95.value(), note)
    }));
    figures
}

/// Returns responses per second. For an imported run, returns the rate that the original tool
/// reported.
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

fn times(stats: &Stats) -> Vec<Deciding> {
    let times = [
        ("p50", stats.p50),
        ("p95", stats.p95),
        ("p99", stats.p99),
        ("largest", stats.max),
    ];
    let reported = times.into_iter().filter(|(_, time)| !time.unreported);
    reported
        .map(|(name, time)| figure(name, time.value(), interval(time)))
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
