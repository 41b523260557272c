//! The newest interval of a run that goes on, for whoever watches it: how far the run is, what was answered, how fast, and which errors
//! there are. It shows nothing, and nothing of it is kept or judged: that is computed of the whole record.

use measure::{Interval, TimeKind, label, label::LabelGroup};
use record::{FirstError, LabelTotals, Model, Run};
use serde::Serialize;

use crate::{
    figures::{self, Sampled},
    summary::Figure,
};

/// So many kinds of errors are told; how many more there are is.
const MOST_KINDS: usize = 50;

/// The newest interval. Times are nanoseconds from the start.
#[derive(Debug, Clone, Serialize)]
pub struct LatestInterval {
    /// Its start and end; the end is how far the run is.
    pub span_ns: (u64, u64),
    /// When the load ends; 0: that is not known.
    pub end_ns: u64,
    /// The phase, where there are several.
    pub phase: Option<PhaseNow>,
    /// Whether users wait for their answers before they go on: then how many there are says more than what is in flight.
    pub closed: bool,
    /// Answers per second, right or wrong; none before there was an interval.
    pub answered_per_second: Option<f64>,
    /// Requests under way at its end.
    pub in_flight: u64,
    /// Virtual users under way at its end.
    pub users: u64,
    /// Which time the percentile is of.
    pub time: &'static str,
    /// 95th percentile; none where nothing ended.
    pub p95: Option<Figure>,
    /// Requests that ended.
    pub ended: u64,
    /// Of them, those that failed or had no complete answer.
    pub errors: u64,
    /// The same as a share; none where nothing ended.
    pub error_share: Option<f64>,
    /// Errors of the run so far.
    pub errors_so_far: u64,
    /// The kinds of errors by endpoint, those that came last first.
    pub kinds: Vec<ErrorKind>,
    /// So many kinds more.
    pub kinds_left_out: usize,
}

/// Where among the phases the run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseNow {
    /// Its name; empty where it has none.
    pub name: String,
    /// From 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

/// One kind of error under one label.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorKind {
    /// In words.
    pub reason: String,
    /// `failed` (an answer came), or the class of the missing answer.
    pub class: String,
    /// The label's text.
    pub label: String,
    /// How often so far.
    pub count: u64,
    /// How often in the newest interval.
    pub now: u64,
    /// The first of them, with what was expected and found where that is known.
    pub first: Option<FirstError>,
}

/// The newest interval of a run; without one, before the start.
#[must_use]
pub fn latest(run: &Run, interval: Option<&Interval>) -> LatestInterval {
    let all = run.totals.label(label::ALL);
    let kind = headline(run, &all);
    let counters = interval.map(|interval| interval.label(label::ALL).counters);
    let counters = counters.unwrap_or_default();
    let (errors, ended) = (counters.errors(), counters.ended());
    let mut kinds = kinds(run, interval);
    let kinds_left_out = kinds.len().saturating_sub(MOST_KINDS);
    kinds.truncate(MOST_KINDS);
    let sampled = interval.map(|interval| timed(run, interval, kind));
    LatestInterval {
        span_ns: interval.map_or((0, 0), |interval| interval.span),
        end_ns: run.manifest.load.end_ns,
        phase: interval.and_then(|interval| phase(run, interval.phase as usize)),
        closed: run.manifest.load.model == Model::Closed,
        answered_per_second: interval.map(|interval| {
            let (from, to) = interval.span;
            figures::per_second(counters.ok + counters.failed, to.saturating_sub(from))
        }),
        in_flight: interval.map_or(0, |interval| interval.run.in_flight.last),
        users: interval.map_or(0, |interval| interval.run.users.last),
        time: kind.name(),
        p95: sampled.and_then(|part| Sampled::from_totals(&part, kind).given_quantile(0.95)),
        ended,
        errors,
        error_share: figures::share_of(errors, ended),
        errors_so_far: all.slot.counters.errors(),
        kinds,
        kinds_left_out,
    }
}

/// The time that a run is judged by first, from what is known of all its requests so far.
#[must_use]
pub fn headline(run: &Run, all: &LabelTotals) -> TimeKind {
    let counters = &all.slot.counters;
    match run.manifest.load.model {
        Model::Closed => TimeKind::Service,
        _ if counters.paced == counters.ended() => TimeKind::Response,
        _ => TimeKind::Iteration,
    }
}

/// Whatever of an interval has that time: all requests, or the iterations.
#[must_use]
pub fn timed(run: &Run, interval: &Interval, kind: TimeKind) -> LabelTotals {
    let mut part = LabelTotals::default();
    if kind == TimeKind::Iteration {
        for label in run.labels_of(LabelGroup::Iteration) {
            part.slot.add(&interval.label(label.id));
        }
    } else {
        part.slot.add(&interval.label(label::ALL));
    }
    part
}

/// Where among its phases a run is; none where there are no several.
#[must_use]
pub fn phase(run: &Run, number: usize) -> Option<PhaseNow> {
    let phases = &run.manifest.phases;
    let phase = phases.get(number).filter(|_| phases.len() > 1)?;
    Some(PhaseNow {
        name: phase.name.clone().unwrap_or_default(),
        number: number + 1,
        of: phases.len(),
    })
}

/// By label and reason. When a reason came last is known of all labels together.
fn kinds(run: &Run, interval: Option<&Interval>) -> Vec<ErrorKind> {
    let mut kinds = Vec::new();
    for cause in figures::errors(run) {
        for under in cause.by_label {
            let newest =
                interval.map(|interval| LabelTotals::from_slot(&interval.label(under.label)));
            let newest = newest.as_ref().map(figures::causes).unwrap_or_default();
            let same = newest.iter().find(|(known, ..)| *known == cause.reason);
            let label = run.label(under.label);
            kinds.push((
                cause.last_ns,
                ErrorKind {
                    reason: cause.reason.clone(),
                    class: cause.class.clone(),
                    label: label.map_or_else(String::new, |label| label.text.clone()),
                    count: under.count,
                    now: same.map_or(0, |(_, _, now)| *now),
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
