//! Runs the stages of a campaign as separate processes, with cool-downs, and writes one report.
//! Finished stages are kept. Messages go to a `MessageSink`.

#![forbid(unsafe_code)]

mod broker;
mod campaign_reader;
mod conduct;
mod cool_down;
mod external;
mod ledger;
mod planned;
mod process;
mod targets;

use std::path::{Path, PathBuf};

use formats::LoadErrors;
use session::SharedMessageSink;

pub use campaign_reader::StagePage;
pub use conduct::conduct;
pub use external::{External, NotRendered};
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

/// Writes the report of a campaign again, including metrics of other tools.
pub fn render(
    folder: &Path,
    external: External,
    sink: &SharedMessageSink,
) -> Result<campaign_reader::FinishedCampaign, NotRendered> {
    campaign_reader::derive_with(&ledger(folder)?, external, sink)
}

/// Returns the pages of all stages that have a record.
pub fn stage_pages(
    folder: &Path,
    mut external: External,
    sink: &SharedMessageSink,
) -> Result<Vec<StagePage>, NotRendered> {
    let pages = campaign_reader::stage_pages(&ledger(folder)?, &mut external, sink)?;
    Ok(pages.into_iter().flatten().collect())
}

fn ledger(folder: &Path) -> Result<ledger::CampaignLedger, NotRendered> {
    let redactor = session::salt::redactor(&[]);
    ledger::CampaignLedger::open(folder, redactor).map_err(NotRendered::Record)
}
