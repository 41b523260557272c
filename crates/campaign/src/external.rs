//! Metrics of other tools that cover a whole campaign.

use std::{fmt, path::Path};

use analysis::page::Page;
use audit::external_metrics::{ExternalMetrics, OfferedLoad, Offset};
use record::Run;
use report::derived;

use crate::ledger::CampaignLedger;

/// Files with metrics, and how to align their clocks with the runs.
#[derive(Debug)]
pub struct External {
    pub files: Vec<ExternalMetrics>,
    pub offset: Offset,
}

/// Why a campaign could not be rendered.
#[derive(Debug)]
pub enum NotRendered {
    /// The metrics of another tool do not match the campaign.
    External(String),
    Record(String),
}

impl fmt::Display for NotRendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotRendered::External(reason) => write!(f, "--server: {reason}"),
            NotRendered::Record(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for NotRendered {}

impl Default for External {
    fn default() -> External {
        External {
            files: Vec::new(),
            offset: Offset::Given(0),
        }
    }
}

impl External {
    /// Aligns the clocks of the files with the load of all stages.
    pub(crate) fn align(&mut self, ledger: &CampaignLedger) -> Result<(), NotRendered> {
        if self.files.is_empty() {
            return Ok(());
        }
        let mut load = OfferedLoad::default();
        for number in 0..ledger.head.stages.len() {
            let Some(record) = ledger.ended(number).and_then(|end| end.record) else {
                continue;
            };
            let Ok(run) = Run::open(&ledger.folder.join(record)) else {
                continue;
            };
            for metrics in &self.files {
                let checked = metrics.check_name(&run);
                checked.map_err(NotRendered::External)?;
            }
            load.add(&run);
        }
        for metrics in &mut self.files {
            let aligned = metrics.set_offset(self.offset, &load);
            aligned.map_err(NotRendered::External)?;
        }
        Ok(())
    }

    /// Returns the page of a run, including the external metrics that were measured during it.
    pub(crate) fn page(&mut self, folder: &Path, record: &str) -> Option<Page> {
        let dir = folder.join(record);
        if self.files.is_empty()
            && let Some(page) = derived::read_page(&dir)
        {
            return Some(page);
        }
        let mut run = Run::open(&dir).ok()?;
        for metrics in &mut self.files {
            metrics.add_to(&mut run);
        }
        Some(audit::page(&run))
    }

    /// Returns notes about the sources of the metrics. Fails if a file covers none of the runs.
    pub(crate) fn notes(&self, first_utc: &str) -> Result<Vec<String>, NotRendered> {
        let notes = self.files.iter().map(|metrics| metrics.note(first_utc));
        let notes: Result<Vec<String>, String> = notes.collect();
        notes.map_err(NotRendered::External)
    }
}
