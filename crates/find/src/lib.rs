//! Searches for the load line with probes that run as separate processes. `decisions::find::search`
//! chooses the levels. Messages go to a `MessageSink`.

#![forbid(unsafe_code)]

mod conduct;
mod probes;
mod recovery_polling;
mod slo;
mod sweep;

use std::path::PathBuf;

use decisions::find::{Over, search};
use plan::Criterion;

pub use conduct::{FinishedSearch, conduct};
pub use probes::ProbeError;

pub const PHASE: &str = "probe";
pub const FOLDER: &str = ".loadline/finds";

#[derive(Debug, Clone)]
pub struct FindOptions {
    pub what: String,
    pub target: Option<String>,
    pub redacted: (String, Option<String>),
    pub slos: Vec<Criterion>,
    pub over: Over,
    pub config: search::SearchConfig,
    pub arrivals: String,
    pub is_sweep: bool,
    pub is_script: bool,
    pub flags: Vec<String>,
    pub listeners: Vec<String>,
    pub mocks: Option<String>,
    pub folder: Option<PathBuf>,
    pub notes: Vec<String>,
}
