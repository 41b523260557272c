//! Audits Loadline's results in the same way as other tools' results.

use analysis::page::{self, Page};
use record::Run;

use crate::check::{self, Severity};

#[must_use]
pub fn page(run: &Run) -> Page {
    let mut page = page::build(run);
    let findings = check::of_summary(&page.summary);
    let contradictions = findings
        .into_iter()
        .filter(|finding| finding.kind == Severity::Contradiction)
        .map(|finding| format!("contradiction: {}", finding.text));
    page.summary.notes.extend(contradictions);
    page
}
