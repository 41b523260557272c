//! The answer to `run_result`, computed from a summary. The same record always yields the same
//! bytes.
//!
//! For an INVALID measurement, the answer contains no figures, and lists only criteria that hold
//! regardless of the load generator's errors.

use analysis::{
    summary::Summary,
    verdict::{Judged, Judgement, Measurement},
};
use record::{RunState, units};
use serde_json::{Value, json};

use crate::{
    answer::{Answer, plain},
    claims,
    figures::{self, figures, untrusted_figures},
    untrusted,
};

const MOST_EXCERPTS: usize = 5;
const WITHHELD: &str =
    "The figures are withheld, because the measurement is INVALID. Repeat the run.";

/// Contents of a request for a result.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ResultRequest<'a> {
    /// The only label to include. `None` for all requests.
    pub label: Option<&'a str>,
    /// Whether to show the figures of an INVALID measurement, marked as untrusted.
    pub include_untrusted: bool,
    /// Whether to add excerpts of responses.
    pub excerpts: bool,
}

/// Returns the answer for a run.
pub(crate) fn run_result(name: &str, summary: &Summary, request: ResultRequest<'_>) -> Answer {
    let row = match figures::row(summary, request.label) {
        Ok(row) => row,
        Err(line) => return Answer::refused(line),
    };
    let is_invalid = summary.is_invalid();
    let mut answer = Answer::new(conclusion(summary))
        .with("measurement", measurement(summary.measurement.as_ref()))
        .with("criteria", criteria(summary));
    if is_invalid {
        answer = answer
            .with("figures", Value::Null)
            .with("withheld", WITHHELD)
            .with("holds_anyway", robust_sentences(summary));
        if request.include_untrusted {
            let reasons = reasons(summary).join("; ");
            let why = format!("INVALID measurement: {}", plain(&reasons, 120));
            let untrusted = untrusted_figures(summary, row, &why);
            answer = answer.with("untrusted_figures", untrusted);
        }
    } else if summary.measurement.is_some() {
        answer = answer.with("figures", figures(summary, row));
        answer = answer.with("may_claim", claims::may_claim(summary));
    } else {
        answer = answer.with("figures", Value::Null).with(
            "withheld",
            "The measurement was not judged, because the run was too short or sent nothing.",
        );
    }
    answer = answer.with("must_not_claim", claims::must_not_claim(summary));
    answer = answer.with("run", name).with("exit", exit_text(summary));
    let label = request.label.map(ToOwned::to_owned);
    answer = answer.with_some("label", label);
    if !is_invalid {
        answer = answer.with("notes", notes(summary));
    }
    answer.is_error = is_invalid && !request.include_untrusted;
    if request.excerpts {
        answer.excerpts = excerpts(summary);
    }
    answer
}

/// Returns the verdict in words.
fn conclusion(summary: &Summary) -> String {
    let Some(measurement) = &summary.measurement else {
        return "NO MEASUREMENT. No conclusion can be drawn. Reason: too few requests were sent or answered to judge the measurement."
            .to_owned();
    };
    let why = reasons(summary).join("; ");
    let state = match summary.run.state {
        RunState::Complete => "",
        RunState::Interrupted => " The run was stopped before its planned end.",
        RunState::Running => " The run did not finish normally.",
    };
    let criteria = match summary.verdict.criteria {
        None => "There are no criteria.".to_owned(),
        Some(Judgement::Pass) => "PASS: all criteria hold.".to_owned(),
        Some(Judgement::Fail) => "FAIL: a criterion is not met.".to_owned(),
        Some(Judgement::Inconclusive) => {
            "INCONCLUSIVE: neither passed nor failed. The criteria say what they need.".to_owned()
        }
    };
    match measurement.verdict.as_str() {
        "INVALID" => format!(
            "INVALID MEASUREMENT. No latency or capacity conclusion can be drawn. Reason: {why}.{state}"
        ),
        "DEGRADED" => format!(
            "DEGRADED MEASUREMENT. Throughput is a lower bound and times are hints. Reason: {why}. {criteria}{state}"
        ),
        _ => format!("VALID MEASUREMENT. {criteria}{state}"),
    }
}

fn reasons(summary: &Summary) -> Vec<String> {
    let measurement = summary.measurement.as_ref();
    measurement.map_or_else(Vec::new, |measurement| measurement.reasons.clone())
}

fn measurement(measurement: Option<&Measurement>) -> Value {
    let Some(measurement) = measurement else {
        return json!({ "stamp": "NONE", "reasons": [], "when": [] });
    };
    let when = measurement
        .late_ns
        .iter()
        .take(4)
        .map(|(from, to)| format!("{} to {}", units::moment(*from), units::moment(*to)));
    let reasons = measurement.reasons.iter().take(4);
    json!({
        "stamp": measurement.verdict,
        "reasons": reasons.collect::<Vec<_>>(),
        "when": when.collect::<Vec<_>>(),
    })
}

fn criteria(summary: &Summary) -> Vec<Value> {
    let is_invalid = summary.is_invalid();
    summary
        .criteria
        .iter()
        .map(|judged| criterion(judged, is_invalid))
        .collect()
}

fn criterion(judged: &Judged, is_invalid: bool) -> Value {
    if is_invalid && judged.is_robust != Some(true) {
        return json!({
            "criterion": judged.text,
            "judgement": "INCONCLUSIVE",
            "needs": "a valid measurement",
        });
    }
    let mut value = json!({
        "criterion": judged.text,
        "judgement": judgement(judged.judgement),
    });
    if !is_invalid {
        let own = Some(judged).filter(|judged| !has_foreign_names(judged));
        if let Some(measured) = own.and_then(|judged| judged.measured.as_ref()) {
            value["measured"] = measured.as_str().into();
        }
        let reason = own.and_then(|judged| judged.reason.as_deref());
        match reason.and_then(|reason| reason.split_once("run about ")) {
            Some((_, needs)) => value["needs"] = format!("about {needs}").into(),
            None => {
                if let Some(reason) = reason {
                    value["reason"] = reason.into();
                }
            }
        }
    }
    value
}

/// Returns whether the measured value of a criterion contains names that the service chose.
fn has_foreign_names(judged: &Judged) -> bool {
    judged.text.starts_with("server.")
}

fn judgement(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Pass => "PASS",
        Judgement::Fail => "FAIL",
        Judgement::Inconclusive => "INCONCLUSIVE",
    }
}

/// Returns a sentence for each criterion that is decided despite the load generator's errors.
fn robust_sentences(summary: &Summary) -> Vec<String> {
    let robust = summary.criteria.iter();
    let robust = robust.filter(|judged| judged.is_robust == Some(true));
    robust
        .filter_map(|judged| match judged.judgement {
            Judgement::Pass => Some(format!("{} holds", judged.text)),
            Judgement::Fail => Some(format!("{} does not hold", judged.text)),
            Judgement::Inconclusive => None,
        })
        .collect()
}

/// Returns advice. The report's notes may contain text from the system under test.
fn notes(summary: &Summary) -> Vec<String> {
    let advice = summary.verdict.advice.iter();
    let advice = advice.filter(|text| !claims::has_foreign_text(summary, text));
    let mut notes: Vec<String> = advice.take(6).cloned().collect();
    if !summary.notes.is_empty() {
        notes.push(
            "The report has more notes, which may contain text from the system under test: call with `excerpts`."
                .to_owned(),
        );
    }
    notes
}

/// Formats an exit code with its name, such as `4 (INVALID)`.
pub(crate) fn exit_word(code: u8) -> String {
    let word = match code {
        session::exit::PASS => "PASS",
        session::exit::FAIL => "FAIL",
        session::exit::BAD_INPUT => "BAD INPUT",
        session::exit::COULD_NOT_RUN => "COULD NOT RUN",
        session::exit::INVALID => "INVALID",
        session::exit::INCONCLUSIVE => "INCONCLUSIVE",
        129 | 130 | 143 => "STOPPED",
        _ => "UNKNOWN",
    };
    format!("{code} ({word})")
}

fn exit_text(summary: &Summary) -> String {
    match summary.run.state {
        RunState::Interrupted if summary.run.stopped.is_none() => {
            format!("stopped; as judged so far {}", exit_word(summary.exit_code))
        }
        _ => exit_word(summary.exit_code),
    }
}

/// Returns all texts that may come from the system under test: contents of failed responses, notes,
/// and findings from its metrics. `None` if there are none.
fn excerpts(summary: &Summary) -> Option<String> {
    let firsts = summary.errors.iter().filter_map(|row| row.first.as_ref());
    let texts = firsts.flat_map(|first| first.mismatches.iter().chain(first.body.iter()));
    let mut lines: Vec<String> = texts.take(MOST_EXCERPTS).cloned().collect();
    let notes = summary.notes.iter().take(MOST_EXCERPTS);
    lines.extend(notes.map(|note| format!("note: {note}")));
    if !summary.is_invalid() {
        let saturation = summary.saturation.as_ref();
        lines.extend(saturation.map(|found| found.sentence.clone()));
        let measured = summary
            .criteria
            .iter()
            .filter(|judged| has_foreign_names(judged));
        lines.extend(measured.filter_map(|judged| {
            let measured = judged.measured.as_ref()?;
            Some(format!("{}: {measured}", judged.text))
        }));
    }
    untrusted::block(&lines)
}

#[cfg(test)]
mod tests;
