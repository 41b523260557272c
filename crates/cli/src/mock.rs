//! The command `loadline mock FILE`, and mocks that start with a run.

use plan::mocks::MockAddress;
use std::{net::IpAddr, path::Path};

use analysis::summary::mock_rows;
use session::{
    MockProcess, exit, inputs,
    lab_process::NotStarted,
    mock_plan::{self, Served},
    mock_process,
};

use crate::{args, log};

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
    let served = mock_plan::load(&args.file, args.runs.as_deref());
    let Served { mocks, notes } = served.map_err(|lines| (lines, exit::BAD_INPUT))?;
    if mocks.is_empty() {
        let line = format!(
            "{} has no `mocks`: see docs/reference/mocks.md",
            args.file.display()
        );
        return Err((vec![line], exit::BAD_INPUT));
    }
    notes.iter().for_each(log::warning);
    // Install the handlers before printing `ready`, so that any later signal is handled.
    let end = lab::Stop::listen(args.until_stdin_closes);
    let end = end.map_err(|error| cannot(error.to_string()))?;
    let seed = match args.seed {
        0 => inputs::random_seed(),
        seed => seed,
    };
    let options = mocks::MockOptions {
        host: args.host.clone(),
        port: args.port,
        seed,
        log: args.log.clone(),
    };
    // Load tests may need more than 1,024 connections.
    lab::raise_descriptor_limit();
    let running = mocks::start(mocks, &options).map_err(|error| cannot(error.to_string()))?;
    let mut reported = String::new();
    for (name, address) in running.addresses() {
        if !is_own(address.ip()) {
            log::warning(format_args!(
                "mock {name} listens on {address}: any machine that can reach this one can use it"
            ));
        }
        reported += &format!("listening on http://{address} {name}\n");
    }
    log::out(&(reported + "ready\n"));
    end.wait_alone();
    let reported = running.stop().map_err(|error| cannot(error.to_string()))?;
    if !args.until_stdin_closes {
        for sentence in report::mocks::sentences(&mock_rows(&reported)) {
            log::out(&(sentence + "\n"));
        }
    }
    Ok(())
}

fn is_own(address: IpAddr) -> bool {
    address.is_loopback()
}

#[derive(Debug)]
pub enum Mocked {
    Own(MockProcess),
    Lent(Vec<MockAddress>),
}

#[derive(Debug)]
pub enum NotMocked {
    Refused(Vec<String>),
    NotStarted(NotStarted),
}

impl Mocked {
    /// Starts the mocks of a test. Returns `None` if the test has none.
    pub fn start(
        file: &str,
        runs: Option<&Path>,
        seed: Option<u64>,
    ) -> Result<Option<Mocked>, NotMocked> {
        let path = Path::new(file);
        if !path.is_file() || mock_plan::names(path).map_or(true, |names| names.is_empty()) {
            return Ok(None);
        }
        if let Some(addresses) = mock_process::lent() {
            return Ok(Some(Mocked::Lent(addresses)));
        }
        mock_plan::load(path, runs).map_err(NotMocked::Refused)?;
        let started = MockProcess::start(path, runs, seed);
        Ok(Some(Mocked::Own(started.map_err(NotMocked::NotStarted)?)))
    }

    pub fn environment(&self) -> Option<String> {
        match self {
            Mocked::Own(mocks) => Some(mocks.environment()),
            Mocked::Lent(_) => None,
        }
    }

    pub fn addresses(&self) -> &[MockAddress] {
        match self {
            Mocked::Own(mocks) => mocks.addresses(),
            Mocked::Lent(addresses) => addresses,
        }
    }
}
