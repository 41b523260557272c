//! Errors that occur when a lab starts or stops. Each is a single line for the user.

use std::fmt;
use std::io;
use std::path::PathBuf;

#[derive(Debug)]
pub enum LabError {
    UnknownLab {
        name: String,
        known: Vec<&'static str>,
    },
    UnknownOption {
        lab: &'static str,
        option: String,
        known: &'static [&'static str],
    },
    BadOption {
        lab: &'static str,
        option: String,
        value: String,
        advice: String,
    },
    CannotBind {
        host: String,
        port: u16,
        source: io::Error,
    },
    CannotOpenLog {
        path: PathBuf,
        source: io::Error,
    },
    CannotWriteLog {
        path: PathBuf,
        source: io::Error,
    },
    CannotOpenStore {
        store: String,
        reason: String,
    },
    Output(io::Error),
    Runtime(io::Error),
}

impl LabError {
    /// Returns whether the name or an option is invalid, which another port, file or machine would
    /// not fix.
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
                    "unknown lab {name:?}: the available labs are {}",
                    known.join(", ")
                )
            }
            Self::UnknownOption {
                lab,
                option,
                known: [],
            } => write!(f, "lab {lab} has no option {option:?}: it has no options"),
            Self::UnknownOption { lab, option, known } => {
                write!(
                    f,
                    "lab {lab} has no option {option:?}: available options are {}",
                    known.join(", ")
                )
            }
            Self::BadOption {
                lab,
                option,
                value,
                advice,
            } => write!(f, "lab {lab}: {option}={value} is not valid: {advice}"),
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
