//! JUnit XML: a test case for each criterion, and one for the measurement.
//!
//! FAIL is a *failure*. INCONCLUSIVE, INVALID, and a FAIL that the load generator may have caused
//! are *errors*, because the result is unknown. Both fail a build, like the exit code. `skipped`
//! would not.

use std::fmt::Write as _;

use crate::xml::{attribute, text};
use analysis::{
    summary::Summary,
    verdict::{Judged, Judgement},
};
use record::{Model, units};

#[must_use]
pub fn junit(summary: &Summary) -> String {
    let invalid = summary
        .measurement
        .as_ref()
        .filter(|m| m.verdict == "INVALID");
    let criterion = |judged: &Judged| {
        let mut case = criterion(judged);
        let doubted = invalid.filter(|_| judged.is_robust != Some(true));
        if let (CaseResult::Failure(cause), Some(m)) = (&case.outcome, doubted) {
            let cause = format!(
                "{cause}, but the measurement is invalid: {}",
                m.reasons.join("; ")
            );
            case.outcome = CaseResult::Error("invalid", cause);
        }
        case
    };
    let mut cases: Vec<Case> = summary.criteria.iter().map(criterion).collect();
    cases.extend(summary.unjudged_criteria.iter().map(|text| Case {
        name: text.clone(),
        elapsed_ns: 0,
        outcome: CaseResult::Skipped("this run cannot decide it"),
    }));
    cases.push(measurement(summary));
    let suite = Suite {
        name: &summary.run.name,
        elapsed_ns: summary.run.elapsed_ns,
        timestamp: timestamp(&summary.run.started_utc),
        properties: properties(summary),
        system_out: summary.notes.join("\n"),
    };
    suite.text(&cases)
}

pub(super) struct Suite<'a> {
    pub name: &'a str,
    pub elapsed_ns: u64,
    pub timestamp: String,
    pub properties: Vec<(&'static str, String)>,
    pub system_out: String,
}

impl Suite<'_> {
    pub(super) fn text(&self, cases: &[Case]) -> String {
        let count = |wanted: fn(&CaseResult) -> bool| {
            let outcomes = cases.iter().map(|case| &case.outcome);
            outcomes.filter(|outcome| wanted(outcome)).count()
        };
        let failures = count(|outcome| matches!(outcome, CaseResult::Failure(_)));
        let errors = count(|outcome| matches!(outcome, CaseResult::Error(..)));
        let skipped = count(|outcome| matches!(outcome, CaseResult::Skipped(_)));
        let name = attribute(self.name);
        let numbers = format!(
            "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{}\"",
            cases.len(),
            seconds(self.elapsed_ns)
        );
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(out, "<testsuites name=\"loadline\" {numbers}>");
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" {numbers} timestamp=\"{}\">",
            attribute(&self.timestamp)
        );
        out.push_str("    <properties>\n");
        for (name, value) in &self.properties {
            let value = attribute(value);
            let _ = writeln!(out, "      <property name=\"{name}\" value=\"{value}\"/>");
        }
        out.push_str("    </properties>\n");
        let class = class_name(self.name);
        for case in cases {
            case.write(&class, &mut out);
        }
        if !self.system_out.is_empty() {
            let _ = writeln!(
                out,
                "    <system-out>{}</system-out>",
                text(&self.system_out)
            );
        }
        out.push_str("  </testsuite>\n</testsuites>\n");
        out
    }
}

pub(super) struct Case {
    pub name: String,
    pub elapsed_ns: u64,
    pub outcome: CaseResult,
}

pub(super) enum CaseResult {
    Passed,
    Failure(String),
    Error(&'static str, String),
    Skipped(&'static str),
}

impl Case {
    fn write(&self, class: &str, out: &mut String) {
        let _ = write!(
            out,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\"",
            attribute(class),
            attribute(&self.name),
            seconds(self.elapsed_ns)
        );
        let (element, kind, message) = match &self.outcome {
            CaseResult::Passed => return out.push_str("/>\n"),
            CaseResult::Failure(message) => ("failure", "criterion", message),
            CaseResult::Error(kind, message) => ("error", *kind, message),
            CaseResult::Skipped(reason) => {
                let _ = writeln!(
                    out,
                    ">\n      <skipped message=\"{}\"/>\n    </testcase>",
                    attribute(reason)
                );
                return;
            }
        };
        let _ = writeln!(
            out,
            ">\n      <{element} type=\"{kind}\" message=\"{}\">{}</{element}>\n    </testcase>",
            attribute(message),
            text(message)
        );
    }
}

fn criterion(judged: &Judged) -> Case {
    let measured = judged.measured.as_ref();
    let mut cause = match measured {
        Some(measured) => format!("measured {measured}, expected {}", judged.text),
        None => format!("not measured, expected {}", judged.text),
    };
    let is_past = judged.margin.is_some_and(|margin| margin < 0.0);
    if let Some(distance) = judged.distance().filter(|_| is_past) {
        let _ = write!(cause, ", {distance}");
    }
    if let Some(ns) = judged.first_violation_ns {
        let _ = write!(cause, ", first at {}", units::time(ns));
    }
    if let Some(reason) = &judged.reason {
        let _ = write!(cause, " ({reason})");
    }
    Case {
        name: judged.text.clone(),
        elapsed_ns: 0,
        outcome: match judged.judgement {
            Judgement::Pass => CaseResult::Passed,
            Judgement::Fail => CaseResult::Failure(cause),
            Judgement::Inconclusive => CaseResult::Error("inconclusive", cause),
        },
    }
}

fn measurement(summary: &Summary) -> Case {
    let requests = &summary.requests;
    let outcome = match &summary.measurement {
        None if summary.run.model == Model::Once => {
            CaseResult::Skipped("the measurement of a single iteration is not judged")
        }
        None => CaseResult::Error("nothing-measured", "nothing was requested".to_owned()),
        Some(measurement) if measurement.verdict == "INVALID" => {
            CaseResult::Error("invalid", measurement.line())
        }
        Some(_) if requests.are_all_unanswered() => {
            CaseResult::Error("no-answer", requests.none_answered())
        }
        Some(_) if summary.all_failed() => CaseResult::Error(
            "all-failed",
            format!("all {} requests failed", units::count(summary.all.count)),
        ),
        Some(_) => CaseResult::Passed,
    };
    Case {
        name: "measurement".to_owned(),
        elapsed_ns: summary.run.elapsed_ns,
        outcome,
    }
}

fn properties(summary: &Summary) -> Vec<(&'static str, String)> {
    let measurement = summary.measurement.as_ref();
    vec![
        (
            "measurement",
            measurement.map_or_else(|| "none".to_owned(), |m| m.verdict.clone()),
        ),
        (
            "measurement.reasons",
            measurement.map_or_else(String::new, |m| m.reasons.join(" · ")),
        ),
        ("exit_code", summary.exit_code.to_string()),
        ("target", summary.run.target.clone()),
        ("load", summary.run.load.clone()),
        ("version", summary.run.version.clone()),
        ("record", summary.record.clone().unwrap_or_default()),
    ]
}

fn class_name(run: &str) -> String {
    format!("loadline.{}", run.replace('.', "_"))
}

/// Formats UTC in whole seconds without a time zone, as the JUnit schema requires.
pub(super) fn timestamp(utc: &str) -> String {
    utc.split(['.', 'Z']).next().unwrap_or_default().to_owned()
}

fn seconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_name_has_its_own_dots() {
        assert_eq!(class_name("shop.v2.yml"), "loadline.shop_v2_yml");
    }
}
