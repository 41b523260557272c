//! Gate: judges runs by their criteria and by comparison with a baseline.

use record::Run;
use serde::Serialize;

use crate::compare::{ComparedRun, Comparison};
use analysis::verdict::{Judged, Judgement};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    pub schema: u32,
    pub test: String,
    pub baseline: Option<String>,
    pub verdict: GateVerdict,
    pub sentence: String,
    pub exit_code: u8,
    pub runs: Vec<GateRun>,
    pub criteria: Vec<Criterion>,
    /// Comparison with the baseline. `None` if there is no baseline, or if the runs cannot be
    /// compared.
    pub comparison: Option<Comparison>,
    pub incompatibilities: Vec<String>,
    pub saved: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    Passed,
    Failed,
    Inconclusive,
    Invalid,
    Incomparable,
    Unanswered,
}

impl GateVerdict {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            GateVerdict::Passed => "PASS",
            GateVerdict::Failed => "FAIL",
            GateVerdict::Inconclusive => "INCONCLUSIVE",
            GateVerdict::Invalid => "INVALID",
            GateVerdict::Incomparable => "NOT COMPARED",
            GateVerdict::Unanswered => "NO ANSWER",
        }
    }

    fn exit_code(self) -> u8 {
        match self {
            GateVerdict::Passed => 0,
            GateVerdict::Failed => 1,
            GateVerdict::Incomparable => 2,
            GateVerdict::Unanswered => 3,
            GateVerdict::Invalid => 4,
            GateVerdict::Inconclusive => 5,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateRun {
    pub run: String,
    pub revision: Option<String>,
    pub load: String,
    pub measurement: Option<String>,
    pub reason: Option<String>,
    pub criteria: Option<Judgement>,
    pub ended_by: Option<String>,
    pub elapsed_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criterion {
    pub text: String,
    pub judgement: Judgement,
    pub runs: usize,
    pub measured: Option<String>,
}

#[must_use]
pub fn made(entrant: &ComparedRun) -> GateRun {
    let summary = &entrant.summary;
    let measurement = summary.measurement.as_ref();
    let doubted = measurement.filter(|measurement| measurement.verdict != "VALID");
    GateRun {
        run: entrant.name.clone(),
        revision: entrant
            .run
            .as_ref()
            .and_then(|run| run.manifest.git.clone()),
        load: summary.run.load.clone(),
        measurement: measurement.map(|measurement| measurement.verdict.clone()),
        reason: doubted.and_then(|measurement| measurement.reasons.first().cloned()),
        criteria: summary.verdict.criteria,
        ended_by: summary.run.ended_by.clone(),
        elapsed_ns: summary.run.elapsed_ns,
    }
}

#[must_use]
pub fn judge(
    runs: &[ComparedRun],
    comparison: Option<Comparison>,
    hindrances: Vec<String>,
    is_only_made: bool,
) -> Gate {
    let mut gate = Gate {
        schema: 2,
        test: String::new(),
        baseline: None,
        verdict: GateVerdict::Passed,
        sentence: String::new(),
        exit_code: 0,
        runs: runs.iter().map(made).collect(),
        criteria: criteria(runs),
        comparison,
        incompatibilities: hindrances,
        saved: None,
    };
    (gate.verdict, gate.sentence) = verdict(&gate, runs, is_only_made);
    gate.exit_code = gate.verdict.exit_code();
    gate
}

/// Returns the verdict. Invalid runs take precedence over failed runs, which take precedence over
/// the comparison.
fn verdict(gate: &Gate, runs: &[ComparedRun], is_only_made: bool) -> (GateVerdict, String) {
    let without = |entrant: &&ComparedRun| {
        let requests = &entrant.summary.requests;
        requests.are_all_unanswered()
    };
    if let Some(run) = runs.iter().find(without) {
        let sentence = format!("no request to {} was answered", run.name);
        return (GateVerdict::Unanswered, sentence);
    }
    let mut made = gate.runs.iter();
    let invalid = made.find(|run| run.measurement.as_deref() == Some("INVALID"));
    if let Some(run) = invalid {
        let error = run.reason.as_deref().unwrap_or("no reason given");
        let sentence = format!("the measurement of {} is not reliable: {error}", run.run);
        return (GateVerdict::Invalid, sentence);
    }
    if let Some((run, error)) = runs.iter().find_map(failed_by_rule) {
        return (GateVerdict::Failed, format!("{run} was stopped: {error}"));
    }
    if let Some(sentence) = of_criteria(gate, Judgement::Fail, "does not hold") {
        return (GateVerdict::Failed, sentence);
    }
    if let Some(first) = gate.incompatibilities.first() {
        return (GateVerdict::Incomparable, first.clone());
    }
    let undecided = of_criteria(gate, Judgement::Inconclusive, "cannot be decided");
    match &gate.comparison {
        Some(comparison) if comparison.exit_code == 1 => {
            (GateVerdict::Failed, comparison.sentence.clone())
        }
        _ if undecided.is_some() => (GateVerdict::Inconclusive, undecided.unwrap_or_default()),
        Some(comparison) if comparison.exit_code == 0 => {
            (GateVerdict::Passed, comparison.sentence.clone())
        }
        Some(comparison) => (GateVerdict::Inconclusive, comparison.sentence.clone()),
        None if is_only_made => (
            GateVerdict::Passed,
            "no figures needed a comparison".to_owned(),
        ),
        None => (
            GateVerdict::Incomparable,
            "there are no figures to compare".to_owned(),
        ),
    }
}

fn of_criteria(gate: &Gate, judgement: Judgement, what: &str) -> Option<String> {
    let mut criteria = gate.criteria.iter();
    let one = criteria.find(|criterion| criterion.judgement == judgement)?;
    let measured = one.measured.as_ref();
    let measured = measured.map_or_else(String::new, |value| format!(" ({value})"));
    Some(format!(
        "{} {what} in {} of {} runs{measured}",
        one.text,
        one.runs,
        gate.runs.len()
    ))
}

fn failed_by_rule(entrant: &ComparedRun) -> Option<(String, String)> {
    let run: &Run = entrant.run.as_ref()?;
    let end = run.manifest.end.as_ref()?;
    let is_failure = end.cause.as_deref() == Some("rule fail");
    is_failure.then(|| (entrant.name.clone(), end.reason.clone().unwrap_or_default()))
}

fn criteria(runs: &[ComparedRun]) -> Vec<Criterion> {
    let rank = |judgement: Judgement| match judgement {
        Judgement::Pass => 0,
        Judgement::Inconclusive => 1,
        Judgement::Fail => 2,
    };
    let mut all: Vec<Criterion> = Vec::new();
    for judged in runs.iter().flat_map(|run| &run.summary.criteria) {
        let Judged {
            text,
            judgement,
            measured,
            ..
        } = judged;
        let Some(known) = all.iter_mut().find(|known| known.text == *text) else {
            all.push(Criterion {
                text: text.clone(),
                judgement: *judgement,
                runs: 1,
                measured: measured.clone(),
            });
            continue;
        };
        match rank(*judgement).cmp(&rank(known.judgement)) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => known.runs += 1,
            std::cmp::Ordering::Greater => {
                *known = Criterion {
                    text: text.clone(),
                    judgement: *judgement,
                    runs: 1,
                    measured: measured.clone(),
                };
            }
        }
    }
    all
}
