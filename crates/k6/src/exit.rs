//! Exit codes, and the final error line of a run.

use crate::duration::DurationNs;

/// Why a run did not end normally.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// Thresholds failed at the end. Contains the names of their metrics as one text.
    ThresholdsCrossed(String),
    /// A threshold stopped the run. Contains the names of the metrics as one text.
    ThresholdsAborted(String),
    /// `setup` exceeded this time limit.
    SetupTimeout(DurationNs),
    /// `teardown` exceeded this time limit.
    TeardownTimeout(DurationNs),
    /// Another part, such as `handleSummary`, exceeded its time limit.
    OtherTimeout(String),
    /// The REST API stopped the run.
    StoppedByApi,
    /// Options, thresholds or outputs are invalid.
    InvalidConfig(String),
    /// The process received SIGINT.
    Interrupted,
    /// The process received SIGTERM.
    Terminated,
    /// The REST API could not listen on its port.
    CannotListen(String),
    /// The init code, `setup` or `teardown` threw an exception, or an import failed.
    ScriptException(String),
    /// The script called `exec.test.abort()`. Contains its text, which may be empty.
    ScriptAborted(String),
    /// The script called `exec.test.fail()`.
    MarkedAsFailed,
    /// The program panicked because of a defect.
    Panic(String),
    /// Any other error: main file not found, invalid command line.
    Other(String),
}

impl RunError {
    /// Returns the exit code.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            RunError::ThresholdsCrossed(_) | RunError::ThresholdsAborted(_) => 99,
            RunError::SetupTimeout(_) => 100,
            RunError::TeardownTimeout(_) => 101,
            RunError::OtherTimeout(_) => 102,
            RunError::StoppedByApi => 103,
            RunError::InvalidConfig(_) => 104,
            RunError::Interrupted | RunError::Terminated => 105,
            RunError::CannotListen(_) => 106,
            RunError::ScriptException(_) => 107,
            RunError::ScriptAborted(_) => 108,
            RunError::Panic(_) => 109,
            RunError::MarkedAsFailed => 110,
            RunError::Other(_) => 255,
        }
    }

    /// Returns the final error line, without level and time.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            RunError::ThresholdsCrossed(names) => {
                format!("thresholds on metrics '{names}' have been crossed")
            }
            RunError::ThresholdsAborted(names) => format!(
                "thresholds on metrics '{names}' were crossed; at least one has abortOnFail \
                 enabled, stopping test prematurely"
            ),
            RunError::SetupTimeout(limit) => timeout_text("setup", *limit),
            RunError::TeardownTimeout(limit) => timeout_text("teardown", *limit),
            RunError::StoppedByApi => "test run stopped from the REST API".to_owned(),
            RunError::Interrupted => signal_text("interrupt"),
            RunError::Terminated => signal_text("terminated"),
            RunError::ScriptAborted(text) if text.is_empty() => "test aborted".to_owned(),
            RunError::ScriptAborted(text) => format!("test aborted: {text}"),
            RunError::MarkedAsFailed => "test run was marked as failed".to_owned(),
            RunError::OtherTimeout(text)
            | RunError::InvalidConfig(text)
            | RunError::CannotListen(text)
            | RunError::ScriptException(text)
            | RunError::Panic(text)
            | RunError::Other(text) => text.clone(),
        }
    }

    /// Returns the field `hint` of the final error line. `None` if there is no hint.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            RunError::SetupTimeout(_) => {
                Some("You can increase the time limit via the setupTimeout option")
            }
            RunError::TeardownTimeout(_) => {
                Some("You can increase the time limit via the teardownTimeout option")
            }
            RunError::ScriptException(_) => Some("script exception"),
            _ => None,
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            RunError::MarkedAsFailed => 1,
            RunError::ThresholdsCrossed(_) => 2,
            _ => 0,
        }
    }

    /// Returns the reason that determines the exit code. An abort takes precedence over a test
    /// marked as failed, which takes precedence over thresholds.
    #[must_use]
    pub fn decisive(reasons: Vec<RunError>) -> Option<RunError> {
        reasons.into_iter().min_by_key(RunError::rank)
    }
}

fn timeout_text(function: &str, limit: DurationNs) -> String {
    let seconds = crate::text::number(limit.0 as f64 / 1e9);
    format!("{function}() execution timed out after {seconds} seconds")
}

fn signal_text(signal: &str) -> String {
    format!("test run was aborted because k6 received a '{signal}' signal")
}

/// Warning that no iteration finished.
pub const NO_ITERATIONS_WARNING: &str =
    "No script iterations fully finished, consider making the test duration longer";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aborts_win_over_failures_and_thresholds() {
        let crossed = RunError::ThresholdsCrossed("a, b".to_owned());
        assert_eq!(
            crossed.message(),
            "thresholds on metrics 'a, b' have been crossed"
        );
        let all = vec![
            crossed.clone(),
            RunError::MarkedAsFailed,
            RunError::Interrupted,
        ];
        let decisive = RunError::decisive(all).unwrap();
        assert_eq!(decisive.exit_code(), 105);
        let two = RunError::decisive(vec![crossed, RunError::MarkedAsFailed]).unwrap();
        assert_eq!(two.exit_code(), 110);
        assert_eq!(RunError::decisive(Vec::new()), None);
    }

    #[test]
    fn timeouts_name_their_option() {
        let timeout = RunError::SetupTimeout(DurationNs::from_secs(60));
        assert_eq!(
            timeout.message(),
            "setup() execution timed out after 60 seconds"
        );
        assert!(timeout.hint().unwrap().contains("setupTimeout"));
    }
}
