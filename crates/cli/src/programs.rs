//! Translates the flags of `loadline run` for test files that are programs and are run by the
//! original tool.

use plan::criteria;
use session::{ExternalTool, RunOptions, exit};

use crate::{args, log};

pub fn run(
    programs: &'static dyn ExternalTool,
    args: &args::RunArgs,
    options: RunOptions<'_>,
) -> u8 {
    let options = RunOptions {
        unfit: unfit(args, programs.has_workers()),
        ..options
    };
    if let Some(line) = wrong(args) {
        log::error(line);
        return exit::BAD_INPUT;
    }
    match programs.run(&options, &variables(args)) {
        Ok(code) => code,
        Err(line) => {
            log::error(line);
            exit::BAD_INPUT
        }
    }
}

/// Describes an invalid value, because the program's error would not name the flag.
fn wrong(args: &args::RunArgs) -> Option<String> {
    let check = |text: &String| {
        Some(
            criteria::parse_criterion(text)
                .err()?
                .describe("--check", text),
        )
    };
    let stop = |text: &String| Some(criteria::parse_stop(text).err()?.describe("--stop", text));
    let server = |text: &String| Some(format!("--server: {}", plan::server::parse(text).err()?));
    let mut all = args.check.iter().filter_map(check);
    all.next()
        .or_else(|| args.stop.iter().find_map(stop))
        .or_else(|| args.server.iter().find_map(server))
}

fn unfit(args: &args::RunArgs, has_workers: bool) -> Option<&'static str> {
    let is_lab = args
        .target
        .as_deref()
        .is_some_and(|target| target.starts_with("lab:"));
    let given = [
        (is_lab, "--target lab:NAME"),
        (!args.header.is_empty(), "--header"),
        (args.method.is_some(), "--method"),
        (args.data.is_some(), "--data"),
        (args.user.is_some(), "--user"),
        (
            args.users.is_some() && args.connections.is_some(),
            "--connections beside --users",
        ),
        (args.open, "--open"),
        (args.stage.is_some(), "--stage"),
        (args.arrivals.is_some(), "--arrivals"),
        (args.workers.is_some() && !has_workers, "--workers"),
        (args.drain != args::DRAIN, "--drain"),
        (args.once, "--once"),
        (args.trace, "--trace"),
        (args.http.is_some(), "--http"),
        (args.requests.is_some(), "--requests"),
        (args.proxy.is_some(), "--proxy"),
        (args.pacing_slack.is_some(), "--pacing-slack"),
        (args.trace_context.is_some(), "--trace-context"),
        (args.trace_url.is_some(), "--trace-url"),
        (args.json.is_some(), "--json"),
        (!args.secret.is_empty(), "--secret"),
        (args.memory.is_some(), "--memory"),
        (!args.allow_host.is_empty(), "--allow-host"),
        (args.insecure, "--insecure"),
        (args.cacert.is_some(), "--cacert"),
        (args.cert.is_some(), "--cert"),
        (args.key.is_some(), "--key"),
        (args.server_name.is_some(), "--server-name"),
        (!args.resolve.is_empty(), "--resolve"),
        (args.unix.is_some(), "--unix"),
        (args.environment.is_some(), "--environment"),
    ];
    given
        .into_iter()
        .find_map(|(is_given, flag)| is_given.then_some(flag))
}

fn variables(args: &args::RunArgs) -> Vec<(&'static str, String)> {
    let mut variables = Vec::new();
    let mut say = |name, value: Option<String>| variables.extend(value.map(|value| (name, value)));
    say("LOADLINE_NAME", args.name.clone());
    say("LOADLINE_TAGS", joined(&args.tag, ","));
    say("LOADLINE_CHECK", joined(&args.check, ";"));
    say("LOADLINE_STOP", joined(&args.stop, ";"));
    say("LOADLINE_SERVER", joined(&args.server, ";"));
    say("LOADLINE_ARRIVAL_RATE", args.rate.clone());
    say(
        "LOADLINE_EXCERPTS",
        args.no_excerpts.then(|| "off".to_owned()),
    );
    say("LOADLINE_EXPORT", joined(&args.export, ","));
    say("LOADLINE_SEED", args.seed.map(|seed| seed.to_string()));
    say("LOADLINE_WORKERS", args.workers.map(|n| n.to_string()));
    let writes = args.script_write.as_ref();
    say(
        "LOADLINE_SCRIPT_WRITE",
        writes.map(|folder| folder.display().to_string()),
    );
    let runs = args.runs.as_ref();
    say("LOADLINE_RUNS", runs.map(|runs| runs.display().to_string()));
    say("LOADLINE_UI", args.ui.then(|| "1".to_owned()));
    let port = args.ui.then_some(args.ui_port);
    say("LOADLINE_UI_PORT", port.map(|port| port.to_string()));
    let share = args.ui_share.map(|address| address.to_string());
    say("LOADLINE_UI_SHARE", share);
    variables
}

fn joined(texts: &[String], between: &str) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join(between))
}
