//! Recovery of the target: requests in flight at the end of the load, and how long responses stayed
//! slow after a peak.

use std::ops::Range;

use measure::{TimeKind, TimeSpan, slot::Counters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PhaseRow;
use crate::{
    figures::{Figure, Sampled, per_second},
    moments::Moment,
};
use record::{LabelTotals, Model, PhaseFacts, Run};

const WORTH_TELLING_NS: u64 = 1_000_000_000;
const MORE_LOAD: f64 = 1.2;
/// A service counts as recovered if its p95 is at most this multiple of the earlier p95, or within
/// the earlier spread.
const AS_BEFORE: f64 = 1.5;
/// A service counts as recovered only if its share of errors has grown by at most this much.
const MORE_ERRORS: f64 = 0.01;
/// Minimum duration of a recovery, unless the load ends before, in nanoseconds.
const HELD_NS: u64 = 10_000_000_000;
const FEWEST: u64 = 20;
const QUARTILED: usize = 5;
/// After a peak, a load up to this multiple of the earlier load counts as equal.
const SAME_LOAD: f64 = 1.1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    /// Recovery after the load. `None` if the last request ended within a second, or if users send
    /// requests in sequence.
    pub after_load: Option<AfterLoad>,
    /// Recovery after the phase with the highest load. `None` if no phase is clearly a peak.
    pub peak: Option<PeakRecovery>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AfterLoad {
    pub from_ns: u64,
    pub in_flight: u64,
    /// Time from the end of the load to the last completion.
    pub drained_ns: u64,
    pub ended: u64,
    /// Requests in `ended` that failed or had no complete response.
    pub errors: u64,
    pub p95: Option<Figure>,
}

/// Response times after a peak, compared with those before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakRecovery {
    /// Index of the peak in `phases`.
    pub phase: usize,
    pub end_ns: u64,
    pub issued_per_second: f64,
    /// Requests answered per second during the peak, successful or failed.
    pub answered_per_second: f64,
    pub in_flight: u64,
    /// 95th percentile of the headline time in the phase before the peak.
    pub before: Figure,
    /// Maximum p95 that counts as recovered: the larger of 1.5 times `before` and the upper outlier
    /// limit of that phase's points.
    pub bound_ns: u64,
    /// Maximum share of errors that counts as recovered.
    pub error_bound: f64,
    /// Time from the end of the peak until the service has recovered and stays recovered for 10 s.
    /// 0 means immediately, and `None` means never or unknown.
    pub settled_ns: Option<u64>,
    /// Time from the end of the peak until as few requests are in flight as before the peak. `None`
    /// if this did not happen.
    pub drained_ns: Option<u64>,
    /// Time from the end of the peak to the end of the load. 0 if no load followed the peak.
    pub observed_ns: u64,
    /// Whether the service had not recovered when the load ended.
    pub slow_until_end: bool,
    /// Whether the overload sustained itself: the service stayed slow for at least 10 s, although
    /// the load was no higher than before the peak.
    pub is_metastable: bool,
}

pub(super) fn measure(
    run: &Run,
    moments: &[Moment],
    phases: &[PhaseRow],
    headline: TimeKind,
    elapsed_ns: u64,
) -> Option<Recovery> {
    if run.manifest.load.model != Model::Open || !run.is_whole() {
        return None;
    }
    let recovery = Recovery {
        after_load: after_load(run, elapsed_ns).filter(|_| headline == TimeKind::Response),
        peak: peak(run, moments, phases, headline),
    };
    (recovery.after_load.is_some() || recovery.peak.is_some()).then_some(recovery)
}

fn after_load(run: &Run, elapsed_ns: u64) -> Option<AfterLoad> {
    let from_ns = run.manifest.load.end_ns;
    let drained_ns = elapsed_ns.saturating_sub(from_ns);
    if drained_ns < WORTH_TELLING_NS {
        return None;
    }
    let (mut during, mut after) = (Counters::default(), Counters::default());
    for row in run.totals.rows.iter() {
        let part = if row.span.from_ns < from_ns {
            &mut during
        } else {
            &mut after
        };
        part.add(&row.all);
    }
    Some(AfterLoad {
        from_ns,
        in_flight: in_flight(&during),
        drained_ns,
        ended: after.ended(),
        errors: after.errors(),
        p95: Sampled::from_totals(&run.totals.after_load, TimeKind::Response).given_quantile(0.95),
    })
}

fn in_flight(counted: &Counters) -> u64 {
    counted.issued.saturating_sub(counted.ended())
}

fn peak(
    run: &Run,
    moments: &[Moment],
    rows: &[PhaseRow],
    headline: TimeKind,
) -> Option<PeakRecovery> {
    let phases = &run.manifest.phases;
    let phase = highest(phases)?;
    let (start_ns, end_ns) = (phases[phase].start_ns, phases[phase].end_ns);
    let row = rows.get(phase.checked_sub(1)?)?;
    let before = row.p95.filter(|p95| !p95.too_few)?;
    let quiet = phases[phase - 1].start_ns..start_ns;
    let usual = chunks(moments, quiet.clone(), headline);
    let as_before = before.ns? as f64 * AS_BEFORE;
    let bound_ns = fence(&usual).map_or(as_before, |fence| fence.max(as_before)) as u64;
    let error_bound = (errors(&usual) + MORE_ERRORS).min(1.0);
    let chunks = chunks(moments, end_ns..u64::MAX, headline);
    let is_slow =
        |chunk: &Chunk| chunk.p95.ns.is_none_or(|ns| ns > bound_ns) || chunk.share() > error_bound;
    let settled_ns = held(&chunks, headline, is_slow).map(|at| {
        if at == 0 {
            0
        } else {
            chunks[at].span.from_ns - end_ns
        }
    });
    // Without load after the peak, slow responses are remnants of the peak.
    let load_behind = phases[phase + 1..].iter().rev().find(|p| p.planned > 0);
    let slow_until_end = settled_ns.is_none()
        && load_behind.is_some_and(|following| {
            let last = chunks.last().filter(|chunk| is_slow(chunk));
            last.is_some_and(|chunk| {
                chunk.span.to_ns + (chunk.span.to_ns - chunk.span.from_ns) >= following.end_ns
            })
        });
    let no_more_load = phases[phase + 1..]
        .iter()
        .all(|following| rate(following) <= rate(&phases[phase - 1]) * SAME_LOAD);
    let observed_ns = load_behind.map_or(0, |following| following.end_ns - end_ns);
    let is_metastable = slow_until_end && no_more_load && observed_ns >= HELD_NS;
    let (mut until_end, mut in_peak) = (Counters::default(), Counters::default());
    for row in run
        .totals
        .rows
        .iter()
        .filter(|row| row.span.from_ns < end_ns)
    {
        until_end.add(&row.all);
        if row.span.from_ns >= start_ns {
            in_peak.add(&row.all);
        }
    }
    let length_ns = end_ns - start_ns;
    Some(PeakRecovery {
        phase,
        end_ns,
        issued_per_second: per_second(in_peak.issued, length_ns),
        answered_per_second: per_second(in_peak.ok + in_peak.failed, length_ns),
        in_flight: in_flight(&until_end),
        before,
        bound_ns,
        error_bound,
        settled_ns,
        drained_ns: drained(moments, &quiet, end_ns)
            .filter(|ns| observed_ns == 0 || *ns <= observed_ns),
        observed_ns,
        slow_until_end,
        is_metastable,
    })
}

/// Returns the first recovered point for which the following 10 s also count as recovered.
fn held(chunks: &[Chunk], headline: TimeKind, is_slow: impl Fn(&Chunk) -> bool) -> Option<usize> {
    (0..chunks.len()).find(|first| {
        let until_ns = chunks[*first].span.from_ns + HELD_NS;
        let rest = &chunks[*first..];
        let window = rest
            .iter()
            .take_while(|chunk| chunk.span.from_ns < until_ns);
        let mut pooled = LabelTotals::default();
        window.for_each(|chunk| pooled.slot.add(&chunk.part.slot));
        let whole = Chunk::new(rest[0].span, pooled, headline);
        !is_slow(&rest[0]) && whole.is_some_and(|whole| !is_slow(&whole))
    })
}

/// Returns the time from the end of the peak until the mean number of requests in flight is at most
/// the earlier maximum.
fn drained(moments: &[Moment], quiet: &Range<u64>, end_ns: u64) -> Option<u64> {
    let in_flight = |moment: &Moment| moment.level(|row| row.run.in_flight);
    let usual = moments.iter().filter(|m| is_in(m, quiet));
    let most = usual.filter_map(in_flight).map(|(_, max)| max).max()?;
    let mut following = moments.iter().filter(|m| m.span.from_ns >= end_ns);
    let first = following.find(|m| in_flight(m).is_some_and(|(mean, _)| mean <= most as f64))?;
    Some(first.span.from_ns - end_ns)
}

fn is_in(moment: &Moment, within: &Range<u64>) -> bool {
    moment.span.from_ns >= within.start && moment.span.to_ns <= within.end
}

fn fence(usual: &[Chunk]) -> Option<f64> {
    let mut p95s: Vec<u64> = usual.iter().filter_map(|chunk| chunk.p95.ns).collect();
    if p95s.len() < QUARTILED {
        return None;
    }
    p95s.sort_unstable();
    let quartile = |q: usize| p95s[(p95s.len() - 1) * q / 4] as f64;
    let (low, high) = (quartile(1), quartile(3));
    Some(high + 1.5 * (high - low))
}

fn errors(usual: &[Chunk]) -> f64 {
    let ended: u64 = usual.iter().map(|chunk| chunk.ended).sum();
    let bad: u64 = usual.iter().map(|chunk| chunk.bad).sum();
    bad as f64 / ended.max(1) as f64
}

fn rate(phase: &PhaseFacts) -> f64 {
    per_second(phase.planned, phase.end_ns.saturating_sub(phase.start_ns))
}

fn highest(phases: &[PhaseFacts]) -> Option<usize> {
    let by_rate = |a: &usize, b: &usize| rate(&phases[*a]).total_cmp(&rate(&phases[*b]));
    let phase = (0..phases.len()).max_by(by_rate)?;
    let before = phases.get(phase.checked_sub(1)?)?;
    let following = phases.get(phase + 1)?;
    let most = rate(before).max(rate(following));
    (rate(before) > 0.0 && rate(&phases[phase]) >= most * MORE_LOAD).then_some(phase)
}

struct Chunk {
    span: TimeSpan,
    part: LabelTotals,
    p95: Figure,
    ended: u64,
    bad: u64,
}

impl Chunk {
    fn new(span: TimeSpan, part: LabelTotals, headline: TimeKind) -> Option<Chunk> {
        let samples = Sampled::from_totals(&part, headline);
        if samples.count() < FEWEST {
            return None;
        }
        let p95 = samples.quantile(0.95)?;
        let counters = &part.slot.counters;
        let (ended, bad) = (counters.ended(), counters.errors());
        Some(Chunk {
            span,
            p95,
            ended,
            bad,
            part,
        })
    }

    fn share(&self) -> f64 {
        self.bad as f64 / self.ended.max(1) as f64
    }
}

fn chunks(moments: &[Moment], within: Range<u64>, headline: TimeKind) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let (mut pooled, mut start_ns) = (LabelTotals::default(), None);
    for moment in moments.iter().filter(|m| is_in(m, &within)) {
        let part = moment.part(headline);
        if part.slot.counters.ended() == 0 && start_ns.is_none() {
            continue;
        }
        let from_ns = *start_ns.get_or_insert(moment.span.from_ns);
        pooled.slot.add(&part.slot);
        let span = TimeSpan::new(from_ns, moment.span.to_ns);
        if let Some(chunk) = Chunk::new(span, pooled.clone(), headline) {
            chunks.push(chunk);
            (pooled, start_ns) = (LabelTotals::default(), None);
        }
    }
    chunks
}
