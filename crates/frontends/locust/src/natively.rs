//! `loadline run locustfile.py`: translates Loadline's flags to Locust's and refuses flags without
//! an equivalent.

use plan::units::SECOND;
use session::{ExternalTool, Over, RunOptions};

use crate::interpreter;

#[derive(Debug)]
pub(crate) struct PythonFiles;

impl ExternalTool for PythonFiles {
    fn runs(&self, what: &str) -> bool {
        what.ends_with(".py") && !what.contains("://")
    }

    fn run(&self, options: &RunOptions<'_>, variables: &[(&str, String)]) -> Result<u8, String> {
        match interpreter::become_locust(&command_line(options)?, variables)? {}
    }

    fn undistributed(&self) -> &'static str {
        "Locust distributes a locustfile with its own master and workers: use `loadline locust --master`, `--worker` and `--processes`. --on and --shard are for load that Loadline sends itself"
    }

    fn unsearchable(&self, _: Over) -> Option<&'static str> {
        Some(
            "users of a locustfile decide when to send, so there is no rate to search: use a plan, an Artillery script or a wrk script",
        )
    }
}

fn command_line(options: &RunOptions<'_>) -> Result<Vec<String>, String> {
    if let Some(flag) = options.unfit {
        return Err(format!(
            "{flag} is not available for a locustfile, which Locust runs: remove it, or see `loadline locust --help`"
        ));
    }
    let mut line = vec!["-f".to_owned(), options.what.to_owned()];
    line.push("--headless".to_owned());
    let mut say = |flag: &str, value: String| line.extend([flag.to_owned(), value]);
    if let Some(target) = options.target {
        say("--host", target.to_owned());
    }
    if let Some(users) = options.connections {
        // Start all users immediately, as in Loadline's own closed loop.
        say("--users", users.to_string());
        say("--spawn-rate", users.to_string());
    }
    if let Some(ns) = options.duration_ns {
        if ns % SECOND != 0 {
            return Err("--duration: Locust accepts only whole seconds".to_owned());
        }
        say("--run-time", format!("{}s", ns / SECOND));
    }
    line.extend(options.arguments.iter().cloned());
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options<'a>(arguments: &'a [String]) -> RunOptions<'a> {
        RunOptions {
            what: "tests/locustfile.py",
            target: Some("http://127.0.0.1:8080"),
            duration_ns: Some(90 * SECOND),
            workers: None,
            connections: Some(20),
            rate: None,
            at_random: false,
            insecure: false,
            routed: false,
            arguments,
            headers: Vec::new(),
            unfit: None,
        }
    }

    #[test]
    fn flags_become_locusts() {
        let more = ["--tags".to_owned(), "read".to_owned()];
        let line = command_line(&options(&more)).unwrap().join(" ");
        assert_eq!(
            line,
            "-f tests/locustfile.py --headless --host http://127.0.0.1:8080 --users 20 --spawn-rate 20 --run-time 90s --tags read"
        );
    }

    #[test]
    fn what_locust_cannot_say_is_refused() {
        let half = RunOptions {
            duration_ns: Some(SECOND / 2),
            ..options(&[])
        };
        assert!(command_line(&half).unwrap_err().contains("whole seconds"));
        let once = RunOptions {
            unfit: Some("--once"),
            ..options(&[])
        };
        assert!(
            command_line(&once)
                .unwrap_err()
                .starts_with("--once is not available")
        );
    }

    #[test]
    fn addresses_are_not_files() {
        assert!(PythonFiles.runs("a/b.py") && !PythonFiles.runs("http://host/x.py"));
    }
}
