//! WIRE it: arguments, exit codes, progress. The binary `loadline`; everything it does is done by the crates behind it.

#![forbid(unsafe_code)]

mod args;
mod artillery;
mod audit;
mod demo;
mod doctor;
mod doors;
mod frame;
mod headers;
mod imported;
mod labs;
mod log;
mod native;
mod rerender;
mod selftest;
mod terminal;
mod travel;
mod wrk;

use std::process::ExitCode;

use clap::Parser;
use session::exit;

fn main() -> ExitCode {
    #[cfg(feature = "mutants")]
    if let Ok(name) = std::env::var("LOADLINE_MUTANT")
        && !plan::mutant::choose(&name)
    {
        log::error(format_args!("no such mutant: {name}"));
        return ExitCode::from(exit::BAD_INPUT);
    }
    // wrk's command line has a grammar of its own, and wrk may be a link to us.
    if let Some(code) = wrk::command_line(std::env::args_os()) {
        return ExitCode::from(code);
    }
    // Arguments are written into the record, which is text.
    let not_text = std::env::args_os().enumerate().skip(1);
    for (number, argument) in not_text {
        if argument.to_str().is_none() {
            let shown = argument.to_string_lossy();
            log::error(format_args!(
                "argument {number}, `{shown}`, is not UTF-8: write it as UTF-8"
            ));
            return wrong_command_line();
        }
    }
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let code = match args.command {
        args::Command::Run(run) => native::run(*run),
        // Only reached by way of `loadline help`.
        args::Command::Wrk { arguments } => wrk::door(formats::wrk::Persona::Wrk, &arguments),
        args::Command::Lab(lab) => labs::command(&lab),
        args::Command::Report(report) => rerender::command(&report),
        args::Command::Artillery(artillery) => artillery::command(artillery),
        args::Command::Doctor => doctor::command(),
        args::Command::Demo(demo) => demo::command(&demo),
        args::Command::Audit(audit) => audit::command(&audit),
        args::Command::Selftest(selftest) => selftest::command(&selftest),
    };
    // A report that nobody could read is no success.
    if code == exit::PASS && log::lost() {
        return ExitCode::from(exit::COULD_NOT_RUN);
    }
    ExitCode::from(code)
}

/// Help goes to standard output and is no failure.
fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() {
        wrong_command_line()
    } else {
        ExitCode::from(exit::PASS)
    }
}

/// A wrong command line is bad input; behind Artillery's door it has Artillery's code.
fn wrong_command_line() -> ExitCode {
    let is_artillery = std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "artillery");
    ExitCode::from(if is_artillery {
        exit::FAIL
    } else {
        exit::BAD_INPUT
    })
}
