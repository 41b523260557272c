//! Runs the stages of a campaign as separate processes, with cool-downs, and writes one report.
//! Finished stages are kept. Messages go to a `MessageSink`.

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
use session::SharedMessageSink;

pub use conduct::conduct;
pub use ledger::{FILE, find};

#[derive(Debug, Clone, Default)]
pub struct CampaignOptions {
    pub file: PathBuf,
    pub target: Option<String>,
    pub seed: Option<u64>,
    pub folder: Option<PathBuf>,
    pub resume: Option<PathBuf>,
    pub flags: Vec<String>,
    pub shows_runs: bool,
}

#[derive(Debug)]
pub enum NotBegun {
    BadInput(Vec<String>),
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

pub fn render(
    folder: &Path,
    sink: &SharedMessageSink,
) -> Result<campaign_reader::FinishedCampaign, String> {
    let ledger = ledger::CampaignLedger::open(folder, session::salt::redactor(&[]))?;
    campaign_reader::derive(&ledger, sink)
}
