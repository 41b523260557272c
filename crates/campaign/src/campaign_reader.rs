//! Reads the folder of a campaign and creates the campaign's report.

use std::path::Path;

use analysis::page::Page;
use decisions::campaign::{self, Campaign, FinishedStage, Identity, StageOutcome};
use record::Run;
use report::{campaign::RunSpan, derived};
use session::SharedMessageSink;

use crate::ledger::{CampaignHead, CampaignLedger, StageEnd};

#[derive(Debug)]
pub struct FinishedCampaign {
    pub campaign: Campaign,
    pub report: Option<std::path::PathBuf>,
}

pub fn page(folder: &Path, record: &str) -> Option<Page> {
    let run = Run::open(&folder.join(record)).ok()?;
    Some(audit::page(&run))
}

struct StagePage {
    code: u8,
    page: Page,
    report: String,
}

pub fn derive(
    ledger: &CampaignLedger,
    sink: &SharedMessageSink,
) -> Result<FinishedCampaign, String> {
    let head = &ledger.head;
    let count = head.stages.len();
    let pages: Vec<Option<StagePage>> = (0..count)
        .map(|number| {
            let StageEnd { code, record, .. } = ledger.ended(number)?;
            let record = record?;
            let page = page(&ledger.folder, record);
            if page.is_none() {
                sink.warning(&format_args!(
                    "the record of stage `{}` cannot be read",
                    head.stages[number].name
                ));
            }
            Some(StagePage {
                code,
                page: page?,
                report: format!("{record}/{}", derived::PAGE),
            })
        })
        .collect();
    let looks: Vec<Vec<Page>> = (0..count)
        .map(|number| {
            let runs = ledger
                .cooled(number)
                .map(|cool_down| cool_down.runs.as_slice());
            let runs = runs.unwrap_or_default().iter();
            runs.filter_map(|record| page(&ledger.folder, record))
                .collect()
        })
        .collect();
    let stages: Vec<FinishedStage<'_>> = (0..count)
        .map(|number| FinishedStage {
            name: &head.stages[number].name,
            load: &head.stages[number].load,
            target: head.stages[number].target.as_deref(),
            against: head.stages[number].against,
            planned: head.stages[number].planned.as_ref(),
            outcome: match (&pages[number], ledger.ended(number)) {
                (Some(ran), _) => StageOutcome::Ran {
                    page: &ran.page,
                    code: ran.code,
                    report: &ran.report,
                },
                (None, Some(end)) => {
                    StageOutcome::CouldNotRun(end.reason.unwrap_or("it left no record"))
                }
                (None, None) if ledger.was_begun(number) => StageOutcome::Unfinished,
                (None, None) => StageOutcome::NotRun,
            },
            cool_down: ledger.cooled(number),
        })
        .collect();
    let campaign = campaign::judge(identity(head), &stages);
    let mut runs: Vec<(RunSpan, &Page)> = Vec::new();
    for (number, page) in pages.iter().enumerate() {
        if let Some(StagePage { page, .. }) = page {
            let stage = Some(head.stages[number].name.clone());
            runs.push((RunSpan { stage }, page));
        }
        runs.extend(
            looks[number]
                .iter()
                .map(|page| (RunSpan { stage: None }, page)),
        );
    }
    let written = derived::write_campaign(&ledger.folder, &campaign, &runs);
    let report = match written {
        Ok(()) => Some(ledger.folder.join(derived::PAGE)),
        Err(error) => {
            sink.error(&error);
            None
        }
    };
    Ok(FinishedCampaign { campaign, report })
}

fn identity(head: &CampaignHead) -> Identity {
    Identity {
        name: head.name.clone(),
        target: head.target.clone(),
        started_utc: record::utc(head.started_wall_ns, "%Y-%m-%dT%H:%M:%S%.3fZ"),
        started_wall_ns: head.started_wall_ns,
        version: head.version.clone(),
        file: head.file.clone(),
        about: head.about.clone(),
        assumptions: head.assumptions.clone(),
        recommendations: head.recommendations.clone(),
        scaling: head.scaling,
    }
}
