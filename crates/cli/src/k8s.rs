//! The command `loadline k8s render`, which writes the manifests of a distributed run. It reads the
//! test as a run would, to find problems early.

use clap::Parser;
use k8s::{Job, RenderOptions, Unusable};
use plan::{Plan, units, units::SECOND};
use record::redact::{Redactor, Salt};
use session::{exit, exports, inputs};

use crate::{
    args, distributed,
    error::{CommandError, flag_error},
    log, ray_files, run,
};

const MARGIN_S: u64 = 15 * 60;
const AHEAD_NS: u64 = 5 * 60 * SECOND;
const OURS: [&str; 10] = [
    "--on",
    "--nodes",
    "--address",
    "--insecure-cluster",
    "--wait",
    "--shard",
    "--start-at",
    "--runs",
    "--ui",
    "--open",
];

pub fn command(args: &args::K8s) -> u8 {
    let args::K8sCommand::Render(args) = &args.command;
    render(args).unwrap_or_else(CommandError::print)
}

fn render(args: &args::Render) -> Result<u8, CommandError> {
    let run = run_of(args)?;
    let (plan, drain_ns) = run::read(&run)?;
    distributed::must_be_divisible(&plan)?;
    let text = render_options(args, &run, &plan, drain_ns).and_then(|wanted| {
        k8s::render(&wanted).map_err(|reason: Unusable| CommandError::bad_input(reason))
    })?;
    if log::is_stdout(&args.output) {
        log::out(&text);
        return Ok(exit::PASS);
    }
    exports::can_be_written(&args.output).map_err(CommandError::could_not_run)?;
    std::fs::write(&args.output, text).map_err(|error| {
        CommandError::could_not_run(format!("{}: {error}", args.output.display()))
    })?;
    Ok(exit::PASS)
}

fn run_of(args: &args::Render) -> Result<args::RunArgs, CommandError> {
    let is_ours = |flag: &&String| {
        let name = flag.split_once('=').map_or(flag.as_str(), |(name, _)| name);
        OURS.contains(&name)
    };
    if let Some(flag) = args.flags.iter().find(is_ours) {
        return Err(CommandError::bad_input(format!(
            "{flag} after --: the manifest sets it, so remove it"
        )));
    }
    let line = ["loadline", "run", &args.what].map(str::to_owned);
    let line = line.into_iter().chain(args.flags.iter().cloned());
    match args::Args::try_parse_from(line).map(|args| args.command) {
        Ok(args::CliCommand::Run(run)) => Ok(*run),
        Ok(_) => Err(CommandError::bad_input(
            "write the flags of `loadline run` after --",
        )),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(CommandError::bad_input(format!(
                "after --: {}",
                first.trim_start_matches("error: ")
            )))
        }
    }
}

fn render_options(
    args: &args::Render,
    run: &args::RunArgs,
    plan: &Plan,
    drain_ns: u64,
) -> Result<RenderOptions, CommandError> {
    let seconds = |flag: &str, text: &str| {
        units::parse_duration(text)
            .map(|ns| ns.div_ceil(SECOND))
            .map_err(|error| flag_error(flag, text, &error))
    };
    let wait_s = seconds("--wait", &args.wait)?;
    let on_ray = args.job == "ray";
    let mut ahead_s = 0;
    let job = if on_ray {
        if args.start_at.is_some() {
            return Err(CommandError::bad_input(
                "--start-at requires --job indexed: a conductor starts its nodes itself",
            ));
        }
        Job::Ray {
            version: args.ray_version.clone(),
            wait_s,
        }
    } else {
        let now_ns = inputs::now_wall_ns();
        let (start_at, at_ns) = start(args, now_ns)?;
        ahead_s = (at_ns - now_ns).div_ceil(SECOND);
        let whole = [
            (plan.setup.is_some(), "setup"),
            (plan.teardown.is_some(), "teardown"),
            (
                !plan.policy.stop.is_empty() || !run.stop.is_empty(),
                "stop rules",
            ),
        ];
        if let Some((_, what)) = whole.iter().find(|(has, _)| *has) {
            return Err(CommandError::bad_input(format!(
                "{what} need a conductor, which has the data of the whole run: use --job ray, \
                or remove them"
            )));
        }
        Job::Indexed {
            seed: run.seed.unwrap_or_else(inputs::random_seed),
            start_at,
        }
    };
    let load_s = plan.end_ns().saturating_add(drain_ns).div_ceil(SECOND);
    let deadline_s = match &args.deadline {
        Some(text) => seconds("--deadline", text)?,
        None => load_s + MARGIN_S + if on_ray { wait_s } else { ahead_s },
    };
    let (files, folder) = match &args.in_image {
        Some(folder) if folder.is_absolute() => (Vec::new(), folder.to_string_lossy().into_owned()),
        Some(folder) => {
            return Err(CommandError::bad_input(format!(
                "--in-image {}: use an absolute path in the image",
                folder.display()
            )));
        }
        None => ray_files::collect(run, plan)
            .map(|shipped| (shipped.files, shipped.folder))
            .map_err(CommandError::bad_input)?,
    };
    let files_are_secret = warn_of_secrets(run, plan, &args.flags, &files);
    Ok(RenderOptions {
        name: args
            .name
            .clone()
            .unwrap_or_else(|| k8s::default_name(&args.what)),
        namespace: args.namespace.clone(),
        image: args.image.clone(),
        nodes: args.nodes,
        cpu: args.cpu.clone(),
        memory: args.memory.clone(),
        storage: args.storage.clone(),
        env_from: args.env_from.clone(),
        what: args.what.clone(),
        flags: without_seed(&args.flags, on_ray),
        folder,
        files,
        files_are_secret,
        deadline_s,
        job,
    })
}

fn warn_of_secrets(
    run: &args::RunArgs,
    plan: &Plan,
    flags: &[String],
    files: &[(String, Vec<u8>)],
) -> bool {
    let redactor = Redactor::new(plan, &run.secret, Salt::default());
    let is_secret = |content: &[u8]| {
        let text = String::from_utf8_lossy(content);
        text.contains("PRIVATE KEY-----") || redactor.has_secret(&text)
    };
    let secret_files = files.iter().filter(|(_, content)| is_secret(content));
    let names: Vec<&str> = secret_files.map(|(name, _)| name.as_str()).collect();
    let advice = "use {{ $env.NAME }} instead, and name a Secret of the cluster with --env-from";
    if !names.is_empty() {
        log::warning(format_args!(
            "{} contains a secret, so the manifest contains it too, as a Secret: keep the manifest out of version control, or {advice}",
            names.join(", ")
        ));
    }
    if redactor.command(flags) != flags {
        log::warning(format_args!(
            "the flags after -- contain a secret, which would be readable in the manifest: move it into a plan, {advice}"
        ));
    }
    !names.is_empty()
}

fn without_seed(flags: &[String], on_ray: bool) -> Vec<String> {
    let mut remaining = Vec::new();
    let mut all = flags.iter();
    while let Some(flag) = all.next() {
        match flag.as_str() {
            "--seed" if !on_ray => drop(all.next()),
            text if !on_ray && text.starts_with("--seed=") => {}
            _ => remaining.push(flag.clone()),
        }
    }
    remaining
}

fn start(args: &args::Render, now_ns: u64) -> Result<(String, u64), CommandError> {
    let Some(text) = &args.start_at else {
        let at_ns = (now_ns + AHEAD_NS).div_ceil(SECOND) * SECOND;
        return Ok((record::utc(at_ns, "%Y-%m-%dT%H:%M:%SZ"), at_ns));
    };
    let at_ns = record::moment(text).ok_or_else(|| {
        CommandError::bad_input(format!(
            "--start-at {text}: use a time such as 2026-11-24T19:30:00Z, or seconds since 1970"
        ))
    })?;
    if at_ns <= now_ns {
        return Err(CommandError::bad_input(format!(
            "--start-at {text} has passed"
        )));
    }
    Ok((text.clone(), at_ns))
}
