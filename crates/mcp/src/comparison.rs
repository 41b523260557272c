//! The answer to `compare`. For each metric, the candidate is better, worse, not changed by more
//! than the margin, or undecided.

use std::path::Path;

use decisions::compare::{
    self, CONFIDENCE, CompareConfig, Compared, ComparedRun, Comparison, FigureOutcome, FigureUnit,
    Side,
};
use record::Run;
use serde_json::{Value, json};

use crate::answer::Answer;

/// Largest relative change that is not a regression.
const MARGIN: f64 = 0.05;
/// Largest additional error share, relative to all requests, that is not a regression.
const ERROR_MARGIN: f64 = 0.001;

/// Reads a run for a comparison.
///
/// Fails with a one-line error if the record cannot be read.
pub(crate) fn compared_run(record: &Path) -> Result<ComparedRun, String> {
    let run = Run::open(record).map_err(|error| error.to_string())?;
    let plan = std::fs::read(record.join("plan.json")).ok();
    let plan = plan.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let name = record.file_name().unwrap_or_default();
    Ok(ComparedRun {
        name: name.to_string_lossy().into_owned(),
        summary: analysis::summarise(&run),
        run: Some(run),
        plan: plan.unwrap_or_default(),
    })
}

/// Compares two groups of runs.
pub(crate) fn compare_answer(baseline: &Side, candidate: &Side) -> Answer {
    let shared = baseline.runs.iter().find(|run| {
        let mut others = candidate.runs.iter();
        others.any(|other| other.name == run.name)
    });
    if let Some(run) = shared {
        return Answer::refused(format!(
            "{} is on both sides: a run cannot be compared with itself.",
            run.name
        ));
    }
    let obstacles = compare::incompatibilities(baseline, candidate);
    if !obstacles.is_empty() {
        let reasons: Vec<String> = obstacles.into_iter().map(|one| one.text).collect();
        let mut answer = Answer::new(format!(
            "NOT COMPARABLE. Nothing can be concluded about a difference. Reason: {}",
            reasons.join("; ")
        ))
        .with("figures", Value::Null)
        .with("reasons", reasons);
        answer.is_error = true;
        return answer;
    }
    let config = CompareConfig {
        subjects: Vec::new(),
        margin: MARGIN,
        error_margin: ERROR_MARGIN,
        confidence: CONFIDENCE,
        anyway: Vec::new(),
        hint_decides: false,
    };
    answer(&compare::compare(baseline, candidate, &config))
}

fn answer(comparison: &Comparison) -> Answer {
    let is_hint = comparison.method.is_hint();
    let word = match (is_hint, comparison.verdict) {
        (true, _) => "HINT ONLY. Too few runs for a decision",
        (false, FigureOutcome::Improved) => "BETTER",
        (false, FigureOutcome::NoRegression) => "NO WORSE",
        (false, FigureOutcome::Regressed) => "WORSE",
        (false, FigureOutcome::Inconclusive) => "INCONCLUSIVE",
    };
    let figures = comparison.judged.iter();
    let mut must_not_claim =
        vec!["that the difference has a certain cause: only the runs were compared".to_owned()];
    if is_hint {
        must_not_claim.insert(
            0,
            "that the candidate is better or worse: at least four runs on each side are needed"
                .to_owned(),
        );
    }
    let runs = |side: &decisions::compare::SideSummary| -> Vec<String> {
        side.runs.iter().map(|run| run.name.clone()).collect()
    };
    Answer::new(format!("{word}. {}", comparison.sentence))
        .with(
            "figures",
            figures.map(|one| figure(one, is_hint)).collect::<Vec<_>>(),
        )
        .with("must_not_claim", must_not_claim)
        .with(
            "runs",
            json!([
                { "baseline": runs(&comparison.baseline) },
                { "candidate": runs(&comparison.candidate) },
            ]),
        )
        .with("notes", comparison.notes.clone())
}

fn figure(compared: &Compared, is_hint: bool) -> Value {
    let margin = match compared.unit {
        FigureUnit::Share => compare::amount(compared.unit, ERROR_MARGIN),
        FigureUnit::Nanoseconds | FigureUnit::PerSecond => compare::amount(compared.unit, MARGIN),
    };
    let outcome = match compared.outcome {
        FigureOutcome::Improved => "better".to_owned(),
        FigureOutcome::NoRegression => format!("no change for the worse larger than {margin}"),
        FigureOutcome::Regressed => "worse".to_owned(),
        FigureOutcome::Inconclusive => "cannot tell".to_owned(),
    };
    let percent = |value: f64| (value * 1e4).round() / 1e2;
    let unit = match compared.unit {
        FigureUnit::Share => "percentage points",
        FigureUnit::Nanoseconds | FigureUnit::PerSecond => "%",
    };
    let interval = compared.change.and_then(|change| change.interval);
    json!({
        "outcome": outcome,
        "value": compared.change.map(|change| percent(change.estimate)),
        "unit": unit,
        "of": format!("change of {} from baseline to candidate", compared.subject),
        "low": interval.map(|(low, _)| percent(low)),
        "high": interval.map(|(_, high)| percent(high)),
        "samples": compared.baseline.len() + compared.candidate.len(),
        "trust": if is_hint { "hint" } else { "full" },
    })
}
