//! What follows from a distance and its interval: a figure has regressed where the whole interval lies beyond the margin, has not
//! where all of it lies before that, and nothing is shown between. Of several figures the p-values count among all of them.

use super::{CONFIDENCE, Change, CompareConfig, FigureOutcome, FigureUnit};

/// An interval that is less sure says nothing, whoever would have it decide.
const LEAST: f64 = 0.9 - 1e-9;

/// How much worse, in the terms of the change, is no regression yet.
pub(super) fn margin(unit: FigureUnit, asked: &CompareConfig) -> f64 {
    match unit {
        FigureUnit::Share => asked.error_margin,
        FigureUnit::Nanoseconds | FigureUnit::PerSecond => asked.margin,
    }
}

/// The interval turned so that more is worse.
pub(super) fn worsening(unit: FigureUnit, (low, high): (f64, f64)) -> (f64, f64) {
    match unit {
        FigureUnit::PerSecond => (-high, -low),
        FigureUnit::Nanoseconds | FigureUnit::Share => (low, high),
    }
}

/// The same of one look among several, which may find less by chance than one alone.
pub(super) fn least(asked: &CompareConfig) -> f64 {
    if asked.confidence > CONFIDENCE {
        asked.confidence - 1e-9
    } else {
        LEAST
    }
}

/// What follows from a change.
pub(super) fn outcome(unit: FigureUnit, change: &Change, asked: &CompareConfig) -> FigureOutcome {
    let Some(interval) = change
        .interval
        .filter(|_| change.confidence >= least(asked))
    else {
        return FigureOutcome::Inconclusive;
    };
    let (low, high) = worsening(unit, interval);
    let margin = margin(unit, asked);
    let is_shown = |p: Option<f64>| p.is_none_or(|p| p <= 1.0 - asked.confidence);
    if low > margin {
        // Of several figures one may lie there by chance.
        return if is_shown(change.p_beyond_margin) {
            FigureOutcome::Regressed
        } else {
            FigureOutcome::Inconclusive
        };
    }
    if high < 0.0 && is_shown(change.p) {
        return FigureOutcome::Improved;
    }
    if high <= margin {
        FigureOutcome::NoRegression
    } else {
        FigureOutcome::Inconclusive
    }
}
