//! CONDUCT many: the stages of a campaign one after the other, each a run in a process of its own, with a look at the service between
//! them, and one report over all. What is finished is kept whatever happens later.
//!
//! How a run goes is `session`'s, what runs mean together is `decisions::campaign`'s. Nothing here prints: lines go to a `Voice`.

#![forbid(unsafe_code)]

mod broker;
mod campaign_reader;
mod conduct;
mod cool_down;
mod ledger;
mod planned;
mod process;
mod targets;

use std::path::{Path, PathBuf};

use formats::LoadErrors;
use session::SharedVoice;

pub use conduct::conduct;
pub use ledger::{FILE, find};

/// What a campaign is asked for.
#[derive(Debug, Clone, Default)]
pub struct CampaignOptions {
    /// The plan with stages.
    pub file: PathBuf,
    /// Replaces the plan's target.
    pub target: Option<String>,
    /// The seed of every stage.
    pub seed: Option<u64>,
    /// Where campaigns are kept; none: `.loadline/campaigns`.
    pub folder: Option<PathBuf>,
    /// Goes on with a campaign that was begun: this one, or the newest.
    pub resume: Option<PathBuf>,
    /// Flags of every run that Loadline's own door carries out, as they are.
    pub flags: Vec<String>,
    /// Whether the terminal may show what each run shows.
    pub shows_runs: bool,
}

/// Why a campaign ends before any of its stages runs.
#[derive(Debug)]
pub enum NotBegun {
    /// What was asked for is at fault: line by line.
    BadInput(Vec<String>),
    /// The machine is.
    CouldNot(String),
}

impl From<session::lab_process::NotStarted> for NotBegun {
    fn from(error: session::lab_process::NotStarted) -> NotBegun {
        if error.bad_input {
            NotBegun::bad(error.line)
        } else {
            NotBegun::CouldNot(error.line)
        }
    }
}

impl NotBegun {
    fn bad(line: impl std::fmt::Display) -> NotBegun {
        NotBegun::BadInput(vec![line.to_string()])
    }
}

impl From<LoadErrors> for NotBegun {
    fn from(errors: LoadErrors) -> NotBegun {
        NotBegun::BadInput(errors.problems.iter().map(ToString::to_string).collect())
    }
}

/// Renders a campaign's report again from what is in its folder.
///
/// # Errors
/// One line that says what cannot be read.
pub fn render(
    folder: &Path,
    voice: &SharedVoice,
) -> Result<campaign_reader::FinishedCampaign, String> {
    let ledger = ledger::CampaignLedger::open(folder, session::salt::redactor(&[]))?;
    campaign_reader::derive(&ledger, voice)
}
