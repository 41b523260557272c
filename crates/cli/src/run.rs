//! The command `loadline run`: runs a URL, native plan, script or program, with the flags, report
//! and exit codes of Loadline.

use std::sync::Arc;

use engine::{EngineOptions, hook::Hooks};
use plan::{
    ArrivalProcess, Load, Plan, criteria,
    criteria::{Metric, SpanFilter, Stat},
    mocks::MockAddress,
    profile::{Assumed, Profile},
};
use session::{
    ExternalTool, FinishedRun, Hosts, Job, LabProcess, RecordPolicy, RunObserver, RunOptions,
    ScriptRun, SharedMessageSink, StartError, ca_env,
    exports::{self, Exports},
    hosts, inputs, lab_process, live, naming, sample_size,
};

use crate::{
    args, distributed,
    embedded::{self, Embedded},
    error::{CommandError, flag_error},
    front_ends, headers,
    load::{self, Flags},
    log, messages,
    mock::Mocked,
    probe, programs, travel, urls,
};

mod findings;
mod observers;

use findings::{OtherClients, record_findings};
use observers::{Native, ProgressObserver};

pub fn run(mut args: args::RunArgs) -> u8 {
    distributed::name(&mut args);
    args.what = urls::with_scheme(&args.what);
    let ran = match front_ends::programs(&args.what) {
        Some(programs) => program(programs, &args),
        None => prepare(&args).map(|native_run| execute(native_run, &args)),
    };
    ran.unwrap_or_else(CommandError::print)
}

fn program(programs: &'static dyn ExternalTool, args: &args::RunArgs) -> Result<u8, CommandError> {
    if args.many.on.is_some() || args.part.shard.is_some() || args.part.shard_index.is_some() {
        return Err(CommandError::could_not_run(programs.undistributed()));
    }
    let flags = Flags::read(args)?;
    let asked = asked(args, &flags, args.target.as_deref()).map_err(CommandError::bad_input)?;
    Ok(programs::run(programs, args, asked))
}

pub(crate) struct NativeRun {
    plan: Plan,
    hooks: Option<Arc<dyn Hooks>>,
    pub lab: Option<Embedded>,
    pub broker: Option<LabProcess>,
    mocks: Option<Mocked>,
    seed: u64,
    drain_ns: u64,
    pacing_slack_ns: Option<u64>,
    memory: u64,
    pub script: Option<Box<dyn ScriptRun>>,
    exports: Exports,
}

fn outputs(args: &args::RunArgs) -> Result<Exports, CommandError> {
    let exports = args.export.iter().map(String::as_str);
    let exports = Exports::read("--export", exports).map_err(CommandError::bad_input)?;
    exports
        .can_be_written()
        .map_err(CommandError::could_not_run)?;
    log::makes_way(args.json.as_deref());
    if let Some(json) = args.json.as_deref().filter(|path| !log::is_stdout(path)) {
        exports::can_be_written(json).map_err(CommandError::could_not_run)?;
    }
    Ok(exports)
}

pub(crate) fn prepare(args: &args::RunArgs) -> Result<NativeRun, CommandError> {
    let flags = Flags::read(args)?;
    let exports = outputs(args)?;
    let named = args.target.as_deref().or(Some(args.what.as_str()));
    let mocks = Mocked::start(&args.what, args.runs.as_deref(), args.seed)?;
    let places = mocks.as_ref().map_or(&[][..], |mocks| mocks.addresses());
    let mut lab = Embedded::start(named.unwrap_or_default(), places)?;
    let target = lab
        .as_ref()
        .map(|lab| lab.url().to_owned())
        .or_else(|| args.target.clone());
    contradictions(args, &flags)?;
    let mut named_target = String::new();
    let (mut plan, script) = match front_ends::scripts(&args.what) {
        Some(scripts) => {
            let asked = asked(args, &flags, target.as_deref()).map_err(CommandError::bad_input)?;
            let (plan, script) = scripts.read(&asked).map_err(CommandError::bad_input)?;
            (plan, Some(script))
        }
        None => {
            let mut plan = load::load(args, &flags, target.as_deref(), places)?;
            if lab.is_none() {
                named_target.clone_from(plan.target.expose());
                lab = Embedded::start(plan.target.expose(), places)?;
                if let Some(lab) = &lab {
                    plan = load::load(args, &flags, Some(lab.url()), places)?;
                }
            }
            (plan, None)
        }
    };
    if args.once {
        messages::leave_out(&mut plan, "--once");
    }
    let named = args.target.as_deref().unwrap_or(&named_target);
    let broker = embedded::broker(&mut plan, named, lab.as_ref())?;
    let listeners = lab.as_ref().map_or(&[][..], Embedded::listeners);
    lab_process::resolve(&mut plan, listeners)?;
    travel::apply(&mut plan, args).map_err(CommandError::bad_input)?;
    if let Some(settle) = &args.probe {
        probe::make(&mut plan, settle, args.probe_until.as_deref())?;
    }
    add_rules(&mut plan, args)?;
    if let Some(script) = &mut plan.script {
        script.writes = args.script_write.clone();
    }
    plan.policy.guard = !args.no_guard;
    plan.policy.strict = args.many.strict;
    plan.policy.allow_failures = args.allow_failures;
    plan.policy.omit_excerpts |= args.no_excerpts;
    if args.once {
        plan.load = Load::Once;
        set_aside(&mut plan);
    }
    let problems = plan.problems();
    if !problems.is_empty() {
        return Err(problems.into());
    }
    let hooks = front_ends::hooks(&plan).map_err(CommandError::bad_input)?;
    // Check the hosts before the script starts, because the script resolves addresses.
    Hosts::Native(args.allow_host.clone()).allow(&plan)?;
    let seed = args.seed.unwrap_or_else(inputs::random_seed);
    must_have_arrivals(&plan, seed)?;
    Ok(NativeRun {
        plan,
        hooks,
        lab,
        broker,
        mocks,
        seed,
        drain_ns: flags.drain_ns,
        pacing_slack_ns: flags.pacing_slack_ns,
        memory: flags.memory,
        script,
        exports,
    })
}

fn add_rules(plan: &mut Plan, args: &args::RunArgs) -> Result<(), CommandError> {
    let tags = args.tag.iter().map(String::as_str);
    naming::tag(plan, tags).map_err(|line| CommandError::bad_input(format!("--tag: {line}")))?;
    naming::apply_env_names(plan, args.name.as_deref())?;
    for text in &args.check {
        plan.policy
            .criteria
            .push(criteria::parse_criterion(text).map_err(|e| flag_error("--check", text, &e))?);
    }
    for text in &args.stop {
        plan.policy
            .stop
            .push(criteria::parse_stop(text).map_err(|e| flag_error("--stop", text, &e))?);
    }
    for text in &args.server {
        let source = plan::server::parse(text);
        plan.policy
            .server
            .push(source.map_err(|reason| CommandError::bad_input(format!("--server: {reason}")))?);
    }
    Ok(())
}

fn asked<'a>(
    args: &'a args::RunArgs,
    flags: &Flags,
    target: Option<&'a str>,
) -> Result<RunOptions<'a>, String> {
    let unfit = [
        (args.once, "--once"),
        (args.trace, "--trace"),
        (args.stage.is_some(), "--stage"),
        (args.environment.is_some(), "--environment"),
        (args.http.is_some(), "--http"),
        (args.trace_context.is_some(), "--trace-context"),
        (args.trace_url.is_some(), "--trace-url"),
        (
            args.users.is_some() && front_ends::scripts(&args.what).is_some(),
            "--users",
        ),
        (
            args.users.is_some() && args.connections.is_some(),
            "--connections beside --users",
        ),
    ];
    let headers = args.header.iter().map(|text| headers::read(text));
    Ok(RunOptions {
        what: &args.what,
        target,
        duration_ns: flags.duration_ns,
        workers: args.workers,
        connections: args.connections.or(args.users),
        rate: flags.rate,
        at_random: flags.arrivals == Some(ArrivalProcess::Poisson),
        insecure: args.insecure,
        routed: !args.resolve.is_empty() || args.unix.is_some(),
        arguments: &args.arguments,
        headers: headers.collect::<Result<_, _>>()?,
        unfit: unfit
            .into_iter()
            .find_map(|(given, flag)| given.then_some(flag)),
    })
}

/// Printed after the iteration rather than before it.
const ONE_IS_TOO_FEW: &str =
    "a single iteration (--once) cannot decide these criteria, so they are not judged";

/// Refuses a load or a workload if its first arrival is due after its end.
fn must_have_arrivals(plan: &Plan, seed: u64) -> Result<(), CommandError> {
    if let Some(workload) = plan.workload_without_arrivals(seed) {
        return Err(CommandError::bad_input(format!(
            "workload `{}` plans no arrivals: set a longer duration or a higher rate",
            workload.name
        )));
    }
    if matches!(plan.load, Load::Open { .. }) && plan.schedule(seed).total() == 0 {
        return Err(CommandError::bad_input(no_arrivals(plan)));
    }
    Ok(())
}

/// Describes a load whose first arrival is due after its end.
fn no_arrivals(plan: &Plan) -> String {
    let load = record::load_text(plan);
    let peak = plan.peak_rate().filter(|rate| *rate > 0.0);
    let advice = peak.map_or_else(
        || "set a higher rate".to_owned(),
        |rate| {
            let gap_ns = (plan::units::SECOND as f64 / rate).ceil() as u64;
            format!(
                "arrivals are {} apart, so set a longer duration or a higher rate",
                record::units::duration(gap_ns)
            )
        },
    );
    format!("the load plans no arrivals ({load}): {advice}")
}

fn set_aside(plan: &mut Plan) {
    let decides = |criterion: &plan::Criterion| {
        let one_is_enough = matches!(
            criterion.metric,
            Metric::Errors | Metric::Time(SpanFilter::Service, Stat::Max | Stat::Mean)
        );
        one_is_enough && criterion.phase.is_none() && !criterion.steady
    };
    let (judged, aside) = std::mem::take(&mut plan.policy.criteria)
        .into_iter()
        .partition::<Vec<_>, _>(decides);
    plan.policy.criteria = judged;
    if !aside.is_empty() {
        let texts = aside.iter().map(|criterion| criterion.text.clone());
        let texts: Vec<String> = texts.collect();
        let text = format!("{ONE_IS_TOO_FEW}: {}", texts.join(", "));
        plan.provenance.notes.push(plan::Note { at: None, text });
    }
    plan.policy.unjudged_criteria = aside;
}

fn contradictions(args: &args::RunArgs, flags: &Flags) -> Result<(), CommandError> {
    if !args.arguments.is_empty() && front_ends::scripts(&args.what).is_none() {
        return Err(CommandError::bad_input(
            "arguments after -- are passed only to scripts (.lua): in a test file, use variables instead",
        ));
    }
    if args.what.contains("://") && args.target.is_some() {
        return Err(CommandError::bad_input(
            "--target cannot be combined with a URL as the target: remove one of them",
        ));
    }
    if let Some(flag) = urls::given(args).filter(|_| !args.what.contains("://")) {
        return Err(CommandError::bad_input(format!(
            "{flag} is only for URLs: a test file sets this for each request, and `--target` sets its base URL"
        )));
    }
    let is_url = args.what.contains("://") || args.what.starts_with(lab_process::SCHEME);
    if args.requests.is_some() && !is_url {
        return Err(CommandError::bad_input(
            "--requests counts the requests of a URL, but an iteration of a test file may send several: use --rate or --users with --duration",
        ));
    }
    if args.stage.is_some()
        && (args.what.contains("://") || args.what.starts_with(lab_process::SCHEME))
    {
        return Err(CommandError::bad_input(
            "--stage requires a plan with stages: remove it for a URL",
        ));
    }
    if args.once && flags.shape_the_load(args) {
        return Err(CommandError::bad_input(
            "--once sends a single iteration: remove --rate, --users, --connections, --duration, --requests and --arrivals",
        ));
    }
    Ok(())
}

/// Reports criteria that this load cannot decide, before any request is sent.
fn tell_too_few(plan: &Plan, seed: u64) {
    if !plan.policy.criteria.is_empty() && matches!(plan.load, Load::Open { .. }) {
        let profile = Profile::new(plan, seed, Assumed::default(), &[]);
        for note in sample_size::notes(plan, &profile) {
            log::say(format_args!("loadline: {note}"));
        }
    }
}

fn tell_where(plan: &Plan) {
    if let Some(line) = hosts::first_line(plan) {
        log::say(format_args!("loadline: {line}"));
    }
}

pub fn tell_notes(plan: &Plan) {
    let early = |note: &&plan::Note| !note.text.starts_with(ONE_IS_TOO_FEW);
    for note in plan.provenance.notes.iter().filter(early) {
        match &note.at {
            Some(at) => log::warning(format_args!("{at}: {}", note.text)),
            None => log::warning(&note.text),
        }
    }
}

pub(crate) fn job(
    mut native_run: NativeRun,
    args: &args::RunArgs,
    script: Option<&mut Box<dyn ScriptRun>>,
    sink: &SharedMessageSink,
) -> Result<Job, (String, u8)> {
    let mut options = EngineOptions {
        workers: args.workers,
        seed: native_run.seed,
        trace: args.trace,
        walks: args.once,
        drain_ns: Some(native_run.drain_ns),
        pacing_slack_ns: native_run.pacing_slack_ns,
        memory: Some(native_run.memory),
        hooks: native_run.hooks.take(),
        background: frontend_mqtt::background::driven(
            &native_run.plan,
            native_run.seed,
            args.stamp,
        ),
        ..EngineOptions::default()
    };
    if let Some(script) = script {
        script.ready(&native_run.plan, &mut options, sink)?;
    }
    Ok(Job {
        hosts: Hosts::Native(args.allow_host.clone()),
        runs: args.runs.clone(),
        record: if args.no_record {
            RecordPolicy::Never
        } else {
            RecordPolicy::Required
        },
        secrets: args.secret.clone(),
        live: live::LiveOptions {
            view: args.ui.then_some(args.ui_port),
            share: args.ui_share,
        },
        exports: native_run.exports,
        json: args.json.clone(),
        ..Job::new("run", native_run.plan, options)
    })
}

fn execute(mut native_run: NativeRun, args: &args::RunArgs) -> u8 {
    let sink = log::sink();
    let lab = native_run.lab.take();
    let broker = native_run.broker.take();
    let clients = OtherClients {
        mqtt: native_run.plan.background.is_some(),
        listeners: native_run.plan.listen.is_some(),
    };
    let mocks = native_run.mocks.take();
    let places = mocks.as_ref().map(Mocked::addresses);
    let mut script = native_run.script.take();
    let seed = native_run.seed;
    let job = match job(native_run, args, script.as_mut(), &sink) {
        Ok(job) => job,
        Err((line, code)) => {
            log::error(line);
            return code;
        }
    };
    let part = match args.part.start_at {
        Some(_) => distributed::must_have_one_load(&job.plan),
        None => Ok(()),
    };
    let job = match part.and_then(|()| distributed::shard(args, seed)) {
        Ok(None) => job,
        Ok(Some(part)) => {
            let mut job = job;
            if script.is_some() {
                let text = distributed::NO_DONE.to_owned();
                job.plan
                    .provenance
                    .notes
                    .push(plan::Note { at: None, text });
            }
            job.shard(part)
        }
        Err(stop) => return stop.print(),
    };
    let on_many = match distributed::asked(args) {
        Ok(false) => None,
        Ok(true) => {
            let (lab, broker) = (lab.as_ref(), broker.as_ref());
            match distributed::config(args, &job.plan, seed, lab, broker, mocks.as_ref()) {
                Ok(native_run) => Some(native_run),
                Err(stop) => return stop.print(),
            }
        }
        Err(stop) => return stop.print(),
    };
    let mut frontend = Native {
        progress: ProgressObserver::new(args.quiet),
        script,
        opens: args.open,
        tries: args.once,
        is_verbose: args.verbose,
        is_quiet: args.quiet,
    };
    frontend.progress.mocks = places.map(<[MockAddress]>::to_vec).unwrap_or_default();
    match load(job, on_many, &mut frontend, &sink) {
        Ok(mut ended) => {
            record_findings(&mut ended, &frontend.progress.mocks, clients);
            ended.finish(&mut frontend)
        }
        Err(reason) => frontend.not_run(&reason),
    }
}

fn load(
    job: Job,
    on_many: Option<cluster::ConductorConfig>,
    frontend: &mut Native,
    sink: &SharedMessageSink,
) -> Result<FinishedRun, StartError> {
    let is_quiet = frontend.is_quiet;
    let seed = job.options.seed;
    let tell = |plan: &Plan| {
        if !is_quiet {
            tell_where(plan);
            tell_too_few(plan, seed);
        }
        tell_notes(plan);
        ca_env::can_be_read(plan, sink);
    };
    match on_many {
        Some(native_run) => cluster::conduct(job, native_run, &tell, frontend.observer(), sink),
        None => {
            let ready = session::prepare(job, sink)?;
            tell(ready.plan());
            ready.run(frontend.observer())
        }
    }
}

pub fn read(args: &args::RunArgs) -> Result<(Plan, u64), CommandError> {
    let flags = Flags::read(args)?;
    contradictions(args, &flags)?;
    if let Some(programs) = front_ends::programs(&args.what) {
        return Err(CommandError::bad_input(programs.undistributed()));
    }
    let plan = match front_ends::scripts(&args.what) {
        Some(scripts) => {
            let asked =
                asked(args, &flags, args.target.as_deref()).map_err(CommandError::bad_input)?;
            scripts.read(&asked).map_err(CommandError::bad_input)?.0
        }
        None => load::load(args, &flags, args.target.as_deref(), &[])?,
    };
    Ok((plan, flags.drain_ns))
}
