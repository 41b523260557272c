//! Showing a record: after a run, and with `loadline report` whenever somebody wants to see it again.

use std::path::{Path, PathBuf};

use report::{console, derived, markdown};

use analysis::page::{self, Page};

use record::{RecordError, Run};

use crate::{args, artillery, exit, exports::Exports, imported, log};

/// Where records are kept, if nobody says otherwise.
const RUNS: &str = ".loadline/runs";

/// Runs `loadline report`.
pub fn command(args: &args::Report) -> u8 {
    let exports = match exports(args) {
        Ok(exports) => exports,
        Err(line) => {
            log::error(line);
            return exit::BAD_INPUT;
        }
    };
    let runs = args
        .runs
        .clone()
        .or_else(|| std::env::var_os("LOADLINE_RUNS").map(PathBuf::from));
    if Path::new(&args.run).is_file() {
        return imported::command(Path::new(&args.run), args);
    }
    let run = match Run::find(&runs.unwrap_or_else(|| PathBuf::from(RUNS)), &args.run) {
        Ok(run) => run,
        Err(error) => {
            log::error(&error);
            return if matches!(
                error,
                RecordError::NotFound { .. } | RecordError::Ambiguous { .. }
            ) {
                exit::BAD_INPUT
            } else {
                exit::COULD_NOT_RUN
            };
        }
    };
    let page = page(&run);
    if let Some(cut) = run.cut {
        log::warning(analysis::summary::cut_text(cut));
    }
    run.damage.iter().for_each(log::warning);
    let exported = exports.write(&run, &page.summary);
    if let Some(table) = args.table {
        log::out(&markdown::published(&page.summary, table.which()));
        return if exported {
            exit::PASS
        } else {
            exit::COULD_NOT_RUN
        };
    }
    if run.manifest.door == "artillery" {
        log::out(&artillery::again(&run));
    }
    if run.manifest.door == "wrk" {
        log::out(&report::wrk::Report::of(&run, None).replay());
        log::out("\n");
    }
    let shown = show(&run, &page, args.json.as_deref());
    if run.manifest.door == "artillery" {
        log::out(&differences());
    }
    if shown && exported {
        exit::PASS
    } else {
        exit::COULD_NOT_RUN
    }
}

/// The files to be written of an old record.
fn exports(args: &args::Report) -> Result<Exports, String> {
    let exports = Exports::read("--export", args.export.iter().map(String::as_str))?;
    if exports.metrics.is_some() {
        let why = "--export prometheus is served while a run goes on: write junit=FILE or csv=FILE";
        return Err(why.to_owned());
    }
    if !args.export.is_empty() && Path::new(&args.run).is_file() {
        return Err(format!(
            "--export is for records of Loadline's runs, and {} is a file: leave it out, or name a run",
            args.run
        ));
    }
    Ok(exports)
}

/// Where the run differs on purpose from what Artillery would have done.
fn differences() -> String {
    let mut out = String::from("\nOther than in Artillery, where a script comes upon it\n");
    for difference in formats::artillery::differences::DIFFERENCES {
        let line = format!(
            "  {}: {} there, {} here\n",
            difference.topic, difference.original, difference.ours
        );
        out.push_str(&line.replace('`', ""));
    }
    out
}

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
