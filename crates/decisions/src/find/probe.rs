//! Evaluation of a probe: violations of each criterion by second.

use std::collections::BTreeMap;

use measure::{TimeKind, TimeSpan};
use plan::{
    Criterion,
    criteria::{Metric, Op, Stat},
    units::Quantity,
};
use record::{Run, history::Curve};

use super::search::ViolationTally;
pub use analysis::steady::Flow;
use analysis::{
    moments, steady,
    summary::Summary,
    verdict::{Judgement, Subject, bound, kind_of},
};

#[must_use]
pub fn allowed(criterion: &Criterion) -> Option<f64> {
    if !matches!(criterion.op, Op::Less | Op::LessOrEqual) {
        return None;
    }
    let share = match (&criterion.metric, criterion.value) {
        (Metric::Time(_, Stat::Quantile(q)), _) => 1.0 - q,
        (Metric::Errors, Quantity::Share(share)) => share,
        _ => return None,
    };
    (share > 0.0 && share < 1.0).then_some(share)
}

#[must_use]
pub fn tallies(run: &Run, summary: &Summary, criteria: &[Criterion]) -> Vec<ViolationTally> {
    let judged = |criterion: &Criterion| {
        let mut judged = summary.criteria.iter();
        judged.find(|judged| judged.text == criterion.text)
    };
    let tally = |criterion: &Criterion| match allowed(criterion) {
        Some(allowed) => ViolationTally {
            allowed,
            seconds: seconds(run, criterion),
        },
        None => ViolationTally {
            allowed: 0.5,
            seconds: match judged(criterion).map(|judged| (judged.judgement, judged.margin)) {
                Some((Judgement::Pass, _)) => vec![(1.0, 0.0)],
                Some((Judgement::Fail, _)) => vec![(1.0, 1.0)],
                // An inconclusive result counts as a pass or a failure, depending on its side of
                // the bound.
                Some((Judgement::Inconclusive, Some(margin))) => {
                    vec![(1.0, f64::from(u8::from(margin < 0.0)))]
                }
                Some((Judgement::Inconclusive, None)) | None => Vec::new(),
            },
        },
    };
    criteria.iter().map(tally).collect()
}

#[must_use]
pub fn throughput(run: &Run, phase: &str) -> Option<f64> {
    let index = run.manifest.phases_named(phase).next()?;
    let phase = run.manifest.phases.get(index as usize)?;
    let ended_ns = run.manifest.end.as_ref().map_or(phase.end_ns, |end| end.ns);
    let until_ns = phase.end_ns.min(ended_ns);
    let (mut ok, mut ns) = (0, 0);
    for (_, point) in run.totals.history.all.points() {
        let TimeSpan {
            from_ns: from,
            to_ns: to,
        } = point.span;
        if phase.start_ns <= from && to <= until_ns {
            ok += point.part.slot.counters.ok;
            ns += to - from;
        }
    }
    (ns > 0).then(|| ok as f64 * 1e9 / ns as f64)
}

/// Returns the arrivals and responses in a phase with this planned rate. `None` if the search
/// varies the number of users.
#[must_use]
pub fn flow(run: &Run, phase: &str, planned: f64) -> Option<Flow> {
    let index = run.manifest.phases_named(phase).next()?;
    steady::of_phase(run, &moments::collect(run), index as usize, planned)
}

type Sums = BTreeMap<u64, (f64, f64)>;

fn seconds(run: &Run, criterion: &Criterion) -> Vec<(f64, f64)> {
    let Ok(subject) = Subject::from_criterion(run, criterion) else {
        return Vec::new();
    };
    let sums = match &criterion.metric {
        Metric::Time(span, _) => slow_ones(run, &subject, kind_of(*span), bound(criterion) as u64),
        _ => failed_ones(run, &subject),
    };
    sums.into_values().collect()
}

fn slow_ones(run: &Run, subject: &Subject, kind: TimeKind, bound: u64) -> Sums {
    let mut sums = Sums::new();
    let of_kind = run.totals.windows.iter();
    for (_, windows) in of_kind.filter(|((id, known), _)| *known == kind && subject.has_label(*id))
    {
        for window in windows.counted(bound, subject.phases.as_deref()) {
            let (second, n, over) = (window.number, window.samples, window.exceedances);
            let sum = sums.entry(second).or_default();
            *sum = (sum.0 + n, sum.1 + over);
        }
    }
    sums
}

fn failed_ones(run: &Run, subject: &Subject) -> Sums {
    let mut sums = Sums::new();
    let history = &run.totals.history;
    let curves: Vec<&Curve> = match &subject.labels {
        None => vec![&history.all],
        Some(ids) => ids.iter().filter_map(|id| history.labels.get(id)).collect(),
    };
    let from_ns = subject.phases.as_ref().and_then(|phases| {
        let index = *phases.first()? as usize;
        Some(run.manifest.phases.get(index)?.start_ns)
    });
    for (second, point) in curves.into_iter().flat_map(Curve::points) {
        if point.span.from_ns < from_ns.unwrap_or(0) {
            continue;
        }
        let counters = &point.part.slot.counters;
        let sum = sums.entry(second).or_default();
        *sum = (
            sum.0 + counters.ended() as f64,
            sum.1 + counters.errors() as f64,
        );
    }
    sums
}
