//! Searches for the load line with probes in processes of their own; finished ones are kept.
//! `decisions::find::search` chooses levels. Messages go to a `Voice`.

#![forbid(unsafe_code)]

mod conduct;
mod probes;
mod recovery_polling;
mod slo;
mod sweep;

use std::path::PathBuf;

use decisions::find::{Over, search};
use plan::Criterion;

pub use conduct::conduct;

/// Phase of the measured load.
pub const PHASE: &str = "probe";
pub const FOLDER: &str = ".loadline/finds";

#[derive(Debug, Clone)]
pub struct FindOptions {
    pub what: String,
    pub target: Option<String>,
    /// Both, redacted.
    pub shown: (String, Option<String>),
    pub slos: Vec<Criterion>,
    pub over: Over,
    pub asked: search::SearchConfig,
    pub arrivals: String,
    /// A sweep instead of a search.
    pub is_sweep: bool,
    /// A script's load is one phase, including settling.
    pub is_script: bool,
    pub flags: Vec<String>,
    /// Listeners of a shared embedded target.
    pub listeners: Vec<String>,
    /// Addresses of shared mocks.
    pub mocks: Option<String>,
    /// `None` means a new one in [`FOLDER`].
    pub folder: Option<PathBuf>,
    pub notes: Vec<String>,
}
