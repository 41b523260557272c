//! Entry point of `loadline`: arguments, exit codes, progress.

#![forbid(unsafe_code)]

mod ab;
mod args;
mod audit;
mod baselines;
mod campaign;
mod child_runs;
mod colour;
mod compare;
mod demo;
mod distributed;
mod doctor;
mod embedded;
mod error;
mod export;
mod external_metrics;
mod find;
mod front_ends;
mod gate;
mod groups;
mod headers;
mod history;
mod import;
mod init_plan;
mod k8s;
mod labs;
mod list;
mod load;
mod log;
mod mcp;
mod merge;
mod messages;
mod mock;
mod node;
mod probe;
mod profile;
mod programs;
mod ray_files;
mod redact;
mod rerender;
mod run;
mod selftest;
mod shell;
mod status_line;
mod steps;
mod terminal;
mod travel;
mod urls;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use front_ends::Called;
use session::exit;

fn main() -> ExitCode {
    #[cfg(feature = "mutants")]
    if let Ok(name) = std::env::var("LOADLINE_MUTANT")
        && !base::mutant::choose(&name)
    {
        log::error(format_args!("no such mutant: {name}"));
        return ExitCode::from(exit::BAD_INPUT);
    }
    session::child::end_with_parent();
    // Front ends parse their own arguments and may be called through links.
    let mut called = Called::from_arguments(std::env::args_os());
    let card = called.as_ref().map(Called::card).unwrap_or_default();
    if let Some(called) = called.take_if(|_| card.takes_any_bytes) {
        return ExitCode::from(called.run());
    }
    let not_text = std::env::args_os().enumerate().skip(1);
    for (number, argument) in not_text {
        if argument.to_str().is_none() {
            let rendered = argument.to_string_lossy();
            log::error(format_args!(
                "argument {number}, `{rendered}`, is not valid UTF-8: encode it as UTF-8"
            ));
            return ExitCode::from(card.wrong_usage);
        }
    }
    if let Some(called) = called {
        return ExitCode::from(called.run());
    }
    if shell::says_nothing() {
        return ExitCode::from(shell::what_to_run());
    }
    let args = match read() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let code = match args.command {
        args::CliCommand::Run(run) => run::run(*run),
        args::CliCommand::Init(init) => init_plan::command(&init),
        args::CliCommand::Campaign(campaign) => campaign::command(&campaign),
        args::CliCommand::Find(find) => find::command(&find),
        args::CliCommand::Plan(plan) => profile::command(&plan),
        args::CliCommand::Lab(lab) => labs::command(&lab),
        args::CliCommand::Mock(mock) => mock::command(&mock),
        args::CliCommand::Report(report) => rerender::command(&report),
        args::CliCommand::Compare(compare) => compare::command(&compare),
        args::CliCommand::Gate(gate) => gate::command(&gate),
        args::CliCommand::Ab(ab) => ab::command(&ab),
        args::CliCommand::List(list) => list::command(&list),
        args::CliCommand::History(history) => history::command(&history),
        args::CliCommand::Merge(merge) => merge::command(&merge),
        args::CliCommand::K8s(k8s) => k8s::command(&k8s),
        args::CliCommand::Export(export) => export::command(&export),
        args::CliCommand::Mcp(mcp) => mcp::command(&mcp),
        args::CliCommand::Node => node::node(),
        args::CliCommand::Doctor => doctor::command(),
        args::CliCommand::Version => {
            log::out(concat!("loadline ", env!("CARGO_PKG_VERSION"), "\n"));
            exit::PASS
        }
        args::CliCommand::Demo(demo) => demo::command(&demo),
        args::CliCommand::Audit(audit) => audit::command(&audit),
        args::CliCommand::Selftest(selftest) => selftest::command(&selftest),
        args::CliCommand::Completions(asked) => shell::completions(&asked),
        args::CliCommand::Man(asked) => shell::man(&asked),
    };
    if code == exit::PASS && log::lost() {
        return ExitCode::from(exit::COULD_NOT_RUN);
    }
    ExitCode::from(code)
}

fn read() -> Result<args::Args, clap::Error> {
    let mut command = front_ends::listed(args::Args::command());
    let matches = command.try_get_matches_from_mut(init_plan::set_apart(std::env::args_os()))?;
    args::Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(if error.use_stderr() {
        exit::BAD_INPUT
    } else {
        exit::PASS
    })
}
