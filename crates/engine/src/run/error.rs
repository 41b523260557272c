//! Why a run failed.

use worker::watchdog::Stuck;

/// The reason why a run failed.
#[derive(Debug)]
pub enum RunError {
    /// TLS, a thread or a runtime could not be set up.
    Setup(String),
    /// A worker died. The record contains its counts up to then.
    Worker(String),
    /// A worker is stuck and still running. It ends with the process.
    Stuck(Stuck),
    /// The caller could not write the record. The load was sent as planned up to then.
    Unrecorded(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Setup(what) => f.write_str(what),
            RunError::Worker(what) => write!(f, "a worker died: {what}"),
            RunError::Stuck(stuck) => stuck.fmt(f),
            RunError::Unrecorded(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for RunError {}

impl RunError {
    /// Returns the cause, which follows "ended early by".
    #[must_use]
    pub fn by_whom(&self) -> String {
        match self {
            RunError::Setup(what) => format!("a failed setup ({what})"),
            RunError::Worker(what) => format!("a crashed worker ({what})"),
            RunError::Stuck(stuck) => stuck.by_whom(),
            RunError::Unrecorded(reason) => {
                format!("an error while writing the record ({reason})")
            }
        }
    }
}
