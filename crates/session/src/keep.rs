//! What is computed of a record, and kept beside it. Which commands do so, and what they print, is theirs.

use std::path::{Path, PathBuf};

use analysis::page::Page;
use record::Run;
use report::derived;

use crate::voice::SharedVoice;

/// Writes what is derived from the record into it; answers where the page is, if it is there.
#[must_use]
pub fn derive(run: &Run, page: &Page, voice: &SharedVoice) -> Option<PathBuf> {
    let dir = run.dir.as_ref()?;
    let report = dir.join(derived::PAGE);
    if derived::is_poorer(dir, &page.summary) {
        voice.warning(&format_args!(
            "the report in {} tells of more than the record still holds: it is kept, nothing is written over it",
            dir.display()
        ));
        return report.is_file().then_some(report);
    }
    // A record that cannot be written to any more is still a record.
    match derived::write(dir, page) {
        Ok(()) => Some(report),
        Err(error) => {
            voice.error(&error);
            None
        }
    }
}

/// Puts the run into the index beside the records. What cannot be put there is worth a word, and no failure.
pub fn index(run: &Run, page: &Page, voice: &SharedVoice) {
    match history::keep(run, &page.summary) {
        Ok(None) => {}
        Ok(Some(aside)) => voice.warning(&history::set_aside(&aside)),
        Err(error) => voice.warning(&error),
    }
}

/// Writes the summary where the user wants it, `-` being standard output; false when that could not be.
#[must_use]
pub fn write_json(page: &Page, json: Option<&Path>, voice: &SharedVoice) -> bool {
    let Some(path) = json else { return true };
    let written = if path == Path::new("-") {
        derived::json(&page.summary).map(|text| voice.document(&text))
    } else {
        derived::write_json(path, &page.summary)
    };
    written.map_err(|error| voice.error(&error)).is_ok()
}
