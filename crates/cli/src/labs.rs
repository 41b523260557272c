//! Labs from the command line: `loadline lab NAME`, and `lab:NAME?option=value` as a target, started as a child process
//! for the length of a run.
//!
//! A child of its own keeps the lab's CPU time apart from the generator's; it ends when its standard input closes, so
//! that not even a killed run leaves it behind.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdin, Command, Stdio},
};

use session::exit;

use crate::{args, log};

/// Runs `loadline lab`.
pub fn command(args: &args::Lab) -> u8 {
    let Some(name) = &args.name else {
        let width = lab::names()
            .iter()
            .map(|(name, _)| name.len())
            .max()
            .unwrap_or(0);
        for (name, help) in lab::names() {
            log::out(&format!("{name:width$}  {help}\n"));
        }
        return exit::PASS;
    };
    let mut extra = Vec::new();
    for option in &args.options {
        let Some((key, value)) = option.split_once('=') else {
            log::error(format_args!(
                "`{option}` is not an option of a lab: write NAME=VALUE"
            ));
            return exit::BAD_INPUT;
        };
        extra.push((key.to_owned(), value.to_owned()));
    }
    let most = args.max_in_flight.clone();
    extra.extend(most.map(|most| ("max-in-flight".to_owned(), most)));
    let options = lab::Options {
        host: args.host.clone(),
        port: args.port,
        token: args.token.clone(),
        seed: args.seed,
        log: args.log.clone(),
        print_token: args.print_token,
        until_stdin_closes: args.until_stdin_closes,
        extra,
    };
    match lab::run(name, options, std::io::stdout()) {
        Ok(()) => exit::PASS,
        Err(error) => {
            log::error(&error);
            if error.is_bad_input() {
                exit::BAD_INPUT
            } else {
                exit::COULD_NOT_RUN
            }
        }
    }
}

/// A lab that runs as a child process; it ends when this is dropped.
#[derive(Debug)]
pub struct LabProcess {
    child: Child,
    /// Held open: its end is the child's sign to stop.
    stdin: Option<ChildStdin>,
    /// The lab's base URL.
    pub url: String,
}

/// Why a lab did not start.
#[derive(Debug)]
pub struct NotStarted {
    /// One line.
    pub line: String,
    /// Whether its name or its options were to blame.
    pub bad_input: bool,
}

impl From<String> for NotStarted {
    fn from(line: String) -> NotStarted {
        NotStarted {
            line,
            bad_input: false,
        }
    }
}

impl From<NotStarted> for String {
    fn from(error: NotStarted) -> String {
        error.line
    }
}

impl LabProcess {
    /// Starts the lab that a target of the form `lab:NAME?option=value&…` names.
    ///
    /// # Errors
    /// One line that says why it did not start.
    pub fn start(target: &str) -> Result<LabProcess, NotStarted> {
        let (name, options) = target.split_once('?').unwrap_or((target, ""));
        let program = std::env::current_exe()
            .map_err(|e| format!("cannot find the program's own file: {e}"))?;
        let mut command = Command::new(program);
        command.arg("lab").arg(name).arg("--until-stdin-closes");
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some((key @ ("host" | "port" | "token" | "seed" | "log"), value)) => {
                    command.arg(format!("--{key}={value}"));
                }
                _ => {
                    command.arg(option);
                }
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|e| format!("cannot start the lab {name}: {e}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let mut lab = LabProcess {
            child,
            stdin,
            url: String::new(),
        };
        for line in stdout
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines())
            .map_while(Result::ok)
        {
            if let Some(url) = line
                .strip_prefix("listening on ")
                .filter(|_| lab.url.is_empty())
            {
                url.clone_into(&mut lab.url);
            }
            if line == "ready" {
                return Ok(lab);
            }
        }
        // Its own message is on standard error already; its exit code says whose fault it was.
        let code = lab.child.wait().ok().and_then(|status| status.code());
        let line = format!("the lab {name} did not start");
        Err(NotStarted {
            line,
            bad_input: code == Some(i32::from(exit::BAD_INPUT)),
        })
    }
}

impl LabProcess {
    /// Ends it at once, without a word to its clients.
    pub fn kill(&mut self) {
        // Its end is waited for when it is dropped.
        let _ = self.child.kill();
    }
}

impl Drop for LabProcess {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // It ends by itself; waiting keeps it from being left behind as a zombie.
        let _ = self.child.wait();
    }
}
