//! Judges the criteria at the end of a run and determines the exit code.

mod bound;
mod custom;
mod figure_path;
mod measured;
pub mod measurement;
mod messages;
mod robustness;
mod server;
mod stream;
mod subject;
pub mod timeline;

use measure::Label;
use plan::{
    Criterion,
    criteria::{Metric, Op, parse_criterion},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use record::{Manifest, Run, server::ServerMetrics, units};

use crate::figures::{ArrivalLedger, Requests};
use bound::Measured;
pub use bound::bound;
pub(crate) use figure_path::{add as add_figure_paths, percentile_name};
pub use measured::kind_of;
use measurement::LATE_NS;
pub use measurement::Measurement;
pub use server::bounds_of as server_bounds;
pub use server::never_measured;
pub use subject::Subject;
pub use timeline::Timeline;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Judgement {
    Pass,
    Fail,
    Inconclusive,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    pub text: String,
    pub judgement: Judgement,
    /// Measured value with its unit. `None` if there is none.
    pub measured: Option<String>,
    /// Measured value in the metric's unit. `None` if it is unknown, or only known to exceed every
    /// bound.
    pub value: Option<f64>,
    /// JSON pointer to the judged figure in the summary, for example `/all/response/p95`. `None` if
    /// the criterion judges part of the run, or a figure that the summary does not contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<String>,
    /// Distance of the measured value from the bound, as a share of the bound. Positive if the
    /// criterion is met.
    pub margin: Option<f64>,
    /// Why the criterion could not be judged, or a note.
    pub reason: Option<String>,
    /// Whether the result of an invalid measurement holds despite the load generator's errors.
    #[serde(default)]
    pub is_robust: Option<bool>,
    /// Start of the first point that violates the criterion when judged alone.
    #[serde(default)]
    pub first_violation_ns: Option<u64>,
    /// Whether the criterion is a threshold of the test script, judged by the rules of the script's
    /// original tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_script: bool,
}

pub(crate) fn judge(run: &Run, timeline: &Timeline, elapsed_ns: u64) -> Vec<Judged> {
    let mut judged = so_far(run, elapsed_ns);
    for (judged, violation) in judged.iter_mut().zip(timeline.first_violations()) {
        judged.first_violation_ns = violation;
    }
    judged.extend(thresholds(run));
    judged
}

/// Returns the thresholds of the test script, as judged by the rules of its original tool.
fn thresholds(run: &Run) -> impl Iterator<Item = Judged> + '_ {
    let results = run
        .events
        .iter()
        .filter_map(|event| event.threshold.as_ref());
    let deciding = results.filter(|threshold| !threshold.is_optional);
    deciding.map(|threshold| Judged {
        text: threshold.text.clone(),
        judgement: match (threshold.is_met, threshold.has_samples) {
            (false, _) => Judgement::Fail,
            (true, true) => Judgement::Pass,
            (true, false) => Judgement::Inconclusive,
        },
        measured: threshold.measured.clone(),
        value: None,
        figure: None,
        margin: None,
        reason: (!threshold.has_samples).then(|| "there were no samples".to_owned()),
        is_robust: None,
        first_violation_ns: None,
        is_of_script: true,
    })
}

pub(crate) fn despite_the_generator(
    run: &Run,
    judged: &mut [Judged],
    measurement: &Measurement,
    arrivals: &ArrivalLedger,
    elapsed_ns: u64,
) {
    if measurement.verdict != "INVALID" {
        return;
    }
    let off_ns = robustness::worst_ns(run);
    for judged in judged {
        if judged.is_of_script && judged.judgement != Judgement::Inconclusive {
            // The original tool does not consider errors of the load generator.
            judged.reason = Some("generator errors could have changed this result".to_owned());
            continue;
        }
        let Ok(criterion) = parse_criterion(&judged.text) else {
            continue;
        };
        if judged.judgement == Judgement::Inconclusive && judged.measured.is_some() {
            // More samples of a disturbed measurement would not decide the criterion.
            judged.reason = Some("generator errors prevent a decision".to_owned());
            continue;
        }
        judged.is_robust =
            robustness::robustness(run, &criterion, judged.judgement, elapsed_ns, arrivals);
        let reported = match judged.is_robust {
            None => continue,
            Some(true) => "this result does not depend on generator errors".to_owned(),
            Some(false) if matches!(criterion.metric, Metric::Time(..)) && off_ns > LATE_NS => {
                format!(
                    "generator errors could have changed this result: times may be off by up to {}",
                    units::time(off_ns)
                )
            }
            Some(false) => "generator errors could have changed this result".to_owned(),
        };
        judged.reason = Some(match judged.reason.take() {
            Some(reason) => format!("{reason}; {reported}"),
            None => reported,
        });
    }
}

/// Judges the criteria as if the run ended now, without times of first violations.
pub fn so_far(run: &Run, elapsed_ns: u64) -> Vec<Judged> {
    let texts = run.manifest.criteria.iter();
    texts
        .map(|text| judge_text(run, text, elapsed_ns))
        .collect()
}

/// Returns why a criterion or stop rule can never be judged: its label, phase or metric does not
/// exist in this run.
#[must_use]
pub fn without_subject(
    manifest: &Manifest,
    labels: Option<&[Label]>,
    server: &ServerMetrics,
    criterion: &Criterion,
) -> Option<String> {
    let is_of_label = criterion.of.is_some() && !matches!(criterion.metric, Metric::Server(..));
    let is_over_requests = criterion.metric.over_requests().is_some();
    let mut asked = criterion.clone();
    if labels.is_none() && (is_of_label || is_over_requests) {
        (asked.of, asked.metric) = (None, Metric::Errors);
    }
    let run = Run {
        server: server.clone(),
        ..Run::planned(manifest.clone(), labels.unwrap_or_default().to_vec())
    };
    let cause = measured::subject_missing(&run, &asked)?;
    Some(format!("`{}` cannot be judged: {cause}", criterion.text))
}

fn judge_text(run: &Run, text: &str, elapsed_ns: u64) -> Judged {
    let inconclusive = |reason: String| Judged {
        text: text.to_owned(),
        judgement: Judgement::Inconclusive,
        measured: None,
        value: None,
        figure: None,
        margin: None,
        reason: Some(reason),
        is_robust: None,
        first_violation_ns: None,
        is_of_script: false,
    };
    match parse_criterion(text) {
        Ok(criterion) => match measured::measure(run, &criterion, elapsed_ns) {
            Ok(measured) => judged(&criterion, measured),
            Err(reason) => inconclusive(reason),
        },
        Err(error) => inconclusive(format!("cannot be read: {error}")),
    }
}

/// Returns whether a criterion is met at a point with few samples, for the timeline. `None` if this
/// is uncertain.
pub(crate) fn holds(run: &Run, criterion: &Criterion, elapsed_ns: u64) -> Option<bool> {
    let measured = measured::measure(run, criterion, elapsed_ns).ok()?;
    Some(side(criterion, &measured))
}

pub(crate) fn is_by_label(criterion: &Criterion) -> bool {
    criterion.of.is_some() || criterion.metric.over_requests().is_some()
}

fn side(criterion: &Criterion, measured: &Measured) -> bool {
    match measured.value {
        Some(value) => criterion.op.holds(value, measured.bound),
        None => matches!(criterion.op, Op::Greater | Op::GreaterOrEqual),
    }
}

impl Judged {
    /// Formats the distance to the bound: `44.2 % to spare`, `25.0 % past the bound`, or `50.0
    /// times the bound`.
    #[must_use]
    pub fn distance(&self) -> Option<String> {
        let margin = self.margin?;
        let is_above = self.value.is_some_and(|value| value > 0.0);
        Some(match margin {
            _ if margin.abs() >= 1.0 && is_above => {
                format!("{} times the bound", units::rate(1.0 + margin.abs()))
            }
            _ if margin >= 0.0 => format!("{} to spare", units::share(margin)),
            _ => format!("{} past the bound", units::share(-margin)),
        })
    }
}

fn judged(criterion: &Criterion, measured: Measured) -> Judged {
    let bound = measured.bound;
    let holds = side(criterion, &measured);
    let judgement = match (measured.certain, holds) {
        (false, _) => Judgement::Inconclusive,
        (true, true) => Judgement::Pass,
        (true, false) => Judgement::Fail,
    };
    let towards = match criterion.op {
        Op::Less | Op::LessOrEqual => 1.0,
        Op::Greater | Op::GreaterOrEqual => -1.0,
    };
    let margin = measured
        .value
        .filter(|_| bound != 0.0)
        .map(|value| towards * (bound - value) / bound);
    Judged {
        text: criterion.text.clone(),
        judgement,
        measured: Some(measured.text),
        value: measured.value,
        figure: None,
        margin,
        reason: measured.reason,
        is_robust: None,
        first_violation_ns: None,
        is_of_script: false,
    }
}

pub const COULD_NOT_RUN: u8 = 3;

pub(crate) fn undecided(judged: &mut [Judged], reason: &str) {
    for judged in judged {
        judged.judgement = Judgement::Inconclusive;
        judged.reason = Some(reason.to_owned());
        judged.is_robust = None;
        judged.first_violation_ns = None;
    }
}

/// Returns the exit code of `loadline run`: 0 if no criterion failed, 1 if one failed or if there
/// are none and all requests failed, 3 without any response, 4 if the measurement is invalid, 5 if
/// inconclusive.
#[must_use]
pub fn exit_code(
    criteria: &[Judged],
    measurement: Option<&Measurement>,
    requests: &Requests,
    allow_failures: bool,
) -> u8 {
    let any = |judgement| criteria.iter().any(|judged| judged.judgement == judgement);
    if requests.are_all_unanswered() {
        COULD_NOT_RUN
    } else if measurement.is_some_and(|measurement| measurement.verdict == "INVALID") {
        4
    } else if any(Judgement::Fail) || (criteria.is_empty() && requests.ok == 0 && !allow_failures) {
        1
    } else if any(Judgement::Inconclusive) {
        5
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_said_in_the_words_that_it_is_thought_in() {
        let distance = |value: f64, margin: f64| {
            let judged = Judged {
                text: String::new(),
                judgement: Judgement::Pass,
                measured: None,
                value: Some(value),
                figure: None,
                margin: Some(margin),
                reason: None,
                is_robust: None,
                first_violation_ns: None,
                is_of_script: false,
            };
            judged.distance().unwrap()
        };
        assert_eq!(distance(1.68, 0.44), "44.0 % to spare");
        assert_eq!(distance(3.0, 0.0), "0 % to spare");
        assert_eq!(distance(5.0, -0.25), "25.0 % past the bound");
        assert_eq!(distance(1.0, -99.0), "100 times the bound");
        assert_eq!(distance(40.0, 3.0), "4.00 times the bound");
        assert_eq!(distance(0.0, 1.0), "100 % to spare");
        assert_eq!(distance(-10.0, 3.0), "300 % to spare");
    }
}
