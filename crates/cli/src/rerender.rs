//! The command `loadline report`, which renders a record again.

use std::path::{Path, PathBuf};

use analysis::page::Page;
use campaign::{External, NotRendered};
use record::{RecordError, Run};
use report::{console, derived, markdown};

use session::{
    SharedMessageSink,
    derived_files::{self, Derived},
    exit,
    exports::Exports,
};

use crate::{args, external_metrics, front_ends, import, log, shell};

const RUNS: &str = ".loadline/runs";

pub fn command(args: &args::Report) -> u8 {
    let folder = Path::new(&args.run);
    if folder.join(campaign::FILE).is_file() {
        return of_campaign(folder, args);
    }
    let exports = match exports(args) {
        Ok(exports) => exports,
        Err(line) => {
            log::error(line);
            return exit::BAD_INPUT;
        }
    };
    let runs = runs(args.runs.as_deref());
    if Path::new(&args.run).is_file() {
        return import::command(Path::new(&args.run), args);
    }
    let mut run = match Run::find(&runs, &args.run) {
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
    if let Err(line) = external_metrics::add(&mut run, args) {
        log::error(line);
        return exit::BAD_INPUT;
    }
    log::makes_way(args.json.as_deref());
    let page = audit::page(&run);
    if let Some(cut) = run.cut {
        log::warning(analysis::summary::cut_text(cut));
    }
    run.damage.iter().for_each(log::warning);
    let sink = log::sink();
    let exported = exports.write(&run, &page.summary, &sink);
    if let Some(table) = args.table {
        log::out(&markdown::published(&page.summary, table.which()));
        return if exported {
            exit::PASS
        } else {
            exit::COULD_NOT_RUN
        };
    }
    let frontend = front_ends::named(&run.manifest.frontend);
    if let Some(frontend) = frontend {
        log::out(&frontend.printed(&run));
    }
    log::summary(&console::summary_in(
        &page.summary,
        log::columns(),
        console::Detail::of(args.verbose),
    ));
    let written = derive(&run, &page, !args.server.is_empty(), &sink);
    report_is_in(written.report.as_deref());
    if let Some(report) = written.report.as_deref().filter(|_| args.open) {
        shell::open(report);
    }
    let json_written = derived_files::write_json(&page, args.json.as_deref(), &sink);
    if let Some(frontend) = frontend {
        log::out(&frontend.remarks());
    } else {
        let code = recorded_code(&run, page.summary.exit_code);
        let line = console::verdict_line(&page.summary, code, log::columns());
        log::summary(&format!("{line}\n"));
    }
    if written.is_written && json_written && exported {
        exit::PASS
    } else {
        exit::COULD_NOT_RUN
    }
}

pub fn runs(named: Option<&Path>) -> PathBuf {
    let named = named.map(Path::to_owned);
    let named = named.or_else(|| std::env::var_os("LOADLINE_RUNS").map(PathBuf::from));
    named.unwrap_or_else(|| PathBuf::from(RUNS))
}

/// Writes the files derived from a run. If they contain external metrics, marks them as not reusable,
/// because a campaign must not use them.
fn derive(run: &Run, page: &Page, has_external: bool, sink: &SharedMessageSink) -> Derived {
    let written = derived_files::derive(run, page, sink);
    let dir = run.dir.as_ref().filter(|_| has_external);
    match dir.map_or(Ok(()), |dir| derived::unstamp(dir)) {
        Ok(()) => written,
        Err(error) => {
            sink.error(&error);
            Derived {
                is_written: false,
                ..written
            }
        }
    }
}

/// Renders the folder of a campaign, which may be incomplete.
fn of_campaign(folder: &Path, args: &args::Report) -> u8 {
    let of_runs = [
        ("--json", args.json.is_some()),
        ("--export", !args.export.is_empty()),
        ("--out", args.out.is_some()),
    ];
    if let Some((flag, _)) = of_runs.into_iter().find(|(_, is_given)| *is_given) {
        log::error(format!(
            "{flag} requires a run, but {} is a campaign: choose one of its runs, as {}/1-STAGE/last; the figures of the campaign are in its campaign.json",
            args.run, args.run
        ));
        return exit::BAD_INPUT;
    }
    let external = match external_metrics::read(args) {
        Ok(external) => external,
        Err(line) => {
            log::error(line);
            return exit::BAD_INPUT;
        }
    };
    if let Some(table) = args.table {
        return campaign_table(folder, external, table);
    }
    let seen = match campaign::render(folder, external, &log::sink()) {
        Ok(seen) => seen,
        Err(error) => return not_rendered(&error),
    };
    log::summary(&console::campaign_in(&seen.campaign, log::columns()));
    match &seen.report {
        Some(report) => {
            log::out(&format!("Report: {}\n", report.display()));
            if args.open {
                shell::open(report);
            }
            exit::PASS
        }
        None => exit::COULD_NOT_RUN,
    }
}

fn campaign_table(folder: &Path, external: External, table: args::ReportTable) -> u8 {
    let stages = match campaign::stage_pages(folder, external, &log::sink()) {
        Ok(stages) => stages,
        Err(error) => return not_rendered(&error),
    };
    for (number, stage) in stages.iter().enumerate() {
        let gap = if number > 0 { "\n" } else { "" };
        log::out(&format!("{gap}## {}\n\n", stage.name));
        log::out(&markdown::published(&stage.page.summary, table.which()));
    }
    exit::PASS
}

fn not_rendered(error: &NotRendered) -> u8 {
    log::error(error);
    match error {
        NotRendered::External(_) => exit::BAD_INPUT,
        NotRendered::Record(_) => exit::COULD_NOT_RUN,
    }
}

/// Returns the exit code of the recorded run. The number of a signal is not recorded.
fn recorded_code(run: &record::Run, code: u8) -> u8 {
    let end = run.manifest.end.as_ref();
    match end.and_then(|end| end.cause.as_deref()) {
        Some("signal") => exit::of_signal(0),
        _ => exit::of_record(code, run),
    }
}

pub fn report_is_in(report: Option<&Path>) {
    if let Some(report) = report {
        log::out(&format!("\nReport: {}\n", report.display()));
    }
}

fn exports(args: &args::Report) -> Result<Exports, String> {
    let exports = Exports::of_finished_run(args.export.iter().map(String::as_str))?;
    if !args.export.is_empty() && Path::new(&args.run).is_file() {
        return Err(format!(
            "--export requires the record of a Loadline run, but {} is a file: remove --export, or specify a run",
            args.run
        ));
    }
    if !args.server.is_empty() && Path::new(&args.run).is_file() {
        return Err(format!(
            "--server requires the record of a Loadline run, but {} is a file: remove --server, or specify a run",
            args.run
        ));
    }
    Ok(exports)
}
