//! Decides whether a verdict holds despite the load generator's errors. A pass holds if it is still
//! a pass when every affected request counts as slow. A failure on times does not hold, because a
//! burst after a stall slows the server down.

use measure::{
    Histogram, NoAnswer, OutcomeClass, TimeKind,
    confidence::{self, Standing},
    label,
    slot::Counters,
};
use plan::{
    Criterion,
    criteria::{Metric, Op, Stat},
    units::SECOND,
};

use super::{
    Judgement,
    bound::bound,
    measured::{CriterionScope, kind_of},
};
use crate::figures::{ArrivalLedger, Sampled};
use record::{Model, Run};

const LOOK_NS: u64 = SECOND;

struct Harm {
    late: Histogram,
    stalled: Histogram,
    unsent: f64,
}

impl Harm {
    fn new(scope: &CriterionScope<'_>, arrivals: &ArrivalLedger) -> Harm {
        let all = scope.all_requests();
        let of = |kind| {
            let times = all.slot.histogram(kind, OutcomeClass::Ok);
            times.cloned().unwrap_or_default()
        };
        Harm {
            late: of(TimeKind::Lateness),
            stalled: of(TimeKind::Stall),
            unsent: unsent_share(arrivals),
        }
    }

    fn worst_ns(&self) -> u64 {
        let worst = |of: &Histogram| of.max().unwrap_or(0);
        worst(&self.late).saturating_add(worst(&self.stalled))
    }

    fn bounds(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        const QUANTILES: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 1.0];
        QUANTILES.into_iter().map(|q| {
            let [late, stalled] = [&self.late, &self.stalled].map(|of| of.quantile(q).unwrap_or(0));
            let share = |of: &Histogram, bound| of.above(bound) as f64 / of.count().max(1) as f64;
            let beyond = share(&self.late, late) + share(&self.stalled, stalled);
            (late.saturating_add(stalled), beyond.min(1.0))
        })
    }
}

fn unsent_share(arrivals: &ArrivalLedger) -> f64 {
    let missing = arrivals.unsent.unwrap_or(0) + arrivals.unknown;
    missing as f64 / arrivals.started.max(1) as f64
}

pub(super) fn worst_ns(run: &Run) -> u64 {
    let all = run.totals.label(label::ALL);
    let worst = |kind| {
        let times = all.slot.histogram(kind, OutcomeClass::Ok);
        times.and_then(Histogram::max).unwrap_or(0)
    };
    worst(TimeKind::Lateness).saturating_add(worst(TimeKind::Stall))
}

/// Returns whether a result holds despite the load generator's errors. `None` if the criterion
/// concerns the load generator itself.
pub(super) fn robustness(
    run: &Run,
    criterion: &Criterion,
    judgement: Judgement,
    elapsed_ns: u64,
    arrivals: &ArrivalLedger,
) -> Option<bool> {
    let holds = match judgement {
        Judgement::Pass => true,
        Judgement::Fail => false,
        Judgement::Inconclusive => return None,
    };
    let Ok(scope) = CriterionScope::new(run, criterion, elapsed_ns) else {
        return Some(false);
    };
    // Proving that a figure is large requires a lower bound. Proving that it is small requires an
    // upper bound.
    let is_small = match criterion.op {
        Op::Less | Op::LessOrEqual => holds,
        Op::Greater | Op::GreaterOrEqual => !holds,
    };
    match &criterion.metric {
        Metric::Time(span, stat) => {
            let samples = Sampled::from_totals(&scope.part(), kind_of(*span));
            let harm = Harm::new(&scope, arrivals);
            Some(is_small && stays_small(&scope, &samples, *stat, bound(criterion) as u64, &harm))
        }
        Metric::Errors => {
            let share = unsent_share(arrivals);
            Some(errors_stand(&scope, criterion, holds, is_small, share))
        }
        // A late load generator receives fewer tokens per second, never more.
        Metric::TokenRate => Some(!is_small),
        // Requests that were never sent may be missing from the share.
        Metric::Goodput(_) => Some(!is_small && came_as_planned(run, arrivals)),
        Metric::Rate => {
            // A stalled load generator sends and counts fewer requests, never more.
            let part = scope.part();
            let own = own_faults(&part.slot.counters, false);
            let rate = scope.per_second(part.slot.counters.ended().saturating_sub(own));
            Some(!is_small && criterion.op.holds(rate, bound(criterion)) == holds)
        }
        Metric::Unsent | Metric::LatenessP99 => None,
        // A late load generator neither loses nor duplicates messages.
        Metric::Messages(_) => Some(true),
        Metric::Server(..) => Some(came_as_planned(run, arrivals)),
        Metric::InFlight | Metric::Custom(..) => Some(false),
    }
}

/// Returns whether the load arrived as planned, so that server metrics are unaffected.
fn came_as_planned(run: &Run, arrivals: &ArrivalLedger) -> bool {
    let all = run.totals.label(label::ALL);
    // A disturbed load generator changes how many requests the users of a closed loop send.
    let is_open = run.manifest.load.model == Model::Open;
    let sent = arrivals.unsent == Some(0) && arrivals.unknown == 0;
    let sent = sent && own_faults(&all.slot.counters, false) == 0;
    is_open && sent && worst_ns(run) < LOOK_NS
}

/// Returns whether a time stays below a limit if all affected and unsent requests count as slow.
fn stays_small(
    scope: &CriterionScope<'_>,
    samples: &Sampled,
    stat: Stat,
    limit: u64,
    harm: &Harm,
) -> bool {
    let times = if samples.kind() == TimeKind::Iteration {
        let all = Sampled::from_totals(&scope.all_requests(), TimeKind::Service);
        all.count().div_ceil(samples.count().max(1)).max(1)
    } else {
        1
    };
    let below = |off: u64| limit.saturating_sub(off.saturating_mul(times));
    let unsent = (samples.count() as f64 * harm.unsent).ceil() as u64;
    let worst = below(harm.worst_ns());
    match stat {
        Stat::Quantile(q) if q < 1.0 => {
            let n = samples.count() + unsent;
            let inflation = scope.inflation(samples.kind(), q, limit);
            let is_below =
                |over: u64| confidence::standing(n, over.min(n), inflation, q) == Standing::Below;
            // The sending times of a single label's requests are unknown, so all of them may be
            // affected.
            let of_label = scope.is_of_labels();
            is_below(samples.above(worst) + unsent)
                || !of_label
                    && harm.bounds().any(|(off, beyond)| {
                        let touched = samples.count() as f64 * beyond * times as f64;
                        is_below(samples.above(below(off)) + touched.ceil() as u64 + unsent)
                    })
        }
        Stat::Quantile(_) | Stat::Max => unsent == 0 && samples.above(worst) == 0,
        Stat::Mean => unsent == 0 && samples.mean_ns().is_some_and(|mean| mean < worst as f64),
    }
}

/// Returns the number of unanswered requests that the load generator caused.
fn own_faults(counters: &Counters, with_timeouts: bool) -> u64 {
    let faults = counters.faults.0.iter();
    let own = faults.filter(|(fault, _)| match fault.class() {
        NoAnswer::Generator => true,
        NoAnswer::Timeout => with_timeouts,
        _ => false,
    });
    own.map(|(_, n)| n).sum()
}

fn errors_stand(
    scope: &CriterionScope<'_>,
    criterion: &Criterion,
    holds: bool,
    is_small: bool,
    unsent_share: f64,
) -> bool {
    let part = scope.part();
    let counters = &part.slot.counters;
    let unsent = counters.ended() as f64 * unsent_share;
    let errors = (counters.errors()) as f64;
    let errors = if is_small {
        errors + unsent
    } else {
        errors - own_faults(counters, true) as f64
    };
    let ended = counters.ended() as f64 + unsent;
    let value = match criterion.value {
        plan::units::Quantity::Share(_) => errors / ended.max(1.0),
        _ => errors,
    };
    criterion.op.holds(value, bound(criterion)) == holds
}
