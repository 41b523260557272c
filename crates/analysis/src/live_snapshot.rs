//! The newest interval of a running test: progress, rate, times and errors.

use measure::{Interval, label};
use record::{FirstError, LabelTotals, Model, Run};
use serde::Serialize;

use crate::{
    figures::{self, Sampled},
    headline_time::headline_time,
    summary::Figure,
};

const MOST_KINDS: usize = 50;

#[derive(Debug, Clone, Serialize)]
pub struct LatestInterval {
    pub span_ns: (u64, u64),
    pub end_ns: u64,
    pub phase: Option<PhaseNow>,
    /// Whether the model is closed, so that reports show users instead of requests in flight.
    pub closed: bool,
    pub answered_per_second: Option<f64>,
    pub in_flight: u64,
    pub users: u64,
    pub time: &'static str,
    pub p95: Option<Figure>,
    pub ended: u64,
    pub errors: u64,
    pub error_share: Option<f64>,
    pub errors_so_far: u64,
    pub kinds: Vec<ErrorKind>,
    pub kinds_omitted: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseNow {
    pub name: String,
    pub number: usize,
    pub count: usize,
}

#[derive(Debug, Clone, Serialize)]
pub struct ErrorKind {
    pub reason: String,
    pub class: String,
    pub label: String,
    pub count: u64,
    pub now: u64,
    pub first: Option<FirstError>,
}

/// Describes the newest interval, or the state before the start.
#[must_use]
pub fn latest(run: &Run, interval: Option<&Interval>) -> LatestInterval {
    let all = run.totals.label(label::ALL);
    let kind = headline_time(&all);
    let counters = interval.map(|interval| interval.label(label::ALL).counters);
    let counters = counters.unwrap_or_default();
    let (errors, ended) = (counters.errors(), counters.ended());
    let mut kinds = kinds(run, interval);
    let kinds_omitted = kinds.len().saturating_sub(MOST_KINDS);
    kinds.truncate(MOST_KINDS);
    let newest = run.totals.rows.newest(2);
    let mut answered = figures::recent_rates(&newest, |all| all.ok + all.failed);
    let sampled = interval.map(|interval| LabelTotals {
        slot: interval.label(label::ALL),
        ..LabelTotals::default()
    });
    LatestInterval {
        span_ns: interval.map_or((0, 0), |interval| {
            (interval.span.from_ns, interval.span.to_ns)
        }),
        end_ns: run.manifest.load.known_end_ns().unwrap_or(0),
        phase: interval.and_then(|interval| phase(run, interval.phase as usize)),
        closed: run.manifest.load.model == Model::Closed,
        answered_per_second: answered.pop(),
        in_flight: interval.map_or(0, |interval| interval.run.in_flight.last),
        users: interval.map_or(0, |interval| interval.run.users.last),
        time: kind.name(),
        p95: sampled.and_then(|part| Sampled::from_totals(&part, kind).given_quantile(0.95)),
        ended,
        errors,
        error_share: figures::share_of(errors, ended),
        errors_so_far: all.slot.counters.errors(),
        kinds,
        kinds_omitted,
    }
}

#[must_use]
pub fn phase(run: &Run, number: usize) -> Option<PhaseNow> {
    let phases = &run.manifest.phases;
    let phase = phases.get(number).filter(|_| phases.len() > 1)?;
    Some(PhaseNow {
        name: phase.name.clone().unwrap_or_default(),
        number: number + 1,
        count: phases.len(),
    })
}

/// Returns errors by label and reason.
fn kinds(run: &Run, interval: Option<&Interval>) -> Vec<ErrorKind> {
    let mut kinds = Vec::new();
    for cause in figures::errors(run) {
        for under in cause.by_label {
            let newest =
                interval.map(|interval| LabelTotals::from_slot(&interval.label(under.label)));
            let newest = newest.as_ref().map(figures::causes).unwrap_or_default();
            let same = newest.iter().find(|known| known.reason == cause.reason);
            let label = run.label(under.label);
            kinds.push((
                cause.last_ns,
                ErrorKind {
                    reason: cause.reason.clone(),
                    class: cause.class.clone(),
                    label: label.map_or_else(String::new, |label| label.text.clone()),
                    count: under.count,
                    now: same.map_or(0, |now| now.count),
                    first: under.first,
                },
            ));
        }
    }
    kinds.sort_by(|(a_last, a), (b_last, b)| {
        let newest_first = (b.now > 0, b_last, b.count).cmp(&(a.now > 0, a_last, a.count));
        newest_first.then_with(|| (&a.label, &a.reason).cmp(&(&b.label, &b.reason)))
    });
    kinds.into_iter().map(|(_, kind)| kind).collect()
}
