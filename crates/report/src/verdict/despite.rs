//! Whether a criterion came out as it did whatever the generator did wrong: of an invalid measurement, the one thing that can still be
//! said of a server. Every time may have been longer or shorter by as much as the generator was late or held up at the worst; what was
//! never sent may have been slower than everything, or faster, or an error. It judges nothing anew: it asks whether the judgement
//! stands.

use measure::{
    Fault, Kind, NoAnswer, Outcome,
    confidence::{self, Standing},
    label,
};
use plan::{
    Criterion,
    criteria::{Metric, Op, Stat},
};

use super::{
    Judgement,
    measured::{Scope, bound, kind_of},
};
use crate::{
    record::Run,
    summary::{Arrivals, Sampled},
};

/// What the generator did wrong, at the worst.
pub(super) struct Harm {
    /// By so much it came too late to send, or to read an answer, in nanoseconds.
    late_ns: u64,
    /// Arrivals that were never sent, as a share of those that were started.
    unsent: f64,
}

impl Harm {
    pub(super) fn of(run: &Run, arrivals: &Arrivals) -> Harm {
        let all = run.totals.label(label::ALL);
        let worst = |kind| {
            let times = all.slot.histogram(kind, Outcome::Ok);
            times.and_then(measure::Histogram::max).unwrap_or(0)
        };
        let started = arrivals.started.max(1) as f64;
        Harm {
            late_ns: worst(Kind::Lateness).max(worst(Kind::Stall)),
            unsent: arrivals.unsent.unwrap_or(0) as f64 / started,
        }
    }

    /// In nanoseconds, the most by which a time may be off.
    pub(super) fn late_ns(&self) -> u64 {
        self.late_ns
    }
}

/// Whether the judgement of a criterion stands, whatever the generator did.
pub(super) fn stands(
    run: &Run,
    criterion: &Criterion,
    judgement: Judgement,
    elapsed_ns: u64,
    harm: &Harm,
) -> bool {
    let Ok(scope) = Scope::of(run, criterion, elapsed_ns) else {
        return false;
    };
    let holds = match judgement {
        Judgement::Pass => true,
        Judgement::Fail => false,
        Judgement::Inconclusive => return false,
    };
    // A criterion that asks for little holds when the figure is small, and fails when it is large.
    let is_small = match criterion.op {
        Op::Less | Op::LessOrEqual => holds,
        Op::Greater | Op::GreaterOrEqual => !holds,
    };
    match &criterion.metric {
        Metric::Time(span, stat) => {
            let samples = Sampled::of(&scope.part(), kind_of(*span));
            time_stands(&scope, &samples, *stat, bound(criterion), is_small, harm)
        }
        Metric::Errors => errors_stand(&scope, criterion, (holds, is_small), harm),
        // A generator that is held up can only send, and count, less.
        Metric::Rate => !is_small,
        // They are figures of the generator.
        Metric::Unsent | Metric::LatenessP99 => true,
        Metric::InFlight | Metric::Server(_) => false,
    }
}

fn time_stands(
    scope: &Scope<'_>,
    samples: &Sampled,
    stat: Stat,
    bound: f64,
    is_small: bool,
    harm: &Harm,
) -> bool {
    // An iteration may have been late at each of its requests.
    let times = if samples.kind() == Kind::Iteration {
        let all = Sampled::of(&scope.run.totals.label(label::ALL), Kind::Service);
        all.count().div_ceil(samples.count().max(1))
    } else {
        1
    };
    let off = harm.late_ns.saturating_mul(times.max(1));
    // What the bound would have to be for the same judgement at the worst.
    let bound = if is_small {
        (bound as u64).saturating_sub(off)
    } else {
        (bound as u64).saturating_add(off)
    };
    let unsent = (samples.count() as f64 * harm.unsent).ceil() as u64;
    match stat {
        Stat::Quantile(q) if q < 1.0 => {
            let n = samples.count() + unsent;
            let over = samples.above(bound) + if is_small { unsent } else { 0 };
            let inflation = scope.inflation(samples.kind(), q, bound);
            let wanted = if is_small {
                Standing::Below
            } else {
                Standing::Above
            };
            confidence::standing(n, over, inflation, q) == wanted
        }
        Stat::Quantile(_) | Stat::Max if is_small => unsent == 0 && samples.above(bound) == 0,
        Stat::Quantile(_) | Stat::Max => samples.above(bound) > 0,
        Stat::Mean => {
            let is_beyond = |mean: f64| (mean < bound as f64) == is_small;
            unsent == 0 && samples.mean_ns().is_some_and(is_beyond)
        }
    }
}

fn errors_stand(
    scope: &Scope<'_>,
    criterion: &Criterion,
    (holds, is_small): (bool, bool),
    harm: &Harm,
) -> bool {
    let part = scope.part();
    let counters = &part.slot.counters;
    let unsent = counters.ended() as f64 * harm.unsent;
    let errors = (counters.failed + counters.without_answer()) as f64;
    // Time-outs may be the generator's, that came too late to read; its own faults are.
    let own: u64 = counters
        .faults
        .0
        .iter()
        .filter(|(fault, _)| {
            matches!(fault, Fault::NoDescriptors | Fault::NoPorts)
                || matches!(fault.class(), NoAnswer::Generator | NoAnswer::Timeout)
        })
        .map(|(_, n)| n)
        .sum();
    let (errors, ended) = if is_small {
        (errors + unsent, counters.ended() as f64 + unsent)
    } else {
        (errors - own as f64, counters.ended() as f64 + unsent)
    };
    let value = match criterion.value {
        plan::units::Quantity::Share(_) => errors / ended.max(1.0),
        _ => errors,
    };
    criterion.op.holds(value, bound(criterion)) == holds
}
