//! Command line of `loadline history`.

use decisions::{
    compare,
    run_index::{self, MetricTrend, NoTrend, TrendConfig},
};
use report::{console, derived};
use session::exit;

use crate::{
    args, compare as comparing,
    error::{CommandError, flag_error},
    list, log, shell,
};

pub fn command(args: &args::History) -> u8 {
    match run(args) {
        Ok(()) => exit::PASS,
        Err(CommandError { lines, code }) => {
            lines.iter().for_each(log::error);
            code
        }
    }
}

fn run(args: &args::History) -> Result<(), CommandError> {
    let config = config(args)?;
    log::makes_way(args.json.as_deref());
    let runs = list::which(&args.which, false)?;
    let trend = run_index::trend(&runs, &config).map_err(|reason| no_course(&reason, &config))?;
    log::summary(&console::trend_in(&trend, log::columns()));
    write(&trend, args)
}

fn config(args: &args::History) -> Result<TrendConfig, CommandError> {
    let text = &args.figure;
    Ok(TrendConfig {
        subject: compare::read(text).map_err(|error| flag_error("FIGURE", text, &error))?,
        margin: comparing::share("--margin", &args.margin)?,
        error_margin: comparing::share("--error-margin", &args.error_margin)?,
        anyway: args.anyway,
    })
}

fn no_course(reason: &NoTrend, config: &TrendConfig) -> CommandError {
    let subject = &config.subject.text;
    let reason = match reason {
NoTrend::NoRuns => "there are no runs: start one with `loadline run`".to_owned(),
NoTrend::NoneCounts(fault) => format!("no run is usable; for the newest, {fault}"),
NoTrend::NoValue(rows) if config.subject.of.is_some() && rows.is_empty() => {
"the newest run has no rows of this kind".to_owned()
}
NoTrend::NoValue(rows) if config.subject.of.is_some() || rows.len() > 1 => {
let rows: Vec<String> = rows.iter().map(|row| format!("\"{row}\"")).collect();
format!("the newest run has {}", rows.join(", "))
}
NoTrend::NoValue(_) => {
"the index always contains errors and rate, and p50, p90, p95, p99, p99.9, mean and max if enough requests were answered".to_owned()
}
};
    CommandError::bad_input(format!("no usable run has `{subject}`: {reason}"))
}

fn write(trend: &MetricTrend, args: &args::History) -> Result<(), CommandError> {
    if let Some(page) = &args.html {
        derived::write_course(page, trend).map_err(CommandError::could_not_run)?;
        log::out(&format!("\nReport: {}\n", page.display()));
        if args.open {
            shell::open(page);
        }
    }
    match args.json.as_deref() {
        Some(json) => list::write_json(json, trend),
        None => Ok(()),
    }
}
