//! Errors with which a run fails.

use worker::watchdog::Stuck;

/// Why a run failed.
#[derive(Debug)]
pub enum RunError {
    /// TLS, a thread or a runtime could not be set up.
    Setup(String),
    /// A worker died. The record contains its counts until then.
    Worker(String),
    /// A worker hangs and is still running. It ends with the process.
    Stuck(Stuck),
    /// The caller could not write the record. Until then, the load was sent as planned.
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
    /// Returns the cause, for texts after "ended early by".
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
