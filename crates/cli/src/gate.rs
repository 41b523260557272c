//! The command `loadline gate`, which runs a test, compares it with a baseline, and exits with a
//! code for CI pipelines.

use std::path::{Path, PathBuf};

use decisions::{
    compare::{self, CompareConfig, ComparedRun, Side},
    gate::{self, Gate, GateVerdict},
};
use report::{console, derived, export, gate as reported};
use session::{exit, signals};
use worker::stop::StopHandle;

use crate::{
    args, baselines,
    child_runs::{self, RunEnv, without_record},
    compare as comparing,
    error::CommandError,
    groups, list, log, redact, rerender,
};

pub fn command(args: &args::Gate) -> u8 {
    match run(args) {
        Ok(code) => code,
        Err(CommandError { lines, code }) => {
            lines.iter().for_each(log::error);
            code
        }
    }
}

fn run(args: &args::Gate) -> Result<u8, CommandError> {
    let mut config = comparing::config(&args.judged)?;
    if let Some(name) = &args.save_baseline {
        baselines::check(name)?;
    }
    [&args.json, &args.markdown]
        .into_iter()
        .for_each(|path| log::makes_way(path.as_deref()));
    let outputs = [&args.json, &args.markdown, &args.junit];
    child_runs::can_be_written(outputs.into_iter().flatten())?;
    let runs = rerender::runs(args.runs.as_deref());
    let baseline = match &args.baseline {
        Some(text) => Some(baseline(text, args, &runs)?),
        None => None,
    };
    if let Some(baseline) = &baseline {
        let no_runs = Side {
            name: String::new(),
            runs: Vec::new(),
        };
        groups::rows_are_there(baseline, &no_runs, &config)?;
        groups::hinder(baseline, &no_runs, args.judged.anyway, &mut config)?;
    }
    let tag = child_runs::tag("gate");
    let folder = folder(args, &tag);
    let env = RunEnv {
        runs: &runs,
        tag: &tag,
        folder: &folder,
    };
    let records = match make(&env, args, baseline.as_ref())? {
        GateRuns::All(records) => records,
        GateRuns::Stopped { records, signal } => {
            log::say(format_args!(
                "loadline: stopped by a signal: {} of {} runs were completed and are stored with the tag {tag}",
                records.len(),
                args.runs_each
            ));
            return Ok(exit::of_signal(signal));
        }
    };
    let entrants = records.iter().map(|dir| groups::recorded(dir));
    let candidate = Side {
        name: tag.clone(),
        runs: entrants.collect::<Result<Vec<ComparedRun>, CommandError>>()?,
    };
    let nothing = Side {
        name: String::new(),
        runs: Vec::new(),
    };
    let unfit = compare::incompatibilities(&candidate, &nothing)
        .into_iter()
        .next();
    let unfit = unfit.filter(|_| !args.judged.anyway).map(|one| one.text);
    let mut gate = decide(baseline.as_ref(), candidate, config)?;
    gate.test = redact::without_secrets(&args.what, &[]);
    gate.baseline.clone_from(&args.baseline);
    save(&mut gate, args, &records, unfit)?;
    print(&gate, args, &folder)?;
    Ok(gate.exit_code)
}

/// Finds the baseline, which is a saved one or any that `compare` accepts.
fn baseline(text: &str, args: &args::Gate, runs: &Path) -> Result<Side, CommandError> {
    if let Some(dir) = baselines::find(&args.baselines, text) {
        let entrants = record::all(&dir);
        let entrants = entrants.iter().map(|dir| groups::recorded(dir));
        return Ok(Side {
            name: text.to_owned(),
            runs: entrants.collect::<Result<_, _>>()?,
        });
    }
    groups::side(text, runs).map_err(|stop| {
if text.contains([':', '/', ',']) {
return stop;
}
CommandError::bad_input(format!(
"no baseline `{text}` in {}: create it with `loadline gate {} --save-baseline {text}`, or name \
the runs as tag:WORD, name:NAME or a folder",
args.baselines.display(),
args.what
))
})
}

enum GateRuns {
    All(Vec<PathBuf>),
    Stopped { records: Vec<PathBuf>, signal: u8 },
}

fn make(
    env: &RunEnv<'_>,
    args: &args::Gate,
    baseline: Option<&Side>,
) -> Result<GateRuns, CommandError> {
    let mut records = Vec::new();
    let all = args.runs_each;
    let target = args.target.iter();
    let mut flags: Vec<String> = target
        .flat_map(|url| ["--target".to_owned(), url.clone()])
        .collect();
    flags.extend(args.flags.iter().cloned());
    // One handle is used for all runs, so that a signal between two runs is not lost.
    let stop = StopHandle::default();
    let _signal_handler = signals::hear(&stop, String::new(), &log::sink())
        .map_err(|error| CommandError::could_not_run(format!("cannot handle signals: {error}")))?;
    for number in 1..=all {
        if let Some(signal) = stop.signal() {
            return Ok(GateRuns::Stopped { records, signal });
        }
        let ran = env.run(number, &args.what, &flags, &[])?;
        if let Some(signal) = ran.signal {
            return Ok(GateRuns::Stopped { records, signal });
        }
        let Some(record) = &ran.record else {
            env.clear(number);
            return Err(without_record(&ran));
        };
        let entrant = groups::recorded(record)?;
        child_runs::is_recorded(&ran, &entrant.summary)?;
        let made = gate::made(&entrant);
        log::say(format_args!(
            "run {number} of {all}  {}",
            reported::made(&made)
        ));
        records.extend(ran.record);
        let this = Side {
            name: String::new(),
            runs: vec![entrant],
        };
        let is_hindered = |baseline| !compare::incompatibilities(baseline, &this).is_empty();
        if !args.judged.anyway && baseline.is_some_and(is_hindered) {
            break;
        }
        if ran.code == exit::COULD_NOT_RUN {
            // After a run without a response or with an internal error, more runs are useless.
            break;
        }
    }
    Ok(GateRuns::All(records))
}

fn decide(
    baseline: Option<&Side>,
    candidate: Side,
    mut config: CompareConfig,
) -> Result<Gate, CommandError> {
    let Some(baseline) = baseline else {
        return Ok(gate::judge(&candidate.runs, None, Vec::new(), true));
    };
    let found = compare::incompatibilities(baseline, &candidate);
    let hindrances: Vec<String> = found.into_iter().map(|one| one.text).collect();
    if !hindrances.is_empty() && !config.hint_decides {
        return Ok(gate::judge(&candidate.runs, None, hindrances, false));
    }
    config.anyway = hindrances;
    groups::rows_are_there(baseline, &candidate, &config)?;
    let comparison = compare::compare(baseline, &candidate, &config);
    Ok(gate::judge(
        &candidate.runs,
        Some(comparison),
        Vec::new(),
        false,
    ))
}

/// Saves the runs for `--save-baseline`.
///
/// Runs that were compared with a baseline must pass. `unfit` is the reason why these runs cannot
/// be used as a baseline.
fn save(
    gate: &mut Gate,
    args: &args::Gate,
    records: &[PathBuf],
    unfit: Option<String>,
) -> Result<(), CommandError> {
    let Some(name) = &args.save_baseline else {
        return Ok(());
    };
    if let Some(reason) = reason_not_to_keep(gate, unfit) {
        log::warning(format_args!("the baseline `{name}` is unchanged: {reason}"));
        return Ok(());
    }
    baselines::save(&args.baselines, name, records)?;
    gate.saved = Some(name.clone());
    Ok(())
}

fn reason_not_to_keep(gate: &Gate, unfit: Option<String>) -> Option<String> {
    match gate.verdict {
        GateVerdict::Passed => None,
        _ if gate.baseline.is_some() => {
            Some("the baseline is replaced only by runs that pass".to_owned())
        }
        GateVerdict::Invalid | GateVerdict::Incomparable | GateVerdict::Unanswered => {
            Some(gate.sentence.clone())
        }
        GateVerdict::Failed | GateVerdict::Inconclusive => unfit,
    }
}

fn folder(args: &args::Gate, tag: &str) -> PathBuf {
    let named = args.out.clone();
    named.unwrap_or_else(|| {
        let baseline = args.baseline.as_deref().unwrap_or("baseline");
        comparing::place(baseline, tag)
    })
}

fn print(gate: &Gate, args: &args::Gate, folder: &Path) -> Result<(), CommandError> {
    if let Some(comparison) = &gate.comparison {
        log::summary(&console::comparison_in(comparison, log::columns()));
    }
    log::out("\n");
    log::summary(&reported::console(gate));
    report(gate, folder)?;
    if let Some(path) = &args.junit {
        let junit = export::junit_gate(gate);
        derived::write_text(path, &junit).map_err(CommandError::could_not_run)?;
    }
    match args.markdown.as_deref() {
        Some(path) if log::is_stdout(path) => log::document(&reported::markdown(gate)),
        Some(path) => {
            derived::write_text(path, &reported::markdown(gate))
                .map_err(CommandError::could_not_run)?;
        }
        None => {}
    }
    match args.json.as_deref() {
        Some(path) => list::write_json(path, gate),
        None => Ok(()),
    }
}

fn report(gate: &Gate, folder: &Path) -> Result<(), CommandError> {
    derived::write_gate(folder, gate).map_err(CommandError::could_not_run)?;
    log::out(&format!(
        "\nReport: {}\n",
        folder.join(derived::PAGE).display()
    ));
    Ok(())
}
