//! Checks the relations between printed figures to find out whether all of them can be true.
//! Rounding never counts as a contradiction.

mod answers;
mod checker;
mod concurrency;
mod finding;
mod periods;
mod rates;
mod rows;
mod spread;
mod times;

pub use finding::{Finding, NamedFigure, Severity};

use serde::Serialize;

use crate::import::{self, Import, PrintedReport};

use analysis::summary::Summary;
use checker::Checker;

#[derive(Debug, Clone, Serialize)]
pub struct Audit {
    pub format: String,
    pub figures: usize,
    pub relations: usize,
    pub contradictions: usize,
    pub findings: Vec<Finding>,
}

impl Audit {
    #[must_use]
    pub fn text(&self) -> String {
        let mut text: String = self
            .findings
            .iter()
            .map(|finding| format!("{finding}\n"))
            .collect();
        text.push_str(&self.last_line());
        text.push('\n');
        text
    }

    #[must_use]
    pub fn last_line(&self) -> String {
        let many = |n: usize, one: &str| {
            let plural = if n == 1 { "" } else { "s" };
            format!("{} {one}{plural}", record::units::count(n as u64))
        };
        format!(
            "{} read, {} checked, {}",
            many(self.figures, "figure"),
            many(self.relations, "relation"),
            many(self.contradictions, "contradiction"),
        )
    }
}

#[must_use]
pub fn audit(import: &Import) -> Audit {
    let mut checker = Checker::new(import.needs_columns);
    for report in &import.reports {
        check(&mut checker, report);
    }
    let (mut findings, relations) = checker.done();
    findings.sort_by_key(|finding| (finding.line, finding.column));
    Audit {
        format: import.format.clone(),
        figures: import::figures(&import.reports).len(),
        relations,
        contradictions: findings
            .iter()
            .filter(|finding| finding.kind == Severity::Contradiction)
            .count(),
        findings,
    }
}

/// Checks a summary written by Loadline. Findings refer to positions in `summary.json`.
#[must_use]
pub fn of_summary(summary: &Summary) -> Vec<Finding> {
    let text = serde_json::to_string_pretty(summary).unwrap_or_default();
    import::read(&text).map_or_else(|_| Vec::new(), |import| audit(&import).findings)
}

fn check(checker: &mut Checker, report: &PrintedReport) {
    answers::check(checker, report);
    rates::check(checker, report);
    times::check(checker, report);
    concurrency::check(checker, report);
    rows::check(checker, report);
    periods::check(checker, report);
    for period in &report.periods {
        check(checker, period);
    }
}
