//! Compares the distributions of the headline time by quantile, without judging them.

use measure::TimeKind;
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
    let (span, of) = figure::headline(baseline);
    let known: Vec<Quantile> = LOOKED_AT
        .iter()
        .filter_map(|share| {
            let subject = figure::of_time(span, *share, of.clone()).alike(baseline, candidate);
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
    let time = match span {
        plan::criteria::SpanFilter::Response => TimeKind::Response,
        plan::criteria::SpanFilter::Service => TimeKind::Service,
        plan::criteria::SpanFilter::FirstByte => TimeKind::FirstByte,
        plan::criteria::SpanFilter::Iteration | plan::criteria::SpanFilter::Transaction => {
            TimeKind::Iteration
        }
    };
    let of_what = of.map_or_else(
        || match time {
            TimeKind::Iteration => "iteration time".to_owned(),
            time => format!("{} time of all requests", time.name()),
        },
        |of| format!("{} time of {of}", time.name()),
    );
    (known, of_what)
}
