//! Completions, man pages, and the help shown without arguments. All of them are derived from the
//! definition of the command line.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use clap::CommandFactory;
use session::exit;

use crate::{args, front_ends, log};

const NAME: &str = "loadline";

pub fn completions(asked: &args::Completions) -> u8 {
    let mut command = front_ends::listed(args::Args::command());
    let mut text = Vec::new();
    clap_complete::generate(asked.shell, &mut command, NAME, &mut text);
    log::out(&String::from_utf8_lossy(&text));
    exit::PASS
}

pub fn man(asked: &args::Man) -> u8 {
    let command = front_ends::listed(args::Args::command()).disable_help_subcommand(true);
    let written = match &asked.out {
        Some(folder) => pages(command, folder),
        None => page(command).map(|text| log::out(&text)),
    };
    match written {
        Ok(()) => exit::PASS,
        Err(error) => {
            log::error(format_args!("cannot write the man pages: {error}"));
            exit::COULD_NOT_RUN
        }
    }
}

fn page(command: clap::Command) -> std::io::Result<String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn pages(command: clap::Command, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command, folder)
}

/// Opens a report in the default viewer. Ignores failures.
pub fn open(report: &Path) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(opener);
    command.arg(report);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        log::warning(format_args!("--open: cannot start {opener}: {error}"));
    }
}

pub fn says_nothing() -> bool {
    let mut words = std::env::args_os().skip(1);
    words.next().is_some_and(|word| word == "run") && words.next().is_none()
}

pub fn what_to_run() -> u8 {
    log::say(
        "loadline: choose what to run, for example

  loadline demo                            a target, a test and its report
  loadline run localhost:8080/ --rate 50/s one URL, at a steady rate
  loadline init curl ...                   a plan, made from a curl command
  loadline run plan.yml                    a plan (docs/reference/plan.md)
  loadline run test.yml                    your Artillery scripts (.yml, .json),
                                           locustfiles (.py), wrk scripts (.lua)

`loadline run --help` lists the flags, `loadline --help` the other commands.",
    );
    exit::BAD_INPUT
}
