//! Whether a criterion came out as it did whatever the generator did wrong: of an invalid measurement, the one thing that can still be
//! said of a server. Whatever bound one draws: so many of the samples met a generator that was late or held up by more than it, and may
//! have taken any time instead; all others may be off by no more than the bound. What was never sent may have been slower than everything,
//! or faster, or an error. It judges nothing anew: it asks whether the judgement stands.

use measure::{
    Fault, Histogram, Kind, NoAnswer, Outcome,
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

/// What the generator did wrong.
pub(super) struct Harm {
    /// By how much it came too late to send, and to look around for answers.
    late: [Histogram; 2],
    /// Arrivals that were never sent, as a share of those that were started.
    unsent: f64,
}

impl Harm {
    pub(super) fn of(run: &Run, arrivals: &Arrivals) -> Harm {
        let all = run.totals.label(label::ALL);
        let of = |kind| {
            let times = all.slot.histogram(kind, Outcome::Ok);
            times.cloned().unwrap_or_default()
        };
        let started = arrivals.started.max(1) as f64;
        Harm {
            late: [of(Kind::Lateness), of(Kind::Stall)],
            unsent: arrivals.unsent.unwrap_or(0) as f64 / started,
        }
    }

    /// In nanoseconds, the most by which a time may be off.
    pub(super) fn worst_ns(&self) -> u64 {
        let worst = self.late.iter().filter_map(Histogram::max);
        worst.max().unwrap_or(0)
    }

    /// Bounds worth trying, each with the share of samples that may be off by more.
    fn bounds(&self) -> Vec<(u64, f64)> {
        const QUANTILES: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 1.0];
        let bounds = self
            .late
            .iter()
            .flat_map(|late| QUANTILES.iter().filter_map(|q| late.quantile(*q)));
        let beyond = |bound: u64| {
            let share = |late: &Histogram| late.above(bound) as f64 / late.count().max(1) as f64;
            self.late.iter().map(share).sum::<f64>().min(1.0)
        };
        bounds.map(|bound| (bound, beyond(bound))).collect()
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
    limit: f64,
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
    let times = times.max(1);
    // What the limit would have to be for the same judgement of times that are off by so much.
    let moved = |off: u64| {
        let off = off.saturating_mul(times);
        if is_small {
            (limit as u64).saturating_sub(off)
        } else {
            (limit as u64).saturating_add(off)
        }
    };
    let unsent = (samples.count() as f64 * harm.unsent).ceil() as u64;
    let worst = moved(harm.worst_ns());
    match stat {
        Stat::Quantile(q) if q < 1.0 => harm.bounds().into_iter().any(|(off, beyond)| {
            let limit = moved(off);
            let touched = (samples.count() as f64 * beyond * times as f64).ceil() as u64;
            let n = samples.count() + unsent;
            let (over, wanted) = if is_small {
                let over = samples.above(limit) + touched + unsent;
                (over.min(n), Standing::Below)
            } else {
                let over = samples.above(limit).saturating_sub(touched);
                (over, Standing::Above)
            };
            let inflation = scope.inflation(samples.kind(), q, limit);
            confidence::standing(n, over, inflation, q) == wanted
        }),
        Stat::Quantile(_) | Stat::Max if is_small => unsent == 0 && samples.above(worst) == 0,
        Stat::Quantile(_) | Stat::Max => samples.above(worst) > 0,
        Stat::Mean => {
            let is_beyond = |mean: f64| (mean < worst as f64) == is_small;
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
