//! Judges a change by its interval. The change is a regression if the whole interval is beyond the
//! margin, and there is none if the whole interval is within the margin. Otherwise, the result is
//! inconclusive.

use super::{CONFIDENCE, Change, CompareConfig, FigureOutcome, FigureUnit};

const LEAST: f64 = 0.9 - 1e-9;

pub(super) fn margin(unit: FigureUnit, config: &CompareConfig) -> f64 {
    match unit {
        FigureUnit::Share => config.error_margin,
        FigureUnit::Nanoseconds | FigureUnit::PerSecond => config.margin,
    }
}

pub(super) fn worsening(unit: FigureUnit, low: f64, high: f64) -> (f64, f64) {
    match unit {
        FigureUnit::PerSecond => (-high, -low),
        FigureUnit::Nanoseconds | FigureUnit::Share => (low, high),
    }
}

pub(super) fn least(config: &CompareConfig) -> f64 {
    if config.confidence > CONFIDENCE {
        config.confidence - 1e-9
    } else {
        LEAST
    }
}

pub(super) fn outcome(unit: FigureUnit, change: &Change, config: &CompareConfig) -> FigureOutcome {
    let Some((low, high)) = change
        .interval
        .filter(|_| change.confidence >= least(config))
    else {
        return FigureOutcome::Inconclusive;
    };
    let (low, high) = worsening(unit, low, high);
    let margin = margin(unit, config);
    let is_shown = |p: Option<f64>| p.is_none_or(|p| p <= 1.0 - config.confidence);
    if low > margin {
        // With several figures, one may exceed the margin by chance.
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
