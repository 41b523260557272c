//! Files that are computed from a record and stored next to it.

use std::path::{Path, PathBuf};

use analysis::page::Page;
use record::Run;
use report::derived;

use crate::messages::SharedMessageSink;

/// The result of writing the derived files.
#[derive(Debug)]
pub struct Derived {
    /// Path of the report page, if it was written.
    pub report: Option<PathBuf>,
    /// Whether all files were written.
    pub is_written: bool,
}

/// Writes the derived files into the record.
#[must_use]
pub fn derive(run: &Run, page: &Page, sink: &SharedMessageSink) -> Derived {
    let written = |report| Derived {
        report,
        is_written: true,
    };
    let Some(dir) = run.dir.as_ref() else {
        return written(None);
    };
    let report = dir.join(derived::PAGE);
    if derived::is_poorer(dir, &page.summary) {
        sink.warning(&format_args!(
            "the report in {} covers more data than the record now contains, so it was not overwritten",
            dir.display()
        ));
        return written(report.is_file().then_some(report));
    }
    match derived::write(dir, page) {
        Ok(()) => written(Some(report)),
        Err(error) => {
            sink.error(&format_args!(
"{error}: when the file is writable, run `loadline report {}` to create the report from the record",
dir.display()
));
            Derived {
                report: None,
                is_written: false,
            }
        }
    }
}

/// Adds the run to the index of records. A failure only causes a warning.
pub fn index(run: &Run, page: &Page, sink: &SharedMessageSink) {
    match history::keep(run, &page.summary) {
        Ok(None) => {}
        Ok(Some(aside)) => sink.warning(&history::set_aside(&aside)),
        Err(error) => sink.warning(&error),
    }
}

/// Writes the summary to a file, or to standard output for `-`. Returns `false` on failure.
#[must_use]
pub fn write_json(page: &Page, json: Option<&Path>, sink: &SharedMessageSink) -> bool {
    let Some(path) = json else { return true };
    let written = if path == Path::new("-") {
        derived::json(&page.summary).map(|text| sink.document(&text))
    } else {
        derived::write_json(path, &page.summary)
    };
    written.map_err(|error| sink.error(&error)).is_ok()
}
