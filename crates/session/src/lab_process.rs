//! `lab:NAME?option=value` as a target: an embedded target as a child process, for the length of a run or of several.
//!
//! A child of its own keeps the lab's CPU time apart from the generator's; it ends when its standard input closes, so
//! that not even a killed run leaves it behind. What a lab answers is `lab`'s business.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdin, Command, Stdio},
};

use plan::{
    Plan, Problem,
    server::{MetricLocation, MetricSource},
};

use crate::exit;

/// What a target that names a lab begins with.
pub const SCHEME: &str = "lab:";
/// Where a lab listens that lives longer than a run, for the processes of its runs: URLs, separated by blanks.
pub const ENVIRONMENT: &str = "LOADLINE_LAB";

/// A lab that runs as a child process; it ends when this is dropped.
#[derive(Debug)]
pub struct LabProcess {
    child: Child,
    /// Held open: its end is the child's sign to stop.
    stdin: Option<ChildStdin>,
    /// Where it listens; its base URL is the first.
    listeners: Vec<String>,
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

/// Where the lab listens that whoever started this process runs for it, if somebody does.
#[must_use]
pub fn lent() -> Option<Vec<String>> {
    let urls = std::env::var(ENVIRONMENT).ok()?;
    let urls: Vec<String> = urls.split_whitespace().map(ToOwned::to_owned).collect();
    (!urls.is_empty()).then_some(urls)
}

/// What a lab is called, without its options.
#[must_use]
pub fn bare(lab: &str) -> &str {
    lab.split('?').next().unwrap_or(lab)
}

/// Has `lab:N/path` among the plan's server metrics mean what the lab's listener of that number answers there.
///
/// # Errors
/// A line for each that no listener answers.
pub fn resolve(plan: &mut Plan, listeners: &[String]) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    for source in &mut plan.server {
        let MetricLocation::Lab { listener, path } = &source.place else {
            continue;
        };
        match listeners.get(*listener) {
            Some(base) => {
                source.place = MetricLocation::Url(format!("{}{path}", base.trim_end_matches('/')))
            }
            None => problems.push(no_listener(source, *listener, listeners.len())),
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

fn no_listener(source: &MetricSource, listener: usize, there_are: usize) -> Problem {
    let why = match there_are {
        0 => "the target is no lab: write where it is".to_owned(),
        1 => format!("the lab listens at one place only, there is no {listener}: write lab:/path"),
        n => format!(
            "the lab listens at {n} places, 0 to {}: there is no {listener}",
            n - 1
        ),
    };
    Problem {
        at: source.at.clone(),
        message: format!("server `{}`: {why}", source.name),
    }
}

impl LabProcess {
    /// Starts the lab that a target of the form `NAME?option=value&…` names.
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
            listeners: Vec::new(),
        };
        for line in stdout
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines())
            .map_while(Result::ok)
        {
            // Behind the URL stands what it is for.
            let url = line.strip_prefix("listening on ");
            let url = url.and_then(|rest| rest.split_whitespace().next());
            lab.listeners.extend(url.map(ToOwned::to_owned));
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
    /// Its base URL.
    #[must_use]
    pub fn url(&self) -> &str {
        self.listeners.first().map_or("", String::as_str)
    }

    /// Where it listens.
    #[must_use]
    pub fn listeners(&self) -> &[String] {
        &self.listeners
    }

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
