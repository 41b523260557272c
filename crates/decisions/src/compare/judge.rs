//! What follows from a distance and its interval: a figure has regressed where the whole interval lies beyond the margin, has not
//! where all of it lies before that, and nothing is shown between. Of several figures the p-values count among all of them.

use super::{Asked, CONFIDENCE, Change, Outcome, Unit};

/// An interval that is less sure says nothing, whoever would have it decide.
const LEAST: f64 = 0.9 - 1e-9;

/// How much worse, in the terms of the change, is no regression yet.
pub(super) fn margin(unit: Unit, asked: &Asked) -> f64 {
    match unit {
        Unit::Share => asked.error_margin,
        Unit::Nanoseconds | Unit::PerSecond => asked.margin,
    }
}

/// The interval turned so that more is worse.
pub(super) fn worsening(unit: Unit, (low, high): (f64, f64)) -> (f64, f64) {
    match unit {
        Unit::PerSecond => (-high, -low),
        Unit::Nanoseconds | Unit::Share => (low, high),
    }
}

/// The same of one look among several, which may find less by chance than one alone.
pub(super) fn least(asked: &Asked) -> f64 {
    if asked.confidence > CONFIDENCE {
        asked.confidence - 1e-9
    } else {
        LEAST
    }
}

/// What follows from a change.
pub(super) fn outcome(unit: Unit, change: &Change, asked: &Asked) -> Outcome {
    let Some(interval) = change
        .interval
        .filter(|_| change.confidence >= least(asked))
    else {
        return Outcome::Inconclusive;
    };
    let (low, high) = worsening(unit, interval);
    let margin = margin(unit, asked);
    let is_shown = |p: Option<f64>| p.is_none_or(|p| p <= 1.0 - asked.confidence);
    if low > margin {
        // Of several figures one may lie there by chance.
        return if is_shown(change.p_beyond_margin) {
            Outcome::Regressed
        } else {
            Outcome::Inconclusive
        };
    }
    if high < 0.0 && is_shown(change.p) {
        return Outcome::Improved;
    }
    if high <= margin {
        Outcome::NoRegression
    } else {
        Outcome::Inconclusive
    }
}
