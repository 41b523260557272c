//! What a reader needs first: the question that the run answers, and how certain the answer is.

use crate::{summary::Summary, verdict::Judgement};
use record::{Model, RunState, units};

/// Returns the question: the team's objective, or whether the criteria are met.
#[must_use]
pub fn question(summary: &Summary, objective: Option<&str>) -> String {
    if let Some(objective) = objective {
        return objective.to_owned();
    }
    match summary.criteria.as_slice() {
        [] => "How does the service respond under this load?".to_owned(),
        [one] => format!("Does `{}` hold under this load?", one.text),
        all => {
            let texts: Vec<String> = all.iter().map(|one| format!("`{}`", one.text)).collect();
            format!("Do {} hold under this load?", units::listed(&texts))
        }
    }
}

/// Returns how certain the answer is, with the reason.
#[must_use]
pub fn certainty(summary: &Summary) -> String {
    let run = &summary.run;
    if let Some(tool) = &run.imported_from {
        return format!("Unknown: {tool} measured these figures, so Loadline cannot judge them.");
    }
    if run.model == Model::Once {
        return "Unknown: a single iteration is a trial, not a measurement.".to_owned();
    }
    let Some(measurement) = &summary.measurement else {
        return "Unknown: the measurement was not judged, because too little was sent.".to_owned();
    };
    let unsure = summary.criteria.iter();
    let unsure = unsure.filter(|judged| judged.judgement == Judgement::Inconclusive);
    let undecided = match unsure.count() {
        0 => None,
        1 => Some("One criterion".to_owned()),
        n => Some(format!("{n} criteria")),
    };
    let measured = units::count(summary.all.count);
    let mut texts = vec![match (measurement.verdict.as_str(), &undecided) {
        // The verdict's sentence states the reasons.
        ("INVALID", _) => "None: the load generator disturbed the measurement.".to_owned(),
        ("DEGRADED", _) => format!(
            "Reduced: the load generator may have affected the figures ({}).",
            measurement.reasons.join("; ")
        ),
        (_, Some(_)) => format!("Low: {measured} requests were measured."),
        (_, None) => {
            format!("High: {measured} requests were measured, and the load generator kept up.")
        }
    }];
    texts.extend(undecided.map(|criteria| format!("{criteria} could not be decided.")));
    if is_cut_short(summary) {
        texts.push(format!(
            "The run ended early, so only the first {} count.",
            units::time(run.elapsed_ns)
        ));
    }
    texts.join(" ")
}

/// Returns whether the run ended before its planned end without being stopped by a rule.
pub(super) fn is_cut_short(summary: &Summary) -> bool {
    let run = &summary.run;
    run.state == RunState::Interrupted && run.stopped.is_none() || run.record_ends_ns.is_some()
}
