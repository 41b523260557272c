//! `loadline k6 …`: reads the command line and the script, and starts the run.

use std::{path::Path, sync::Arc};

use engine::{EngineOptions, run::DueArrivals};
use k6::{
    exit::RunError,
    log::Level,
    options::{
        OptionSource, Options, UNKNOWN_FIELDS_WARNING,
        consolidate::{Layers, consolidate},
        flags::RunFlags,
        settings::{CompatibilityMode, Settings},
    },
    output::OutputSpec,
    scenario::arrivals::ArrivalSchedule,
};
use plan::units::SECOND;
use script::k6::{LoadError, Script};
use session::{Job, SharedMessageSink, exit, inputs, live};

use crate::{
    lifecycle,
    logger::Logger,
    observer::K6Observer,
    outputs::Outputs,
    plan_of,
    shared::{Opened, Parts, Shared},
    unsupported,
};

/// Exit code of k6 for wrong usage and for a script that does not exist.
pub const USAGE: u8 = 255;
/// Exit code for options that are not valid.
pub const INVALID_CONFIG: u8 = 104;
/// Exit code for an exception outside of iterations.
pub const EXCEPTION: u8 = 107;
/// Version whose behaviour is followed.
pub const VERSION: &str = "2.2.0";

const HELP: &str = "\
Usage: loadline k6 run [OPTIONS] SCRIPT
       loadline k6 version

Runs a k6 script (JavaScript or TypeScript) with k6's options, output and exit codes.
SCRIPT is a file, or - for standard input. See docs/reference/k6.md.

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
        "run" => run(rest, sink),
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
struct Refused {
    code: u8,
    lines: Vec<String>,
}

impl Refused {
    fn new(code: u8, line: impl ToString) -> Refused {
        Refused {
            code,
            lines: vec![line.to_string()],
        }
    }
}

fn run(arguments: &[String], sink: &SharedMessageSink) -> u8 {
    let refuse = |logger: &Logger, refused: &Refused| {
        for line in &refused.lines {
            logger.write(Level::Error, line, &[]);
        }
        refused.code
    };
    let (flags, settings) = match flags(arguments) {
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
    match prepare(&flags, settings, &logger, sink) {
        Ok((shared, ready)) => ready.conduct(&mut K6Observer::new(&shared, &flags.script, sink)),
        Err(refused) => refuse(&logger, &refused),
    }
}

fn flags(arguments: &[String]) -> Result<(RunFlags, Settings), Refused> {
    let usage = |error: &dyn std::fmt::Display| Refused::new(USAGE, error);
    let flags = RunFlags::parse(arguments).map_err(|error| usage(&error))?;
    let environment = Settings::from_env(&variable).map_err(|error| usage(&error))?;
    let settings = flags.settings.clone().or(environment);
    Ok((flags, settings))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn prepare(
    flags: &RunFlags,
    settings: Settings,
    logger: &Logger,
    sink: &SharedMessageSink,
) -> Result<(Arc<Shared>, session::Ready), Refused> {
    let warn = |text: &str, fields: &[(&str, &str)]| logger.write(Level::Warning, text, fields);
    settings.warnings.iter().for_each(|text| warn(text, &[]));
    let script = load(flags, &settings)?;
    let invalid = |error: &dyn std::fmt::Display| Refused::new(INVALID_CONFIG, error);
    let exported = Options::from_json(script.options(), OptionSource::Script);
    let exported = exported.map_err(|error| invalid(&error))?;
    for name in &exported.unknown_fields {
        warn(UNKNOWN_FIELDS_WARNING, &[("field", name)]);
    }
    let layers = Layers {
        config: config_file(&settings)?,
        script: exported.options,
        env: Options::from_env(&variable).map_err(|error| invalid(&error))?,
        cli: flags.options.clone(),
    };
    let consolidated = consolidate(&layers).map_err(|error| invalid(&error))?;
    let options = &consolidated.options;
    let plan = k6::scenario::plan(options, &|name| script.has_function(name));
    let plan = plan.map_err(|error| invalid(&error))?;
    let warnings = consolidated.warnings.iter().chain(&plan.warnings);
    warnings.for_each(|text| warn(text, &[]));
    let lines = unsupported::problems(options, &settings, &plan);
    if !lines.is_empty() {
        let code = INVALID_CONFIG;
        return Err(Refused { code, lines });
    }
    let outputs = outputs(&settings, options, sink).map_err(|error| invalid(&error))?;
    let parts = Parts {
        script,
        consolidated,
        settings,
        plan,
        logger: logger.clone(),
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
    let specs = given.map(|text| OutputSpec::parse(text, &variable));
    let specs: Vec<OutputSpec> = specs.collect::<Result<_, String>>()?;
    let tags = options.enabled_system_tags();
    Ok(Opened {
        outputs: Outputs::open(&specs, &tags, sink)?,
        names: specs.iter().map(OutputSpec::description).collect(),
    })
}

fn load(flags: &RunFlags, settings: &Settings) -> Result<Arc<Script>, Refused> {
    let source = match flags.script.as_str() {
        "-" => {
            let text = std::io::read_to_string(std::io::stdin().lock());
            Some(text.map_err(|error| Refused::new(USAGE, format!("standard input: {error}")))?)
        }
        archive if archive.ends_with(".tar") => {
            let text = format!("{archive}: archives cannot be run: name the script");
            return Err(Refused::new(USAGE, text));
        }
        _ => None,
    };
    let mut environment: Vec<(String, String)> = Vec::new();
    if settings.include_system_env_vars != Some(false) {
        environment.extend(std::env::vars());
    }
    environment.extend(settings.env.iter().cloned());
    let loaded = Script::load(
        Path::new(&flags.script),
        script::k6::Settings {
            environment,
            is_base: settings.compatibility_mode == Some(CompatibilityMode::Base),
            source,
            fetch: None,
        },
    );
    loaded.map_err(|error| match error {
        LoadError::MissingScript(line) => Refused::new(USAGE, line),
        LoadError::Problems(lines) => Refused {
            code: EXCEPTION,
            lines,
        },
        LoadError::Aborted(text) => {
            let error = RunError::ScriptAborted(text);
            Refused::new(error.exit_code(), error.message())
        }
    })
}

/// Reads the configuration file: the one of `--config`, or the user's.
fn config_file(settings: &Settings) -> Result<Options, Refused> {
    let usual = || {
        let folder = variable("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
        let folder = folder.or_else(|| Some(format!("{}/.config", variable("HOME")?)))?;
        Some(format!("{folder}/k6/config.json"))
    };
    let path = match &settings.config {
        Some(path) => path.clone(),
        None => match usual().filter(|path| Path::new(path).is_file()) {
            Some(path) => path,
            None => return Ok(Options::default()),
        },
    };
    let refuse =
        |reason: &dyn std::fmt::Display| Refused::new(INVALID_CONFIG, format!("{path}: {reason}"));
    let text = std::fs::read_to_string(&path).map_err(|error| refuse(&error))?;
    let json = serde_json::from_str(&text).map_err(|error| refuse(&error))?;
    let read = Options::from_json(&json, OptionSource::ConfigFile);
    Ok(read.map_err(|error| refuse(&error))?.options)
}

fn ready(
    shared: &Arc<Shared>,
    script: &str,
    sink: &SharedMessageSink,
) -> Result<session::Ready, Refused> {
    let usage = |line: String| Refused::new(USAGE, line);
    let (exports, live) = live::options_from_env().map_err(usage)?;
    let seed = inputs::seed_from_env().map_err(|line| usage(line.to_owned()))?;
    let mut plan = plan_of::plan(shared, script);
    let environment: Vec<(String, String)> = std::env::vars().collect();
    plan.http.proxies = formats::proxy::from_environment(&environment).map_err(usage)?;
    let options = EngineOptions {
        // One virtual user runs on one thread, and its engine uses more time than the client.
        workers: Some(1),
        seed,
        driver: Some(lifecycle::driver(shared)),
        due: plan.load.is_paced().then(|| due(shared)),
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

/// Returns the planned arrivals, which begin when the executors do.
fn due(shared: &Arc<Shared>) -> DueArrivals {
    let schedules = shared.plan.scenarios.iter().filter_map(|scenario| {
        let schedule = scenario.executor.arrivals()?;
        Some((scenario.start_time_ns, schedule))
    });
    let schedules: Vec<(u64, ArrivalSchedule)> = schedules.collect();
    let shared = Arc::clone(shared);
    Arc::new(move |_, until_ns| {
        let Some(base_ns) = shared.progress.base_ns() else {
            return 0;
        };
        let planned = schedules.iter().map(|(start_ns, schedule)| {
            let elapsed_ns = until_ns.checked_sub(base_ns.saturating_add(*start_ns));
            elapsed_ns.map_or(0, |elapsed_ns| schedule.planned(elapsed_ns))
        });
        planned.sum()
    })
}

/// Returns a duration as k6's flags take it.
pub fn duration_flag(ns: u64) -> String {
    format!("{}s", ns as f64 / SECOND as f64)
}
