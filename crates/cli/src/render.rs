//! Showing a record: what is computed of it, printed, and kept beside it. Which commands do so, and when, is theirs.

use std::path::{Path, PathBuf};

use analysis::page::{self, Page};
use record::Run;
use report::{console, derived};

use crate::log;

/// Everything that renderings of a run show, with what contradicts itself in it among its notes.
pub fn page(run: &Run) -> Page {
    let mut page = page::of(run);
    let findings = audit::check::of_summary(&page.summary);
    let wrong = findings
        .into_iter()
        .filter(|finding| finding.kind == audit::check::Kind::Contradiction);
    let notes = wrong.map(|finding| format!("contradiction: {}", finding.text));
    page.summary.notes.extend(notes);
    page
}

/// Prints the summary, and keeps everything as [`keep`] does. The report's path is told when there is a report.
pub fn show(run: &Run, page: &Page, json: Option<&Path>) -> bool {
    log::out(&console::summary_text(&page.summary));
    if let Some(report) = derive(run, page) {
        log::out(&format!("\nReport: {}\n", report.display()));
    }
    write_json(page, json)
}

/// Writes what is derived from the record into it, and the summary's JSON where the user wants it. False when the user's own file
/// could not be written.
pub fn keep(run: &Run, page: &Page, json: Option<&Path>) -> bool {
    derive(run, page);
    write_json(page, json)
}

/// Writes what is derived from the record into it; answers where the page is, if it is there.
fn derive(run: &Run, page: &Page) -> Option<PathBuf> {
    let dir = run.dir.as_ref()?;
    let report = dir.join(derived::PAGE);
    if derived::is_poorer(dir, &page.summary) {
        log::warning(format_args!(
            "the report in {} tells of more than the record still holds: it is kept, nothing is written over it",
            dir.display()
        ));
        return report.is_file().then_some(report);
    }
    // A record that cannot be written to any more is still a record.
    match derived::write(dir, page) {
        Ok(()) => Some(report),
        Err(error) => {
            log::error(error);
            None
        }
    }
}

fn write_json(page: &Page, json: Option<&Path>) -> bool {
    let Some(path) = json else { return true };
    derived::write_json(path, &page.summary)
        .map_err(log::error)
        .is_ok()
}
