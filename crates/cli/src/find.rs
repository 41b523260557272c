//! Command line of `loadline find`.

use plan::mocks::MockAddress;
use std::path::Path;

use clap::Parser;
use decisions::find::{Over, SearchResult, search::SearchConfig};
use find::FindOptions;
use plan::{
    Criterion, Load, Plan,
    criteria::{Metric, parse_criterion},
    units,
};
use report::derived;
use session::{LabProcess, inputs, lab_process, mock_process};

use crate::{
    args, child_runs,
    error::{CommandError, flag_error},
    front_ends, list, load, log,
    mock::Mocked,
    redact, run, shell, urls,
};

const FROM: f64 = 10.0;
const PART: f64 = 4.0;
const SHORTEST_S: f64 = 20.0;

pub fn command(args: &args::Find) -> u8 {
    match run(args) {
        Ok(code) => code,
        Err(CommandError { lines, code }) => {
            lines.iter().for_each(log::error);
            code
        }
    }
}

fn run(args: &args::Find) -> Result<u8, CommandError> {
    let what = urls::with_scheme(&args.what);
    refuse(args, &what)?;
    let is_script = front_ends::scripts(&what).is_some() || front_ends::programs(&what).is_some();
    // Mocks start before the services that call them, and all probes share them.
    let mocks = Mocked::start(&what, None, args.seed)?;
    let places = mocks.as_ref().map_or(&[][..], |mocks| mocks.addresses());
    let own = if is_script {
        None
    } else {
        Some(plan(args, &what, places)?)
    };
    if own
        .as_ref()
        .is_some_and(|plan| !plan.workloads().is_empty())
    {
        return Err(CommandError::bad_input(
            "a search changes one rate or one number of users, but this plan has several `workloads`: write a plan with one `load`",
        ));
    }
    let mut notes = Vec::new();
    let slos = slos(args, own.as_ref(), &mut notes)?;
    if let Some(plan) = &own {
        run::tell_notes(plan);
    }
    let over = over(args);
    let config = config(args, over, own.as_ref())?;
    let named = args.target.clone().or_else(|| Some(what.clone()));
    let lab = named
        .iter()
        .chain(own.as_ref().map(|plan| plan.target.expose()))
        .find_map(|target| target.strip_prefix(lab_process::SCHEME));
    let lab = lab.map(|name| LabProcess::start(&mock_process::redirect(name, places)));
    let lab = lab.transpose()?;
    let wanted = FindOptions {
        redacted: (
            redact::without_secrets(&what, &args.secret),
            args.target
                .as_ref()
                .map(|url| redact::without_secrets(url, &args.secret)),
        ),
        what,
        target: args.target.clone(),
        slos,
        over,
        arrivals: args.arrivals.clone(),
        is_sweep: args.sweep,
        is_script,
        flags: flags(args),
        listeners: lab
            .as_ref()
            .map_or_else(Vec::new, |lab| lab.listeners().to_vec()),
        mocks: mocks.as_ref().and_then(Mocked::environment),
        config,
        folder: args.out.clone(),
        notes,
    };
    child_runs::can_be_written(&args.json)?;
    log::makes_way(args.json.as_deref());
    let found = find::conduct(&wanted, log::columns(), &log::sink());
    let found = found.map_err(|error| CommandError {
        lines: vec![error.line],
        code: error.code,
    })?;
    keep(args, &found.result, &found.folder)?;
    Ok(found.code)
}

fn keep(args: &args::Find, found: &SearchResult, folder: &Path) -> Result<(), CommandError> {
    if let Some(json) = args.json.as_deref() {
        list::write_json(json, found)?;
    }
    if args.open {
        shell::open(&folder.join(derived::PAGE));
    }
    Ok(())
}

fn over(args: &args::Find) -> Over {
    match args.over == "users" {
        true => Over::Users,
        false => Over::Rate,
    }
}

fn refuse(args: &args::Find, what: &str) -> Result<(), CommandError> {
    let programs = front_ends::programs(what);
    if let Some(reason) = programs.and_then(|programs| programs.unsearchable(over(args))) {
        return Err(CommandError::bad_input(format!("{what}: {reason}")));
    }
    if args.over == "users" && front_ends::scripts(what).is_some() {
        return Err(CommandError::bad_input(
            "--over users: a wrk script has connections instead of users",
        ));
    }
    if args.sweep && args.over != "users" {
        return Err(CommandError::bad_input(
            "--sweep measures numbers of users: add --over users",
        ));
    }
    let out = args.out.as_ref();
    if out.is_some_and(|out| out.join(derived::FOUND).exists()) {
        return Err(CommandError::bad_input(
            "--out: the folder already contains a search: choose another folder",
        ));
    }
    Ok(())
}

/// Returns the plan of all probes without its load, in order to find problems before the first
/// request.
fn plan(args: &args::Find, what: &str, mocks: &[MockAddress]) -> Result<Plan, CommandError> {
    let run = as_run(what, args)?;
    let flags = load::Flags::read(&run)?;
    let target = run.target.as_deref().or(Some(what));
    let is_lab = target.is_some_and(|target| target.starts_with(lab_process::SCHEME));
    // The address of an embedded target is not known yet and not needed here.
    let target = if is_lab {
        Some("http://127.0.0.1:9")
    } else {
        run.target.as_deref()
    };
    load::load(&run, &flags, target, mocks)
}

fn as_run(what: &str, args: &args::Find) -> Result<args::RunArgs, CommandError> {
    let mut words = vec!["loadline".to_owned(), "run".to_owned(), what.to_owned()];
    words.extend(flags(args));
    if let Some(target) = &args.target {
        words.extend(["--target".to_owned(), target.clone()]);
    }
    match args::Args::try_parse_from(words).map(|args| args.command) {
        Ok(args::CliCommand::Run(run)) => Ok(*run),
        Ok(_) => Err(CommandError::bad_input(
            "`find` accepts the same files as `run`",
        )),
        Err(error) => Err(CommandError::bad_input(error)),
    }
}

fn slos(
    args: &args::Find,
    plan: Option<&Plan>,
    notes: &mut Vec<String>,
) -> Result<Vec<Criterion>, CommandError> {
    let mut slos = Vec::new();
    for criterion in plan.map_or(&[][..], |plan| &plan.policy.criteria) {
        match unfit(criterion) {
            None => slos.push(criterion.clone()),
            Some(reason) => notes.push(format!(
                "the criterion `{}` of the plan is not used: {reason}",
                criterion.text
            )),
        }
    }
    for text in &args.slo {
        let criterion = parse_criterion(text).map_err(|e| flag_error("--slo", text, &e))?;
        if let Some(reason) = unfit(&criterion) {
            return Err(CommandError::bad_input(format!("--slo '{text}': {reason}")));
        }
        slos.push(criterion);
    }
    if slos.is_empty() && !args.sweep {
        return Err(CommandError::bad_input(
            "there is no criterion for the search: add, for example, --slo 'p99 < 200ms' --slo 'errors < 0.1%', or `criteria:` in the plan",
        ));
    }
    for note in notes {
        log::warning(note);
    }
    Ok(slos)
}

fn unfit(criterion: &Criterion) -> Option<&'static str> {
    if criterion.phase.is_some() {
        return Some("the search sets the phases itself: remove `in \"…\"`");
    }
    if criterion.steady {
        return Some("a probe is too short for a steady state: remove `in steady`");
    }
    matches!(
        criterion.metric,
        Metric::Rate
            | Metric::TokenRate
            | Metric::Unsent
            | Metric::LatenessP99
            | Metric::Messages(_)
    )
    .then_some("it measures the load itself, which the search changes")
}

fn config(
    args: &args::Find,
    over: Over,
    plan: Option<&Plan>,
) -> Result<SearchConfig, CommandError> {
    let whole = over == Over::Users;
    let least = level("--min", args.min.as_deref(), whole)?.unwrap_or(1.0);
    let most = level("--max", args.max.as_deref(), whole)?;
    if most.is_some_and(|most| most <= least) {
        return Err(CommandError::bad_input(
            "--max must be above the lowest level of the search",
        ));
    }
    let own = plan.and_then(|plan| own_level(&plan.load, over));
    let from = level("--from", args.from.as_deref(), whole)?;
    let from = from.unwrap_or_else(|| own.map_or(FROM, |own| own / PART));
    let from = from.max(least).min(most.unwrap_or(f64::INFINITY));
    let precision = match units::parse_quantity(&args.precision) {
        Ok(units::Quantity::Share(share)) if (0.002..=0.5).contains(&share) => share,
        Ok(_) => {
            return Err(CommandError::bad_input(format!(
                "--precision: `{}` is not a share between 0.2% and 50%",
                args.precision
            )));
        }
        Err(error) => return Err(flag_error("--precision", &args.precision, &error)),
    };
    let budget_s = time("--budget", &args.budget)?;
    if budget_s < SHORTEST_S {
        return Err(CommandError::bad_input(format!(
            "--budget: {} is too short for a result: use at least 20s",
            args.budget
        )));
    }
    let settle_s = match args.settle.as_str() {
        "0" | "0s" => 0.0,
        text => time("--settle", text)?,
    };
    Ok(SearchConfig {
        from: if whole { from.round().max(1.0) } else { from },
        least,
        most,
        precision,
        budget_s,
        probe_s: time("--probe", &args.probe)?.max(3.0),
        settle_s,
        whole,
        seed: args.seed.unwrap_or_else(inputs::random_seed),
    })
}

fn own_level(load: &Load, over: Over) -> Option<f64> {
    match (load, over) {
        (Load::Open { phases, .. }, Over::Rate) => phases
            .iter()
            .map(|phase| phase.ends().0.max(phase.ends().1))
            .max_by(f64::total_cmp)
            .filter(|rate| *rate > 0.0),
        (Load::Closed { users, .. }, Over::Users) => Some(f64::from(*users)),
        _ => None,
    }
}

fn level(flag: &str, text: Option<&str>, whole: bool) -> Result<Option<f64>, CommandError> {
    let Some(text) = text else { return Ok(None) };
    if whole {
        let users = text.parse::<u32>().ok().filter(|users| *users > 0);
        let users = users.ok_or_else(|| {
            CommandError::bad_input(format!("{flag}: `{text}` is not a valid number of users"))
        })?;
        return Ok(Some(f64::from(users)));
    }
    let rate = units::parse_rate(text).map_err(|e| flag_error(flag, text, &e))?;
    Ok(Some(rate.as_f64()))
}

fn time(flag: &str, text: &str) -> Result<f64, CommandError> {
    let ns = units::parse_duration(text).map_err(|e| flag_error(flag, text, &e))?;
    Ok(ns as f64 / 1e9)
}

fn flags(args: &args::Find) -> Vec<String> {
    let mut flags = Vec::new();
    let mut several = |flag: &str, values: &[String]| {
        for value in values {
            flags.extend([flag.to_owned(), value.clone()]);
        }
    };
    several("--header", &args.header);
    several("--server", &args.server);
    several("--secret", &args.secret);
    several("--allow-host", &args.allow_host);
    several("--tag", &args.tag);
    several("--drain", std::slice::from_ref(&args.drain));
    if let Some(connections) = args.connections {
        flags.extend(["--connections".to_owned(), connections.to_string()]);
    }
    if let Some(version) = &args.http {
        flags.extend(["--http".to_owned(), version.clone()]);
    }
    if let Some(environment) = &args.environment {
        flags.extend(["--environment".to_owned(), environment.clone()]);
    }
    if let Some(workers) = args.workers {
        flags.extend(["--workers".to_owned(), workers.to_string()]);
    }
    if args.insecure {
        flags.push("--insecure".to_owned());
    }
    flags.extend(args.many.flags());
    flags
}
