//! The command `loadline compare`, which finds and checks runs. `decisions::compare` evaluates
//! them.

use std::path::{Path, PathBuf};

use decisions::compare::{self, CompareConfig, Comparison};
use plan::units::{Quantity, parse_quantity};
use report::{console, derived};
use session::exit;

use crate::{
    args,
    error::{CommandError, flag_error},
    groups::{hinder, no_run_on_both, rows_are_there, side},
    log, rerender, shell,
};

const FOLDER: &str = ".loadline/comparisons";

pub fn command(args: &args::Compare) -> u8 {
    match run(args) {
        Ok(code) => code,
        Err(CommandError { lines, code }) => {
            lines.iter().for_each(log::error);
            code
        }
    }
}

fn run(args: &args::Compare) -> Result<u8, CommandError> {
    let mut config = config(&args.judged)?;
    let runs = rerender::runs(args.runs.as_deref());
    let baseline = side(&args.baseline, &runs)?;
    let candidate = side(&args.candidate, &runs)?;
    no_run_on_both(&baseline, &candidate)?;
    rows_are_there(&baseline, &candidate, &config)?;
    hinder(&baseline, &candidate, args.judged.anyway, &mut config)?;
    let comparison = compare::compare(&baseline, &candidate, &config);
    log::makes_way(args.json.as_deref());
    log::summary(&console::comparison_in(&comparison, log::columns()));
    let dir = args.out.clone();
    let dir = dir.unwrap_or_else(|| place(&args.baseline, &args.candidate));
    let is_written = write(&comparison, &dir, args.json.as_deref());
    if is_written && args.open {
        shell::open(&dir.join(derived::PAGE));
    }
    Ok(if is_written {
        comparison.exit_code
    } else {
        exit::COULD_NOT_RUN
    })
}

pub fn config(judged: &args::Judged) -> Result<CompareConfig, CommandError> {
    let subjects = judged
        .metric
        .iter()
        .map(|text| compare::read(text).map_err(|error| flag_error("--metric", text, &error)));
    Ok(CompareConfig {
        subjects: subjects.collect::<Result<_, _>>()?,
        margin: share("--margin", &judged.margin)?,
        error_margin: share("--error-margin", &judged.error_margin)?,
        confidence: compare::CONFIDENCE,
        anyway: Vec::new(),
        hint_decides: judged.anyway,
    })
}

pub fn share(flag: &str, text: &str) -> Result<f64, CommandError> {
    match parse_quantity(text) {
        Ok(Quantity::Share(share)) if share < 1.0 => Ok(share),
        Ok(_) => Err(CommandError::bad_input(format!(
            "{flag}: `{text}` is not a share below 100 %: use, for example, 5%"
        ))),
        Err(error) => Err(flag_error(flag, text, &error)),
    }
}

pub fn write(comparison: &Comparison, dir: &Path, json: Option<&Path>) -> bool {
    let written = derived::write_comparison(dir, comparison);
    let written = written.and_then(|()| match json {
        Some(json) if log::is_stdout(json) => {
            log::document(&derived::as_json(comparison)?);
            Ok(())
        }
        Some(json) => derived::write_as_json(json, comparison),
        None => Ok(()),
    });
    match written {
        Ok(()) => {
            let report = dir.join(derived::PAGE);
            log::out(&format!("\nReport: {}\n", report.display()));
            true
        }
        Err(error) => {
            log::error(error);
            false
        }
    }
}

pub fn place(baseline: &str, candidate: &str) -> PathBuf {
    Path::new(FOLDER).join(folder(baseline, candidate))
}

fn folder(baseline: &str, candidate: &str) -> String {
    const LONGEST: usize = 80;
    let names = format!("{baseline}-{candidate}");
    let is_fine = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fine = names.chars().map(|c| if is_fine(c) { c } else { '-' });
    let name: String = fine.clone().take(LONGEST).collect();
    if fine.count() <= LONGEST {
        return name;
    }
    let hash = record::sha256(names.as_bytes());
    format!("{name}-{}", &hash[..8])
}
