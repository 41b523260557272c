//! SEARCH the load line: the highest load at which everything that is asked for holds, by probes that are runs in processes of their own.
//! What is finished is kept whatever happens later.
//!
//! Which level is tried next is `decisions::find::search`'s, how a run goes `session`'s, how the answer is told `report`'s. Nothing here
//! prints: lines go to a `Voice`.

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

/// The phase of a probe's load that counts.
pub const PHASE: &str = "probe";
/// Where searches are kept when nobody says otherwise.
pub const FOLDER: &str = ".loadline/finds";

/// What a search is asked for.
#[derive(Debug, Clone)]
pub struct FindOptions {
    /// What is run: as `loadline run` takes it.
    pub what: String,
    /// The target, where it is named apart from that.
    pub target: Option<String>,
    /// Both as they may be shown.
    pub shown: (String, Option<String>),
    /// What must hold, with texts as they were written.
    pub slos: Vec<Criterion>,
    /// What is searched over.
    pub over: Over,
    /// How it is searched.
    pub asked: search::SearchConfig,
    /// How arrivals are spread.
    pub arrivals: String,
    /// It is no search: numbers of users are measured one after the other, to see how the service scales.
    pub is_sweep: bool,
    /// Its load is one phase, in which what settles cannot be told from what counts: a script that makes its requests itself.
    pub is_script: bool,
    /// Flags of every run, as they are.
    pub flags: Vec<String>,
    /// Where an embedded target listens that all probes share.
    pub listeners: Vec<String>,
    /// What tells a process of the mocks that all probes share, where there are some.
    pub mocks: Option<String>,
    /// The search's folder; none: a new one in [`FOLDER`].
    pub folder: Option<PathBuf>,
    /// What the user has to know beside the answer.
    pub notes: Vec<String>,
}
