//! `loadline mock FILE`: the mocks of a plan until they are told to end; and the mocks of a plan that is run, which live as long as the run.

use std::{net::IpAddr, path::Path};

use formats::{Inputs, native};
use plan::mocks::Mock;
use session::{
    MockProcess, exit, inputs,
    lab_process::NotStarted,
    mock_process::{self, Addresses},
};

use crate::{args, log};

/// Runs `loadline mock`.
pub fn command(args: &args::Mock) -> u8 {
    match run(args) {
        Ok(()) => exit::PASS,
        Err((lines, code)) => {
            lines.iter().for_each(log::error);
            code
        }
    }
}

fn run(args: &args::Mock) -> Result<(), (Vec<String>, u8)> {
    let cannot = |line: String| (vec![line], exit::COULD_NOT_RUN);
    let mocks = of(&args.file).map_err(|lines| (lines, exit::BAD_INPUT))?;
    if mocks.is_empty() {
        let line = format!(
            "{} has no `mocks`: docs/mocks.md says how to describe them",
            args.file.display()
        );
        return Err((vec![line], exit::BAD_INPUT));
    }
    // Before `ready`, so that a signal sent right after it finds its handler.
    let end = lab::Stop::listen(args.until_stdin_closes);
    let end = end.map_err(|error| cannot(error.to_string()))?;
    let seed = match args.seed {
        0 => inputs::random_seed(),
        seed => seed,
    };
    let options = mocks::Options {
        host: args.host.clone(),
        port: args.port,
        seed,
        log: args.log.clone(),
    };
    // A load test may well hold more than the usual 1,024 connections.
    lab::raise_descriptor_limit();
    let running = mocks::start(mocks, &options).map_err(|error| cannot(error.to_string()))?;
    let mut told = String::new();
    for (name, address) in running.addresses() {
        if !is_own(address.ip()) {
            log::warning(format_args!(
                "mock {name} listens on {address}: whoever reaches this machine reaches it"
            ));
        }
        told += &format!("listening on http://{address} {name}\n");
    }
    log::out(&(told + "ready\n"));
    end.wait_alone();
    let told = running.stop().map_err(|error| cannot(error.to_string()))?;
    if !args.until_stdin_closes {
        for sentence in mock_process::sentences(&told) {
            log::out(&(sentence + "\n"));
        }
    }
    Ok(())
}

fn is_own(address: IpAddr) -> bool {
    address.is_loopback()
}

/// The mocks of a plan's file; what is wrong with them.
fn of(file: &Path) -> Result<Vec<Mock>, Vec<String>> {
    let inputs = Inputs {
        files: vec![file.to_owned()],
        ..Inputs::default()
    };
    native::mocks::load(&inputs).map_err(|errors| {
        let problems = errors.problems.iter();
        problems.map(ToString::to_string).collect()
    })
}

/// The mocks of a run: started for it, or lent to it.
#[derive(Debug)]
pub enum Mocked {
    Own(MockProcess),
    Lent(Addresses),
}

impl Mocked {
    /// The mocks of this test file, running; none where it has none. What is wrong with them the reading of the plan tells.
    pub fn of(file: &str, seed: Option<u64>) -> Result<Option<Mocked>, NotStarted> {
        let path = Path::new(file);
        if !path.is_file() || of(path).map_or(true, |mocks| mocks.is_empty()) {
            return Ok(None);
        }
        Ok(Some(match mock_process::lent() {
            Some(addresses) => Mocked::Lent(addresses),
            None => Mocked::Own(MockProcess::start(path, seed)?),
        }))
    }

    /// Where each of them listens.
    pub fn addresses(&self) -> &Addresses {
        match self {
            Mocked::Own(mocks) => mocks.addresses(),
            Mocked::Lent(addresses) => addresses,
        }
    }
}
