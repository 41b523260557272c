//! A gate as JUnit XML: a test case for each compared figure, for each criterion, and for the
//! measurement. Failures and errors have the same meaning as in `junit`.

use analysis::verdict::Judgement;
use decisions::{
    compare::{Compared, FigureOutcome as Compares, change},
    gate::{Criterion, Gate, GateVerdict},
};

use super::junit::{Case, CaseResult, Suite, timestamp};

const OPEN: u8 = 5;

#[must_use]
pub fn junit_gate(gate: &Gate) -> String {
    let comparison = gate.comparison.as_ref();
    let judged = comparison.map_or(&[][..], |comparison| &comparison.judged[..]);
    let is_open = comparison
        .is_some_and(|comparison| comparison.method.is_hint() && comparison.exit_code == OPEN);
    let mut cases: Vec<Case> = judged
        .iter()
        .map(|one| compared(one, gate, is_open))
        .collect();
    cases.extend(gate.criteria.iter().map(|one| criterion(one, gate)));
    cases.push(measurement(gate));
    let elapsed_ns = gate.runs.iter().map(|run| run.elapsed_ns).sum();
    let began = comparison.and_then(|comparison| comparison.candidate.runs.first());
    let suite = Suite {
        name: &gate.test,
        elapsed_ns,
        timestamp: began.map_or_else(String::new, |run| timestamp(&run.started_utc)),
        properties: vec![
            ("verdict", gate.verdict.word().to_owned()),
            ("exit_code", gate.exit_code.to_string()),
            ("baseline", gate.baseline.clone().unwrap_or_default()),
            ("runs", gate.runs.len().to_string()),
        ],
        system_out: comparison.map_or_else(String::new, |comparison| comparison.notes.join("\n")),
    };
    suite.text(&cases)
}

fn compared(one: &Compared, gate: &Gate, is_open: bool) -> Case {
    let baseline = gate.baseline.as_deref().unwrap_or_default();
    let by = one.change.as_ref();
    let by = by.map_or_else(String::new, |by| format!("{}: ", change(one.unit, by)));
    let reason = format!("{by}{}", one.text);
    Case {
        name: format!("{} against {baseline}", one.subject),
        elapsed_ns: 0,
        outcome: match one.outcome {
            _ if is_open => CaseResult::Error("inconclusive", reason),
            Compares::Improved | Compares::NoRegression => CaseResult::Passed,
            Compares::Inconclusive => CaseResult::Error("inconclusive", reason),
            Compares::Regressed => CaseResult::Failure(reason),
        },
    }
}

fn criterion(one: &Criterion, gate: &Gate) -> Case {
    let measured = one.measured.as_deref().unwrap_or("nothing");
    let reason = format!(
        "measured {measured}, expected {}; same result in {} of {} runs",
        one.text,
        one.runs,
        gate.runs.len()
    );
    Case {
        name: one.text.clone(),
        elapsed_ns: 0,
        outcome: match one.judgement {
            Judgement::Pass => CaseResult::Passed,
            Judgement::Fail => CaseResult::Failure(reason),
            Judgement::Inconclusive => CaseResult::Error("inconclusive", reason),
        },
    }
}

fn measurement(gate: &Gate) -> Case {
    let outcome = match gate.verdict {
        GateVerdict::Invalid => CaseResult::Error("invalid", gate.sentence.clone()),
        GateVerdict::Unanswered => CaseResult::Error("no-answer", gate.sentence.clone()),
        GateVerdict::Incomparable => CaseResult::Error("not-compared", gate.sentence.clone()),
        GateVerdict::Failed if gate.runs.iter().any(|run| run.ended_by.is_some()) => {
            CaseResult::Failure(gate.sentence.clone())
        }
        _ => CaseResult::Passed,
    };
    Case {
        name: "measurement".to_owned(),
        elapsed_ns: gate.runs.iter().map(|run| run.elapsed_ns).sum(),
        outcome,
    }
}
