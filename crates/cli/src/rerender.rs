//! `loadline report`: shows a record again, whenever somebody wants to see it, behind whichever door it was made. Computing and
//! keeping what is shown is [`crate::render`]'s.

use std::path::{Path, PathBuf};

use record::{RecordError, Run};
use report::markdown;

use crate::{args, artillery, exit, exports::Exports, imported, log, render};

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
    let page = render::page(&run);
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
        log::out(&report::wrk::WrkReport::of(&run, None).replay());
        log::out("\n");
    }
    let shown = render::show(&run, &page, args.json.as_deref());
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
