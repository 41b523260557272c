//! The command `loadline mcp`, which serves agents over standard input and output.

use std::io::IsTerminal;

use case_study_labs::LABS;
use mcp::{LoadCaps, ServerOptions};
use plan::units;
use session::exit;

use crate::{
    args,
    error::{CommandError, flag_error},
    log, rerender,
};

pub fn command(args: &args::Mcp) -> u8 {
    let served = options(args).and_then(|options| {
        if std::io::stdin().is_terminal() {
            log::say(format_args!(
                "loadline: this command is a server of the Model Context Protocol: start it from an MCP client"
            ));
        }
        mcp::serve(options).map_err(CommandError::could_not_run)
    });
    match served {
        Ok(()) => exit::PASS,
        Err(error) => error.print(),
    }
}

fn options(args: &args::Mcp) -> Result<ServerOptions, CommandError> {
    let rate = units::parse_rate(&args.most_rate)
        .map_err(|error| flag_error("--most-rate", &args.most_rate, &error))?;
    let duration_ns = units::parse_duration(&args.most_duration)
        .map_err(|error| flag_error("--most-duration", &args.most_duration, &error))?;
    let counts = [
        (args.most_users == 0, "--most-users"),
        (args.most_requests == 0, "--most-requests"),
        (args.runs_per_hour == 0, "--runs-per-hour"),
    ];
    if let Some((_, flag)) = counts.into_iter().find(|(is_zero, _)| *is_zero) {
        return Err(CommandError::bad_input(format!("{flag} 0: use at least 1")));
    }
    Ok(ServerOptions {
        allow_hosts: args.allow_host.clone(),
        caps: LoadCaps {
            rate: rate.as_f64(),
            users: args.most_users,
            duration_ns,
            requests: args.most_requests,
            runs_per_hour: args.runs_per_hour,
        },
        runs: rerender::runs(args.runs.as_deref()),
        plans: args.plans.clone(),
        env: args.env.clone(),
        asks: !args.no_ask,
        labs: LABS.iter().map(|lab| lab.name.to_owned()).collect(),
    })
}
