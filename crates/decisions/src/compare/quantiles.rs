//! Compares the distributions of the headline time by quantile, without judging them.

use plan::criteria::SpanFilter;
use serde::Serialize;

use super::{Change, Compared, FigureOutcome, Side, Subject, figure, middle};

const LOOKED_AT: [f64; 11] = [
    0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999,
];

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quantile {
    pub share: f64,
    pub baseline_ns: f64,
    pub candidate_ns: f64,
    pub change: Change,
    pub outcome: FigureOutcome,
}

pub(super) fn compare_quantiles(
    baseline: &Side,
    candidate: &Side,
    compare: impl Fn(&[Subject]) -> Vec<Compared>,
) -> (Vec<Quantile>, String) {
    let known: Vec<Quantile> = LOOKED_AT
        .iter()
        .filter_map(|share| {
            let subject =
                figure::of_time(SpanFilter::Response, *share, None).alike(baseline, candidate);
            let compared = compare(&[subject]).into_iter().next()?;
            Some(Quantile {
                share: *share,
                baseline_ns: middle(&compared.baseline)?,
                candidate_ns: middle(&compared.candidate)?,
                change: compared.change?,
                outcome: compared.outcome,
            })
        })
        .collect();
    (known, "response time of all requests".to_owned())
}
