//! Reads the folder of a campaign and creates the campaign's report.

use std::{fs, io, path::Path};

use analysis::page::Page;
use decisions::campaign::{self, Campaign, FinishedStage, Identity, StageOutcome};
use plan::report_content::{ReportContent, Section, SectionPlace};
use record::Zone;
use report::{campaign::RunSpan, derived};
use session::SharedMessageSink;

use crate::{
    external::{External, NotRendered},
    ledger::{CampaignHead, CampaignLedger, StageEnd},
};

/// Subfolder of a campaign for sections that the team writes after the campaign.
const NOTES: &str = "notes";

#[derive(Debug)]
pub struct FinishedCampaign {
    pub campaign: Campaign,
    pub report: Option<std::path::PathBuf>,
}

pub fn page(folder: &Path, record: &str) -> Option<Page> {
    External::default().page(folder, record)
}

/// The page of a stage that has a record.
pub struct StagePage {
    pub name: String,
    pub page: Page,
    code: u8,
    report: String,
}

pub fn derive(
    ledger: &CampaignLedger,
    sink: &SharedMessageSink,
) -> Result<FinishedCampaign, String> {
    derive_with(ledger, External::default(), sink).map_err(|error| error.to_string())
}

/// Reads the pages of all stages, including metrics of other tools.
pub fn stage_pages(
    ledger: &CampaignLedger,
    external: &mut External,
    sink: &SharedMessageSink,
) -> Result<Vec<Option<StagePage>>, NotRendered> {
    let head = &ledger.head;
    external.align(ledger)?;
    let pages = (0..head.stages.len())
        .map(|number| {
            let StageEnd { code, record, .. } = ledger.ended(number)?;
            let record = record?;
            let page = external.page(&ledger.folder, record);
            if page.is_none() {
                sink.warning(&format_args!(
                    "the record of stage `{}` cannot be read",
                    head.stages[number].name
                ));
            }
            Some(StagePage {
                name: head.stages[number].name.clone(),
                code,
                page: page?,
                report: format!("{record}/{}", derived::PAGE),
            })
        })
        .collect();
    Ok(pages)
}

pub fn derive_with(
    ledger: &CampaignLedger,
    mut external: External,
    sink: &SharedMessageSink,
) -> Result<FinishedCampaign, NotRendered> {
    let head = &ledger.head;
    let count = head.stages.len();
    let pages = stage_pages(ledger, &mut external, sink)?;
    let looks: Vec<Vec<Page>> = (0..count)
        .map(|number| {
            let runs = ledger
                .cooled(number)
                .map(|cool_down| cool_down.runs.as_slice());
            let runs = runs.unwrap_or_default().iter();
            runs.filter_map(|record| external.page(&ledger.folder, record))
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
            notes: head.stages[number].notes.as_deref(),
        })
        .collect();
    let mut campaign = campaign::judge(identity(head, &ledger.folder, sink), &stages);
    campaign.notes = external.notes(&campaign.identity.started_utc)?;
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

fn identity(head: &CampaignHead, folder: &Path, sink: &SharedMessageSink) -> Identity {
    let wanted = head.content.time_zone.as_ref();
    let zone = wanted.and_then(Zone::find);
    if let (Some(wanted), None) = (wanted, &zone) {
        sink.warning(&format_args!(
            "the time zone {wanted} is not in this machine's time zone database: \
             the report shows UTC (install tzdata)"
        ));
    }
    Identity {
        zone,
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
        content: content(head, folder, sink),
    }
}

/// Returns the plan's additions to the report, and the sections that the team wrote after the
/// campaign. Warns about sections that cannot be read.
fn content(head: &CampaignHead, folder: &Path, sink: &SharedMessageSink) -> ReportContent {
    let mut content = head.content.clone();
    let files = fs::read_dir(folder.join(NOTES)).into_iter().flatten();
    let mut paths: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    for path in paths {
        let text = match path.is_file() {
            true => formats::files::read_to_string(&path),
            false => Err(io::Error::other("it is not a file")),
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match text {
            Ok(text) => content.sections.push(section(name.into_owned(), &text)),
            Err(reason) => sink.warning(&format_args!(
                "{}: {reason}; the report lacks this section",
                path.display()
            )),
        }
    }
    content
}

/// Creates a section. If the first line is a heading, it becomes the title.
fn section(name: String, text: &str) -> Section {
    let text = text.trim_start_matches('\u{feff}').trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let title = first.strip_prefix("# ").map(str::trim);
    Section {
        title: title.map_or(name, ToOwned::to_owned),
        text: title.map_or(text, |_| rest.trim()).to_owned(),
        place: SectionPlace::End,
    }
}
