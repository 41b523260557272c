//! The last line of a run, which contains its verdict.

use analysis::{
    summary::Summary,
    verdict::{Judged, Judgement},
};
use record::units::count;

use super::text::{Columns, cut_sentence};

/// Returns the verdict of a run with this exit code, on one line.
#[must_use]
pub fn verdict_line(summary: &Summary, exit_code: u8, columns: Columns) -> String {
    let (word, text) = match exit_code {
        0 => ("PASS", passed(summary)),
        1 => ("FAIL", failed(summary)),
        4 => ("INVALID", invalid(summary)),
        5 => ("INCONCLUSIVE", first(summary, Judgement::Inconclusive)),
        128.. => ("INTERRUPTED", "the run was ended by a signal".to_owned()),
        _ => ("COULD NOT RUN", not_run(summary)),
    };
    cut_sentence(&format!("{word}  {text}"), columns.count())
}

fn passed(summary: &Summary) -> String {
    let requests = match (summary.requests.ok, summary.all.errors) {
        (ok, 0) => format!("{} requests, 0 failed", count(ok)),
        (_, errors) => format!(
            "{} requests, {} failed",
            count(summary.all.count),
            count(errors)
        ),
    };
    match summary.criteria.len() {
        0 => requests,
        1 => format!("the criterion held; {requests}"),
        2 => format!("both criteria held; {requests}"),
        n => format!("all {n} criteria held; {requests}"),
    }
}

fn failed(summary: &Summary) -> String {
    if let Some(stopped) = &summary.run.stopped {
        return format!("stopped by the rule {}", stopped.text);
    }
    if summary.all_failed() {
        return format!("all {} requests failed", count(summary.all.count));
    }
    first(summary, Judgement::Fail)
}

fn not_run(summary: &Summary) -> String {
    if summary.run.unrecorded.is_some() || summary.requests.are_all_unanswered() {
        return summary.verdict.sentence.clone();
    }
    "see the error above".to_owned()
}

fn invalid(summary: &Summary) -> String {
    let measurement = summary.measurement.as_ref();
    let reasons = measurement.map(|measurement| measurement.reasons.join("; "));
    match reasons.filter(|reasons| !reasons.is_empty()) {
        Some(reasons) => reasons,
        None => summary.verdict.sentence.clone(),
    }
}

/// Describes the first criterion with this judgement, and counts the others.
fn first(summary: &Summary, judgement: Judgement) -> String {
    let mut all = summary
        .criteria
        .iter()
        .filter(|judged| judged.judgement == judgement);
    let Some(judged) = all.next() else {
        return summary.verdict.sentence.clone();
    };
    let more = match all.count() {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    format!("{}{}{more}", judged.text, detail(judged))
}

fn detail(judged: &Judged) -> String {
    match (&judged.measured, &judged.reason) {
        (Some(measured), _) if judged.judgement == Judgement::Fail => {
            format!(", measured {measured}")
        }
        (_, Some(reason)) => format!(": {reason}"),
        _ => String::new(),
    }
}
