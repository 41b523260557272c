//! Distributed runs: `loadline run … --on local|ray`, and `loadline node`. The crate `cluster`
//! coordinates them.

use cluster::{Backend, ConductorConfig, Local, Ray};
use plan::{Plan, Share, units::MILLISECOND};
use record::{RunStart, units};
use session::{LabProcess, RunPartOrder, inputs, lab_process, mock_process};
use worker::clock;

use crate::{
    args,
    embedded::Embedded,
    error::{CommandError, flag_error},
    log,
    mock::Mocked,
    ray_files, rerender,
};

const MOST: u64 = 4096;
/// Minimum time between the moment when a part is ready and its start.
const LEAD_NS: u64 = 50 * MILLISECOND;
const KEPT: &str = ".nodes";

pub const NO_DONE: &str = "the script's done() is not called: it needs the figures of the whole \
    run, and this part runs without a conductor";

const MOST_NODES_HERE: u64 = 256;
const MOST_NODES: u64 = 4096;

pub fn asked(args: &args::RunArgs) -> Result<bool, CommandError> {
    let many = &args.many;
    if many.on.is_none() {
        return Ok(false);
    }
    let alone = [(args.once, "--once"), (args.trace, "--trace")];
    if let Some((_, flag)) = alone.iter().find(|(given, _)| *given) {
        return Err(CommandError::bad_input(format!(
            "{flag} cannot be combined with --on: a trial uses a single process, so remove --on"
        )));
    }
    if many.nodes == Some(0) {
        return Err(CommandError::bad_input("--nodes 0: use at least 1"));
    }
    let on_ray = many.on.as_deref() == Some("ray");
    let most = if on_ray { MOST_NODES } else { MOST_NODES_HERE };
    if let Some(nodes) = many.nodes.filter(|nodes| *nodes > most) {
        let place = if on_ray {
            "of a Ray cluster"
        } else {
            "on this machine"
        };
        return Err(CommandError::bad_input(format!(
            "--nodes {nodes}: at most {most} nodes {place} can share a run"
        )));
    }
    if !on_ray && (many.address.is_some() || many.insecure_cluster || many.wait.is_some()) {
        return Err(CommandError::bad_input(
            "--address, --wait and --insecure-cluster require --on ray: with --on local, nodes are processes on this machine",
        ));
    }
    Ok(true)
}

/// Refuses a plan that cannot be divided among several processes.
pub fn must_be_divisible(plan: &Plan) -> Result<(), CommandError> {
    if plan.listen.is_some() {
        return Err(CommandError::bad_input(plan::listen::ONE_PROCESS));
    }
    must_have_one_load(plan)
}

/// Refuses a plan with several workloads of scenarios.
pub fn must_have_one_load(plan: &Plan) -> Result<(), CommandError> {
    let is_native = matches!(plan.work, plan::Work::Scenarios(_));
    if is_native && !plan.workloads().is_empty() {
        return Err(CommandError::bad_input(plan::SEVERAL_IN_ONE_PROCESS));
    }
    Ok(())
}

/// Returns the options for the conductor.
///
/// Fails with an error that describes the first invalid option.
pub fn config(
    args: &args::RunArgs,
    plan: &Plan,
    seed: u64,
    lab: Option<&Embedded>,
    broker: Option<&LabProcess>,
    mocks: Option<&Mocked>,
) -> Result<ConductorConfig, CommandError> {
    must_be_divisible(plan)?;
    let on_ray = args.many.on.as_deref() == Some("ray");
    let is_here = matches!(lab, Some(Embedded::Own(_))) || broker.is_some() || mocks.is_some();
    if on_ray && is_here {
        return Err(CommandError::bad_input(
            "embedded targets (lab:) and mocks listen on this machine only: start them where the cluster nodes can reach them, and pass the address with --target",
        ));
    }
    if let Some(script) = plan.script.as_ref().filter(|_| on_ray) {
        return Err(CommandError::bad_input(format!(
            "the modules of {} are not sent to other machines yet: use --on local",
            script.path.display()
        )));
    }
    let mut environment = Vec::new();
    let own = match lab {
        Some(Embedded::Own(lab)) => lab.listeners(),
        _ => &[],
    };
    let listeners: Vec<&str> = own
        .iter()
        .chain(broker.map_or(&[][..], LabProcess::listeners))
        .map(String::as_str)
        .collect();
    if !listeners.is_empty() {
        let name = lab_process::ENVIRONMENT.to_owned();
        environment.push((name, listeners.join(" ")));
    }
    if let Some(reported) = mocks.and_then(Mocked::environment) {
        environment.push((mock_process::ENVIRONMENT.to_owned(), reported));
    }
    let mut of_node = args.clone();
    of_node.many = args::Many::default();
    of_node.seed = Some(seed);
    (of_node.json, of_node.export) = (None, Vec::new());
    (of_node.ui, of_node.open) = (false, false);
    of_node.runs = None;
    let test = serde_json::to_value(&of_node).map_err(|error| {
        CommandError::could_not_run(format!(
            "the command line cannot be sent to the nodes: {error}"
        ))
    })?;
    let (backend, keep): (Box<dyn Backend>, _) = if on_ray {
        let many = &args.many;
        let mut ray = Ray::new(many.address.clone(), many.insecure_cluster, &log::sink());
        if let Some(text) = &many.wait {
            let wait_ns =
                plan::units::parse_duration(text).map_err(|e| flag_error("--wait", text, &e))?;
            ray.place_s = wait_ns.div_ceil(plan::units::SECOND);
        }
        let shipped = ray_files::collect(args, plan).map_err(CommandError::bad_input)?;
        environment.extend(ray_files::environment(&shipped.files, &test));
        (ray.files, ray.folder, ray.environment) = (shipped.files, shipped.folder, environment);
        (Box::new(ray), None)
    } else {
        let keep = rerender::runs(args.runs.as_deref()).join(KEPT);
        (Box::new(Local::with(environment)), Some(keep))
    };
    Ok(ConductorConfig {
        backend,
        nodes: args.many.nodes,
        test,
        keep,
    })
}

pub fn name(args: &mut args::RunArgs) {
    let moment = args.part.start_at.as_deref().and_then(record::moment);
    args.stamp = match (args.stamp, args.seed, moment) {
        (Some(stamp), ..) => Some(stamp),
        (None, Some(seed), Some(at_ns)) => {
            Some(frontend_mqtt::background::stamp_of_parts(seed, at_ns))
        }
        _ => args
            .many
            .on
            .as_ref()
            .map(|_| frontend_mqtt::background::any_stamp()),
    };
}

/// Returns the part of the run selected by `--shard`.
///
/// Fails if a flag is invalid or the start is in the past.
pub fn shard(args: &args::RunArgs, seed: u64) -> Result<Option<RunPartOrder>, CommandError> {
    let part = &args.part;
    let (text, first, flag) = match (&part.shard, &part.shard_index) {
        (Some(text), _) => (text, 1, "--shard"),
        (None, Some(text)) => (text, 0, "--shard-index"),
        (None, None) => return Ok(None),
    };
    let share = text.split_once('/').and_then(|(index, of)| {
        let share = Share {
            index: index.parse::<u64>().ok()?.checked_sub(first)?,
            of: of.parse().ok()?,
        };
        (share.index < share.of && share.of <= MOST).then_some(share)
    });
    let share = share.ok_or_else(|| {
        CommandError::bad_input(format!(
            "{flag} {text}: use INDEX/COUNT, for example {first}/8 for the first of eight; at most {MOST} parts"
        ))
    })?;
    if args.once || args.ui {
        let flag = if args.once { "--once" } else { "--ui" };
        return Err(CommandError::bad_input(format!(
            "{flag} cannot be combined with --shard: remove it"
        )));
    }
    let text = args.part.start_at.as_deref().unwrap_or_default();
    let at_ns = record::moment(text).ok_or_else(|| {
        CommandError::bad_input(format!(
            "--start-at {text}: use a time such as 2026-11-24T19:30:00Z, or seconds since 1970"
        ))
    })?;
    let (wall_ns, monotonic_ns) = (inputs::now_wall_ns(), clock::monotonic_ns());
    let ahead_ns = at_ns.checked_sub(wall_ns).filter(|ahead| *ahead >= LEAD_NS);
    let ahead_ns = ahead_ns.ok_or_else(|| {
        CommandError::could_not_run(format!(
            "late: --start-at {text} has passed, or is less than {} away. The other parts do not wait; nothing was sent",
            units::duration(LEAD_NS)
        ))
    })?;
    let mut start = RunStart::at(at_ns, monotonic_ns + ahead_ns);
    let error_us = worker::clock_error_us();
    start.uncertainty_ns = error_us.flatten().unwrap_or(0) * 1_000;
    if error_us == Some(None) {
        log::warning(
            "the clock of this machine is not synchronized, so parts may start at different times: use chrony or systemd-timesyncd",
        );
    }
    log::say(format_args!(
        "part {} of {} starts at {}, in {}",
        share.number(),
        share.of,
        start.utc,
        units::duration(ahead_ns)
    ));
    Ok(Some(RunPartOrder::alone(share, seed, start)))
}
