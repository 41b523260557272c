//! Why a lab could not start or could not end cleanly, each in one line that can be shown as it is.
//! What a lab answers to a bad request is no error of ours and lives with the lab.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a lab could not start, or did not end cleanly.
#[derive(Debug)]
pub enum LabError {
    /// There is no lab of this name.
    UnknownLab {
        /// The name as given.
        name: String,
        /// The labs that there are.
        known: Vec<&'static str>,
    },
    /// The lab takes no such `option=value`.
    UnknownOption {
        /// The lab.
        lab: &'static str,
        /// The option as given.
        option: String,
        /// The options that the lab takes.
        known: &'static [&'static str],
    },
    /// The lab cannot do what an `option=value` asks for.
    BadOption {
        /// The lab.
        lab: &'static str,
        /// The option as given.
        option: String,
        /// Its value as given.
        value: String,
        /// What is wrong, or what would be right.
        advice: String,
    },
    /// The port could not be taken.
    CannotBind {
        /// The host as given.
        host: String,
        /// The port as given.
        port: u16,
        /// The reason.
        source: io::Error,
    },
    /// The request log could not be created.
    CannotOpenLog {
        /// Its path.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The request log could not be written to its end, so it has gaps.
    CannotWriteLog {
        /// Its path.
        path: PathBuf,
        /// The first thing that went wrong.
        source: io::Error,
    },
    /// The lab's data store could not be opened.
    CannotOpenStore {
        /// The store as given.
        store: String,
        /// The reason.
        reason: String,
    },
    /// The lines that announce the lab could not be written.
    Output(io::Error),
    /// The system refused what a server needs: an event loop, a thread, a signal handler.
    Runtime(io::Error),
}

impl LabError {
    /// Whether the request for the lab was wrong in itself (its name, an option), so that no other port, file or machine would
    /// help.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Self::UnknownLab { .. } | Self::UnknownOption { .. } | Self::BadOption { .. }
        )
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownLab { name, known } => {
                write!(
                    f,
                    "there is no lab {name:?}; the labs are {}",
                    known.join(", ")
                )
            }
            Self::UnknownOption {
                lab,
                option,
                known: [],
            } => write!(f, "lab {lab} has no option {option:?}; it takes none"),
            Self::UnknownOption { lab, option, known } => {
                write!(
                    f,
                    "lab {lab} has no option {option:?}; it takes {}",
                    known.join(", ")
                )
            }
            Self::BadOption {
                lab,
                option,
                value,
                advice,
            } => write!(f, "lab {lab} cannot take {option}={value}: {advice}"),
            Self::CannotBind { host, port, source } => {
                write!(f, "cannot bind {host}:{port}: {source}")
            }
            Self::CannotOpenLog { path, source } => {
                write!(f, "cannot open log {}: {source}", path.display())
            }
            Self::CannotWriteLog { path, source } => {
                write!(f, "cannot write log {}: {source}", path.display())
            }
            Self::CannotOpenStore { store, reason } => {
                write!(f, "cannot open store {store}: {reason}")
            }
            Self::Output(source) => write!(f, "cannot announce the lab: {source}"),
            Self::Runtime(source) => write!(f, "cannot run the lab: {source}"),
        }
    }
}

impl std::error::Error for LabError {}
