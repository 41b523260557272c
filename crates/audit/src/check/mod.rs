//! The auditor: whether figures that were printed together can be true together. It knows relations, not tools: what a tool
//! means by a figure comes with the model that `import` reads. Rounding is never held against anybody.

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

/// What an audit found.
#[derive(Debug, Clone, Serialize)]
pub struct Audit {
    /// What was read, in words.
    pub format: String,
    /// Figures read.
    pub figures: usize,
    /// Relations between them that were checked.
    pub relations: usize,
    /// Findings of the kind `contradiction`.
    pub contradictions: usize,
    /// What does not fit, in the order of the text.
    pub findings: Vec<Finding>,
}

impl Audit {
    /// The findings, a line each, and a last line that counts.
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

    /// `63 figures read, 41 relations checked, 3 contradictions`
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

/// Audits what was read.
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

/// Audits a summary of our own; places are those of its `summary.json`.
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
