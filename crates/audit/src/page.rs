//! Everything that renderings of a run show, audited like any other tool's output.

use analysis::page::{self, Page};
use record::Run;

use crate::check::{self, Severity};

/// Computes what renderings show. Contradictions found in it are among its notes.
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
