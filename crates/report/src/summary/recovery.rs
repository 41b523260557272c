//! How the target came back to rest: what was still under way when the load ended and how long that took, and, where the load has
//! a peak with less load behind it, how long answers stayed slow after the peak.

use measure::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Figure, Sampled, per_second};
use crate::{
    record::{Model, Row, Run, State},
    series::moments::Moment,
};

/// Answers are as fast as before when their p95 is at most so many times that of before.
const AS_BEFORE: f64 = 1.5;
/// Whoever is done sooner after the load needs no telling.
const WORTH_TELLING_NS: u64 = 1_000_000_000;
/// Points with fewer samples do not tell.
const FEWEST: u64 = 20;

/// How the target came back to rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    /// When the load ended, in nanoseconds from the start.
    pub load_end_ns: u64,
    /// Requests under way at that moment.
    pub backlog: u64,
    /// From then to the last completion.
    pub drained_ns: u64,
    /// Requests that ended after the load, in whatever way.
    pub ended: u64,
    /// Those of them that failed or had no complete answer.
    pub errors: u64,
    /// 95th percentile of their response times, or where there are none of their service times; none of nothing.
    pub p95: Option<Figure>,
    /// What followed the phase with the highest load; none where nothing came before it, or nothing after it.
    pub peak: Option<Peak>,
}

/// How fast answers were after a peak, beside how fast they were before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// The phase with the highest planned rate, in numbers from 0.
    pub phase: usize,
    /// When it ended, in nanoseconds from the start.
    pub end_ns: u64,
    /// Requests begun in it, per second.
    pub issued_per_second: f64,
    /// Requests answered in it as they should be, per second.
    pub ok_per_second: f64,
    /// Requests under way at its end.
    pub backlog: u64,
    /// 95th percentile of the headline time in the phase before it.
    pub before: Figure,
    /// From the end of the peak to the start of the first point from which on no p95 was above 1.5 times that; none: it did not
    /// come to that.
    pub settled_ns: Option<u64>,
}

impl Recovery {
    /// Whether more is to be said than that the last answers came when the load ended.
    #[must_use]
    pub fn is_worth_telling(&self) -> bool {
        self.peak.is_some() || (self.ended > 0 && self.drained_ns >= WORTH_TELLING_NS)
    }
}

pub(super) fn of(
    run: &Run,
    moments: &[Moment<'_>],
    headline: Kind,
    elapsed_ns: u64,
) -> Option<Recovery> {
    let load = &run.manifest.load;
    if load.model != Model::Open || run.manifest.state != State::Complete {
        return None;
    }
    let load_end_ns = load.end_ns;
    let rows = run.totals.rows.values();
    let (during, after): (Vec<_>, Vec<_>) = rows.partition(|row| row.span.0 < load_end_ns);
    let ended = after.iter().map(|row| row.all.ended()).sum();
    let failed = after
        .iter()
        .map(|row| row.all.failed + row.all.without_answer());
    let answers = &run.totals.after_load;
    let p95 = [Kind::Response, Kind::Service]
        .into_iter()
        .find_map(|kind| Sampled::of(answers, kind).given_quantile(0.95));
    Some(Recovery {
        load_end_ns,
        backlog: under_way(&during),
        drained_ns: elapsed_ns.saturating_sub(load_end_ns),
        ended,
        errors: failed.sum(),
        p95,
        peak: peak(run, moments, headline),
    })
}

/// Requests begun and not ended in these intervals, which are all from the start of the run on.
fn under_way(rows: &[&Row]) -> u64 {
    let issued: u64 = rows.iter().map(|row| row.all.issued).sum();
    let ended: u64 = rows.iter().map(|row| row.all.ended()).sum();
    issued.saturating_sub(ended)
}

fn peak(run: &Run, moments: &[Moment<'_>], headline: Kind) -> Option<Peak> {
    let phases = &run.manifest.phases;
    let rate = |i: usize| {
        let length = phases[i].end_ns.saturating_sub(phases[i].start_ns);
        phases[i].planned as f64 / length.max(1) as f64
    };
    let phase = (0..phases.len()).max_by(|a, b| rate(*a).total_cmp(&rate(*b)))?;
    let before = phase.checked_sub(1)?;
    if phase + 1 == phases.len() || rate(before) <= 0.0 {
        return None;
    }
    let p95 = |moment: &Moment<'_>| {
        let samples = Sampled::of(moment.part(headline), headline);
        (samples.count() >= FEWEST).then(|| samples.quantile(0.95))?
    };
    let mut quiet = crate::record::Part::default();
    let (from_ns, to_ns) = (phases[before].start_ns, phases[before].end_ns);
    for moment in moments {
        if moment.span.0 >= from_ns && moment.span.1 <= to_ns {
            quiet.slot.add(&moment.part(headline).slot);
        }
    }
    let baseline = Sampled::of(&quiet, headline).given_quantile(0.95)?;
    let bound = baseline.ns? as f64 * AS_BEFORE;
    let end_ns = phases[phase].end_ns;
    let slow = |moment: &Moment<'_>| {
        p95(moment).is_some_and(|p95| p95.ns.is_none_or(|ns| ns as f64 > bound))
    };
    let known: Vec<&Moment<'_>> = moments
        .iter()
        .filter(|moment| moment.span.0 >= end_ns && p95(moment).is_some())
        .collect();
    let settled = match known.iter().rposition(|moment| slow(moment)) {
        None => known.first(),
        Some(last) => known.get(last + 1),
    };
    known.first()?;
    let rows = run.totals.rows.values();
    let until_end: Vec<&Row> = rows.filter(|row| row.span.0 < end_ns).collect();
    let in_peak = || {
        let rows = until_end.iter();
        rows.filter(|row| row.span.0 >= phases[phase].start_ns)
    };
    let length_ns = end_ns - phases[phase].start_ns;
    Some(Peak {
        phase,
        end_ns,
        issued_per_second: per_second(in_peak().map(|row| row.all.issued).sum(), length_ns),
        ok_per_second: per_second(in_peak().map(|row| row.all.ok).sum(), length_ns),
        backlog: under_way(&until_end),
        before: baseline,
        settled_ns: settled.map(|moment| moment.span.0 - end_ns),
    })
}
