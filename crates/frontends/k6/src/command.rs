//! `loadline k6 …`: reads the command line and the script, and starts the run.

use std::{net::IpAddr, sync::Arc};

use engine::{EngineOptions, run::DueArrivals};
use k6::{
    inspect,
    log::Level,
    options::{
        Options,
        flags::{Command, RunFlags},
        settings::Settings,
    },
    output::OutputSpec,
    scenario::{Plan, arrivals::ArrivalSchedule},
};
use plan::{Share, units::SECOND};
use session::{Job, SharedMessageSink, exit, inputs, live};

use crate::{
    lifecycle,
    logger::Logger,
    observer::K6Observer,
    outputs::Outputs,
    plan_of,
    shared::{Opened, Parts, Shared},
    test_file::{self, TestFile},
    unsupported,
};

/// k6's exit code for incorrect usage and for a script that does not exist.
pub const USAGE: u8 = 255;
/// k6's exit code for invalid options.
pub const INVALID_CONFIG: u8 = 104;
/// k6's exit code for an exception outside of iterations.
pub const EXCEPTION: u8 = 107;
/// The k6 version whose behaviour this front end reproduces.
pub const VERSION: &str = "2.2.0";

const HELP: &str = "\
Usage: loadline k6 run [OPTIONS] SCRIPT
       loadline k6 archive [OPTIONS] [-O FILE] SCRIPT
       loadline k6 inspect [OPTIONS] [--execution-requirements] SCRIPT
       loadline k6 version

Runs a k6 script (JavaScript or TypeScript) with k6's options, output and exit codes.
`archive` writes the script with all its files into one file (archive.tar), and `inspect`
prints its options as JSON. SCRIPT is a file, an archive, or - for standard input.
See docs/reference/k6.md.

  -u, --vus N                  virtual users
  -d, --duration D             duration, such as 30s or 1m30s
  -i, --iterations N           iterations of all virtual users together
  -s, --stage D:N              stage of a ramp; repeatable
  -e, --env NAME=VALUE         variable for __ENV; repeatable
      --tag NAME=VALUE         tag of all samples; repeatable
      --no-thresholds          ignore thresholds
      --summary-mode MODE      compact, full, legacy or disabled
      --summary-export FILE    summary as JSON
  -o, --out TYPE=FILE          samples as json or csv; repeatable
  -q, --quiet                  no banner and no progress
";

pub fn command(arguments: &[String], sink: &SharedMessageSink) -> u8 {
    let (first, rest) = match arguments.split_first() {
        Some((first, rest)) => (first.as_str(), rest),
        None => ("help", arguments),
    };
    match first {
        "run" => run(Command::Run, rest, sink),
        "archive" => run(Command::Archive, rest, sink),
        "inspect" => run(Command::Inspect, rest, sink),
        "version" | "--version" => {
            sink.out(&format!("k6 v{VERSION} (as run by Loadline)\n"));
            exit::PASS
        }
        "help" | "--help" | "-h" => {
            sink.out(HELP);
            exit::PASS
        }
        other => {
            sink.error(&format_args!(
                "`k6 {other}` is not supported: use `loadline k6 run SCRIPT`"
            ));
            USAGE
        }
    }
}

/// Why a run does not start.
pub struct Refused {
    pub code: u8,
    pub lines: Vec<String>,
}

impl Refused {
    pub fn new(code: u8, line: impl ToString) -> Refused {
        Refused {
            code,
            lines: vec![line.to_string()],
        }
    }
}

fn run(command: Command, arguments: &[String], sink: &SharedMessageSink) -> u8 {
    let refuse = |logger: &Logger, refused: &Refused| {
        for line in &refused.lines {
            logger.write(Level::Error, line, &[]);
        }
        refused.code
    };
    let (flags, settings) = match flags(command, arguments) {
        Ok(read) => read,
        Err(refused) => return refuse(&Logger::usual(sink), &refused),
    };
    if settings.help == Some(true) {
        sink.out(HELP);
        return exit::PASS;
    }
    let logger = match Logger::new(&settings, sink) {
        Ok(logger) => logger,
        Err(line) => return refuse(&Logger::usual(sink), &Refused::new(USAGE, line)),
    };
    let done = match command {
        Command::Run => prepare(&flags, settings, &logger, sink).map(|(shared, ready)| {
            ready.conduct(&mut K6Observer::new(&shared, &flags.script, sink))
        }),
        Command::Archive => archive(&flags, &settings, &logger),
        Command::Inspect => inspect(&flags, &settings, &logger, sink),
    };
    done.unwrap_or_else(|refused| refuse(&logger, &refused))
}

/// Writes a test with its files to an archive.
fn archive(flags: &RunFlags, settings: &Settings, logger: &Logger) -> Result<u8, Refused> {
    let test = TestFile::load(flags, settings, Command::Archive)?;
    let consolidated = test.consolidated(flags, settings, logger)?;
    test.plan(&consolidated.options)?;
    if let Some(package) = test.packages().next() {
        let text = format!(
            "{package}: an archive cannot have packages of node_modules: bundle the script first"
        );
        return Err(Refused::new(INVALID_CONFIG, text));
    }
    let path = settings.archive_out.as_deref().unwrap_or("archive.tar");
    let bytes = test.archive(&consolidated.options, settings).to_bytes();
    let written = std::fs::write(path, bytes);
    written.map_err(|error| Refused::new(USAGE, format!("{path}: {error}")))?;
    Ok(exit::PASS)
}

/// Prints the options of a test.
fn inspect(
    flags: &RunFlags,
    settings: &Settings,
    logger: &Logger,
    sink: &SharedMessageSink,
) -> Result<u8, Refused> {
    let test = TestFile::load(flags, settings, Command::Inspect)?;
    let text = if settings.execution_requirements == Some(true) {
        let consolidated = test.consolidated(flags, settings, logger)?;
        let plan = test.plan(&consolidated.options)?;
        inspect::inspect(&consolidated.options, Some(&plan))
    } else {
        inspect::inspect(&test.exported(logger)?, None)
    };
    sink.out(&text);
    Ok(exit::PASS)
}

fn flags(command: Command, arguments: &[String]) -> Result<(RunFlags, Settings), Refused> {
    let usage = |error: &dyn std::fmt::Display| Refused::new(USAGE, error);
    let flags = RunFlags::parse_for(command, arguments).map_err(|error| usage(&error))?;
    let environment = Settings::from_env(&test_file::variable).map_err(|error| usage(&error))?;
    let settings = flags.settings.clone().or(environment);
    Ok((flags, settings))
}

fn prepare(
    flags: &RunFlags,
    settings: Settings,
    logger: &Logger,
    sink: &SharedMessageSink,
) -> Result<(Arc<Shared>, session::Ready), Refused> {
    let warn = |text: &str, fields: &[(&str, &str)]| logger.write(Level::Warning, text, fields);
    settings.warnings.iter().for_each(|text| warn(text, &[]));
    let test = TestFile::load(flags, &settings, Command::Run)?;
    let invalid = |error: &dyn std::fmt::Display| Refused::new(INVALID_CONFIG, error);
    let consolidated = test.consolidated(flags, &settings, logger)?;
    let options = &consolidated.options;
    let plan = test.plan(options)?;
    let warnings = consolidated.warnings.iter().chain(&plan.warnings);
    warnings.for_each(|text| warn(text, &[]));
    let lines = unsupported::problems(options, &settings, &plan);
    if !lines.is_empty() {
        let code = INVALID_CONFIG;
        return Err(Refused { code, lines });
    }
    let outputs = outputs(&settings, options, sink).map_err(|error| invalid(&error))?;
    let console = options.console_output.as_ref();
    let console = console.map(|path| logger.to_file("--console-output", path));
    let console = console.transpose().map_err(|error| invalid(&error))?;
    let parts = Parts {
        script: test.script,
        consolidated,
        settings,
        plan,
        logger: logger.clone(),
        console,
        outputs,
    };
    let shared = Shared::new(parts).map_err(|error| invalid(&error))?;
    let ready = ready(&shared, &flags.script, sink)?;
    Ok((shared, ready))
}

fn outputs(
    settings: &Settings,
    options: &Options,
    sink: &SharedMessageSink,
) -> Result<Opened, String> {
    let given = settings.out.iter().flatten();
    let specs = given.map(|text| OutputSpec::parse(text, &test_file::variable));
    let specs: Vec<OutputSpec> = specs.collect::<Result<_, String>>()?;
    let tags = options.enabled_system_tags();
    Ok(Opened {
        outputs: Outputs::open(&specs, &tags, sink)?,
        names: specs.iter().map(OutputSpec::description).collect(),
    })
}

/// Shorter values of inherited environment variables do not count as secrets, because they may be
/// common words.
const SHORTEST_SECRET: usize = 12;

fn ready(
    shared: &Arc<Shared>,
    script: &str,
    sink: &SharedMessageSink,
) -> Result<session::Ready, Refused> {
    let usage = |line: String| Refused::new(USAGE, line);
    let (exports, live) = live::options_from_env().map_err(usage)?;
    let seed = inputs::seed_from_env().map_err(|line| usage(line.to_owned()))?;
    let mut plan = plan_of::plan(shared, script);
    worker::net::tls::check(&plan.http).map_err(|line| Refused::new(INVALID_CONFIG, line))?;
    let environment: Vec<(String, String)> = std::env::vars().collect();
    plan.http.proxies = formats::proxy::from_environment(&environment).map_err(usage)?;
    plan.secrets = secrets(&shared.settings.env, &environment);
    let workers = workers(&shared.plan).map_err(usage)?;
    let options = EngineOptions {
        workers: Some(workers),
        sources: sources(&shared.options).map_err(|line| Refused::new(INVALID_CONFIG, line))?,
        seed,
        driver: Some(lifecycle::driver(shared)),
        due: shared.has_arrivals().then(|| due(shared, workers)),
        ..EngineOptions::default()
    };
    let job = Job {
        live,
        exports,
        never_checks: shared.options.insecure_skip_tls_verify == Some(true),
        ..Job::new(plan_of::NAME, plan, options)
    };
    session::prepare(job, sink).map_err(|refused| Refused {
        code: INVALID_CONFIG,
        lines: refused.problems.iter().map(ToString::to_string).collect(),
    })
}

/// Returns the values of variables whose names indicate secrets. Scripts may use them in URLs, tags
/// and names of checks. Omits short values and paths of the system's variables, because they may be
/// common words.
fn secrets(own: &[(String, String)], system: &[(String, String)]) -> Vec<String> {
    let is_secret = |(name, _): &&(String, String)| plan::is_secret_name(name);
    let is_word = |value: &str| value.len() < SHORTEST_SECRET || value.starts_with('/');
    let system = system.iter().filter(|(_, value)| !is_word(value));
    let all = own.iter().chain(system).filter(is_secret);
    all.map(|(_, value)| value.clone()).collect()
}

/// Maximum number of addresses of `--local-ips`.
const MOST_SOURCES: u128 = 65_536;

/// Returns the addresses that connections come from, in turn. Empty means that the system chooses.
fn sources(options: &Options) -> Result<Vec<IpAddr>, String> {
    let ranges = options.local_ips.iter().flat_map(|ranges| &ranges.0);
    let mut sources = Vec::new();
    for range in ranges {
        if range.count().saturating_add(sources.len() as u128) > MOST_SOURCES {
            return Err(format!(
                "--local-ips: more than {MOST_SOURCES} addresses: use smaller ranges"
            ));
        }
        sources.extend((0..range.count()).map_while(|index| range.nth(index)));
    }
    Ok(sources)
}

/// Maximum of `LOADLINE_WORKERS`.
const MOST_WORKERS: usize = 1_024;
/// Planned virtual users for each worker, unless there are fewer cores.
const VUS_PER_WORKER: u64 = 10;

/// Returns the number of workers: from `LOADLINE_WORKERS`, or by the number of virtual users.
fn workers(plan: &Plan) -> Result<usize, String> {
    let planned = plan.planned_vus().max(1);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let wanted = match std::env::var("LOADLINE_WORKERS") {
        Err(_) => usize::try_from(planned.div_ceil(VUS_PER_WORKER)).map_or(cores, |n| n.min(cores)),
        Ok(text) => match text.parse() {
            Ok(workers @ 1..=MOST_WORKERS) => workers,
            _ => {
                return Err(format!(
                    "LOADLINE_WORKERS is not a whole number from 1 to {MOST_WORKERS}"
                ));
            }
        },
    };
    // A worker without virtual users would do nothing.
    Ok(usize::try_from(planned).map_or(wanted, |planned| wanted.min(planned)))
}

/// Planned arrivals of a scenario.
struct PlannedArrivals {
    scenario: usize,
    start_ns: u64,
    schedule: ArrivalSchedule,
}

/// Returns the planned arrivals of a worker, which begin when the executors do.
fn due(shared: &Arc<Shared>, workers: usize) -> DueArrivals {
    let scenarios = shared.plan.scenarios.iter().enumerate();
    let planned = scenarios.filter_map(|(index, scenario)| {
        Some(PlannedArrivals {
            scenario: index,
            start_ns: scenario.start_time_ns,
            schedule: scenario.executor.arrivals()?,
        })
    });
    let planned: Vec<PlannedArrivals> = planned.collect();
    let shared = Arc::clone(shared);
    Arc::new(move |worker, until_ns| {
        let Some(base_ns) = shared.progress.base_ns() else {
            return 0;
        };
        let worker = Share::WHOLE.part(worker as u64, workers as u64);
        let due = planned.iter().map(|own| {
            let elapsed_ns = until_ns.checked_sub(base_ns.saturating_add(own.start_ns));
            let arrivals = elapsed_ns.map_or(0, |elapsed_ns| own.schedule.planned(elapsed_ns));
            let share = shared.scenario_share(worker, own.scenario);
            share.of_first(arrivals)
        });
        due.sum()
    })
}

/// Formats a duration for k6's flags.
pub fn duration_flag(ns: u64) -> String {
    format!("{}s", ns as f64 / SECOND as f64)
}
