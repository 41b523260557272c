//! Runs an embedded target (`lab:NAME?option=value`) as a child process.
//!
//! This separates the CPU time of the target from that of the load generator. The child ends when
//! its standard input closes, even if the run is killed.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdin, Command, Stdio},
};

use plan::{
    Plan, Problem,
    server::{MetricLocation, MetricSource},
};

use crate::exit;

/// Prefix of URLs that refer to an embedded target.
pub const SCHEME: &str = "lab:";
/// Environment variable with the space-separated URLs of an embedded target that outlives the run.
pub const ENVIRONMENT: &str = "LOADLINE_LAB";

/// An embedded target in a child process. Dropping this value ends the process.
#[derive(Debug)]
pub struct LabProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    listeners: Vec<String>,
}

/// The error for an embedded target that did not start.
#[derive(Debug)]
pub struct NotStarted {
    /// Reason, on one line.
    pub line: String,
    /// Whether the name or the options of the target are invalid.
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

/// Returns the listeners of the embedded target that the parent process runs, if there is one.
#[must_use]
pub fn lent() -> Option<Vec<String>> {
    let urls = std::env::var(ENVIRONMENT).ok()?;
    let urls: Vec<String> = urls.split_whitespace().map(ToOwned::to_owned).collect();
    (!urls.is_empty()).then_some(urls)
}

/// Returns the name of an embedded target without its options.
#[must_use]
pub fn bare(lab: &str) -> &str {
    lab.split('?').next().unwrap_or(lab)
}

/// Replaces `lab:N/path` in the plan's server metrics with the URL of the embedded target's
/// listener N.
///
/// # Errors
///
/// Fails with a line for each listener that does not exist.
pub fn resolve(plan: &mut Plan, listeners: &[String]) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    for source in &mut plan.policy.server {
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
    let reason = match there_are {
        0 => "the target is not embedded: use its address".to_owned(),
        1 => format!(
            "the lab has only one listener, so there is no listener {listener}: use lab:/path"
        ),
        n => format!(
            "the lab has {n} listeners, 0 to {}: there is no listener {listener}",
            n - 1
        ),
    };
    Problem {
        at: source.at.clone(),
        message: format!("server `{}`: {reason}", source.name),
    }
}

/// Fails if the name or an option would reach the child process as a command-line flag.
fn refuse_flags(name: &str, options: &str) -> Result<(), NotStarted> {
    let flag = std::iter::once(name)
        .chain(options.split('&'))
        .find(|word| word.starts_with('-'));
    match flag {
        Some(flag) => Err(NotStarted {
            line: format!("`{flag}` in `{SCHEME}{name}`: use {SCHEME}NAME?option=value"),
            bad_input: true,
        }),
        None => Ok(()),
    }
}

impl LabProcess {
    /// Starts the embedded target `NAME?option=value&…`.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if the name or an option begins with `-`, or if the target does
    /// not start.
    pub fn start(target: &str) -> Result<LabProcess, NotStarted> {
        let (name, options) = target.split_once('?').unwrap_or((target, ""));
        refuse_flags(name, options)?;
        let program = std::env::current_exe()
            .map_err(|e| format!("cannot find the path of this program: {e}"))?;
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
            let url = line.strip_prefix("listening on ");
            let url = url.and_then(|rest| rest.split_whitespace().next());
            lab.listeners.extend(url.map(ToOwned::to_owned));
            if line == "ready" {
                return Ok(lab);
            }
        }
        let code = lab.child.wait().ok().and_then(|status| status.code());
        let line = format!("the lab {name} did not start");
        Err(NotStarted {
            line,
            bad_input: code == Some(i32::from(exit::BAD_INPUT)),
        })
    }
}

impl LabProcess {
    /// Returns the base URL of the target.
    #[must_use]
    pub fn url(&self) -> &str {
        self.listeners.first().map_or("", String::as_str)
    }

    /// Returns the URLs of the target's listeners.
    #[must_use]
    pub fn listeners(&self) -> &[String] {
        &self.listeners
    }

    /// Kills the process immediately.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }
}

impl Drop for LabProcess {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_with_a_flag_does_not_start() {
        for target in [
            "--log=/tmp/x",
            "sum?--log&/tmp/x",
            "sum?delay=1ms&--host&0.0.0.0",
            "sum?-h",
        ] {
            let refused = LabProcess::start(target).unwrap_err();
            assert!(refused.bad_input, "{target}");
            assert!(
                refused.line.contains("NAME?option=value"),
                "{}",
                refused.line
            );
        }
        assert!(refuse_flags("sum", "delay=-1&x=--y").is_ok());
    }
}
