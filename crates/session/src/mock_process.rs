//! Runs the mocks of a plan as a child process, for one or several runs.
//!
//! This separates the CPU time of the mocks from that of the load generator. The child ends when
//! its standard input closes, even if the run is killed.

use plan::mocks::MockAddress;
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

use serde_json::Value;

use crate::{
    blocking_http::{Base, BlockingRequest},
    exit,
    lab_process::NotStarted,
};

/// Environment variable with mocks that outlive the run, as space-separated NAME=URL pairs.
pub const ENVIRONMENT: &str = "LOADLINE_MOCKS";

/// Mocks in a child process. Dropping this value ends the process.
#[derive(Debug)]
pub struct MockProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    addresses: Vec<MockAddress>,
}

/// Returns the mocks that the parent process runs, if there are any.
#[must_use]
pub fn lent() -> Option<Vec<MockAddress>> {
    let all = std::env::var(ENVIRONMENT).ok()?;
    let named = all.split_whitespace().filter_map(|one| one.split_once('='));
    let addresses: Vec<MockAddress> = named
        .map(|(name, url)| MockAddress {
            name: name.to_owned(),
            url: url.to_owned(),
        })
        .collect();
    (!addresses.is_empty()).then_some(addresses)
}

/// Returns the addresses of the mocks. Empty if there are none.
#[must_use]
pub fn places(mocks: Option<&MockProcess>) -> &[MockAddress] {
    mocks.map_or(&[], |mocks| &mocks.addresses)
}

impl MockProcess {
    /// Starts the mocks of this plan. Reads recorded latencies from `runs`, a folder of records.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if the mocks do not start.
    pub fn start(
        plan: &Path,
        runs: Option<&Path>,
        seed: Option<u64>,
    ) -> Result<MockProcess, NotStarted> {
        let program = std::env::current_exe()
            .map_err(|e| format!("cannot find the path of this program: {e}"))?;
        let mut command = Command::new(program);
        command.arg("mock").arg(plan).arg("--until-stdin-closes");
        if let Some(seed) = seed {
            command.arg(format!("--seed={seed}"));
        }
        if let Some(runs) = runs {
            command.arg("--runs").arg(runs);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|e| format!("cannot start the mocks: {e}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let mut mocks = MockProcess {
            child,
            stdin,
            addresses: Vec::new(),
        };
        let lines = stdout
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines());
        for line in lines.map_while(Result::ok) {
            let reported = line.strip_prefix("listening on ");
            if let Some((url, name)) = reported.and_then(|rest| rest.split_once(' ')) {
                mocks.addresses.push(MockAddress {
                    name: name.to_owned(),
                    url: url.to_owned(),
                });
            }
            if line == "ready" {
                return Ok(mocks);
            }
        }
        let code = mocks.child.wait().ok().and_then(|status| status.code());
        Err(NotStarted {
            line: "the mocks did not start".to_owned(),
            bad_input: code == Some(i32::from(exit::BAD_INPUT)),
        })
    }

    /// Returns the names and base URLs of the mocks.
    #[must_use]
    pub fn addresses(&self) -> &[MockAddress] {
        &self.addresses
    }

    /// Returns how the process ended. `None` while it is running.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("the mock process of the plan exited: {status}"))
    }

    /// Returns the value of [`ENVIRONMENT`] for processes that use these mocks.
    #[must_use]
    pub fn environment(&self) -> String {
        let named = self.addresses.iter();
        let named: Vec<String> = named
            .map(|MockAddress { name, url }| format!("{name}={url}"))
            .collect();
        named.join(" ")
    }
}

impl Drop for MockProcess {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// Adds the mocks as downstream services to an embedded target, unless the target sets them itself.
#[must_use]
pub fn redirect(target: &str, addresses: &[MockAddress]) -> String {
    let mut target = target.to_owned();
    for MockAddress { name, url } in addresses {
        if target.contains(&format!("downstream={name}=")) {
            continue;
        }
        target.push(if target.contains('?') { '&' } else { '?' });
        target.push_str(&format!("downstream={name}={url}"));
    }
    target
}

/// Tells all mocks that the load starts now, so that they reset their timelines and figures.
///
/// # Errors
///
/// Fails with a one-line error if a mock does not respond.
pub fn begin(addresses: &[MockAddress]) -> Result<(), String> {
    addresses
        .iter()
        .try_for_each(|one| ask(one, "POST", "/__mock/begin").map(drop))
}

/// Requests the figures of each mock since the load started.
///
/// # Errors
///
/// Fails with a one-line error if a mock does not respond.
pub fn fetch_stats(addresses: &[MockAddress]) -> Result<Vec<Value>, String> {
    addresses
        .iter()
        .map(|one| ask(one, "GET", "/__mock/stats"))
        .collect()
}

fn ask(address: &MockAddress, method: &str, path: &str) -> Result<Value, String> {
    let MockAddress { name, url } = address;
    let failed = |reason: String| format!("mock {name}: {reason}");
    let (base, _) = Base::of_url(url).map_err(failed)?;
    let request = BlockingRequest {
        method,
        path,
        headers: &[],
        body: None,
    };
    let answer = base.send(&request).map_err(failed)?;
    serde_json::from_slice(&answer.body).map_err(|reason| failed(reason.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mocks_are_downstreams_of_a_lab_by_default() {
        let all = vec![
            MockAddress {
                name: "lorota".to_owned(),
                url: "http://127.0.0.1:1".to_owned(),
            },
            MockAddress {
                name: "chip".to_owned(),
                url: "http://127.0.0.1:2".to_owned(),
            },
        ];
        assert_eq!(
            redirect("lab:checkin", &all),
            "lab:checkin?downstream=lorota=http://127.0.0.1:1&downstream=chip=http://127.0.0.1:2"
        );
        assert_eq!(
            redirect("lab:checkin?downstream=chip=http://x", &all),
            "lab:checkin?downstream=chip=http://x&downstream=lorota=http://127.0.0.1:1"
        );
    }
}
