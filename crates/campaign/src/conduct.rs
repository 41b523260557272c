//! Runs the stages in order and determines the exit code.

use std::path::Path;

use analysis::page::Page;
use decisions::campaign::{CoolDown, StageVerdict, judged};
use formats::{
    Inputs,
    native::campaign::{self, Campaign, OnFail, Work},
};
use plan::Load;
use record::redact::Redactor;
use session::{Hosts, MockProcess, SharedMessageSink, exit, inputs, lab_process, mock_plan};

use crate::{
    CampaignOptions, NotBegun,
    broker::Broker,
    campaign_reader,
    cool_down::{self, Before, Looked},
    ledger::{self, CampaignHead, CampaignLedger, LedgerLine, StageEnd, StageHead},
    planned,
    process::StageEnv,
    targets::{self, Targets},
};

mod outcomes;

use outcomes::{code, describe, folder_name, has_failed, why_not};

pub fn conduct(options: &CampaignOptions, sink: &SharedMessageSink) -> Result<u8, NotBegun> {
    let campaign = read(options)?;
    let bytes = formats::files::read(&options.file)
        .map_err(|error| NotBegun::bad(format!("{}: {error}", options.file.display())))?;
    let sha256 = record::sha256(&bytes);
    let begun = match &options.resume {
        None => None,
        Some(named) => Some(begun(options, named, &campaign, &sha256)?),
    };
    // Start mocks before the services that call them.
    let mocks = match mocks_of(options)? {
        true => {
            Some(MockProcess::start(&options.file, None, options.seed).map_err(NotBegun::from)?)
        }
        false => None,
    };
    let targets = Targets::begin(&campaign, mocks.as_ref()).map_err(NotBegun::from)?;
    let broker = Broker::start(&campaign).map_err(NotBegun::from)?;
    // If no stage was started, remove the campaign's folder.
    let ledger = match begun {
        Some(ledger) => ledger,
        None => begin(options, &campaign, sha256)?,
    };
    let folder = ledger.folder.clone();
    let mut conductor = Conductor {
        env: StageEnv {
            options,
            folder: &folder,
            targets,
            broker,
            mocks,
            redactor: redactor_of(&campaign),
        },
        campaign: &campaign,
        ledger,
        sink,
        before: Vec::new(),
        mocks_died: false,
    };
    Ok(conductor.run())
}

fn mocks_of(options: &CampaignOptions) -> Result<bool, NotBegun> {
    // Read recorded runs now, so that problems are found early.
    let read = mock_plan::load(&options.file, None);
    read.map(|served| !served.mocks.is_empty())
        .map_err(NotBegun::BadInput)
}

fn read(options: &CampaignOptions) -> Result<Campaign, NotBegun> {
    let inputs = Inputs {
        files: vec![options.file.clone()],
        target: options
            .target
            .clone()
            .filter(|target| !target.starts_with(lab_process::SCHEME)),
        process_env: inputs::environment(),
        native: true,
        ..Inputs::default()
    };
    let mut campaign = campaign::load(&inputs)?;
    campaign.target = options.target.clone().or(campaign.target);
    let mut lines = Vec::new();
    if let (Some(target), Some(stage)) = (
        &options.target,
        campaign.stages.iter().find(|stage| stage.target.is_some()),
    ) {
        lines.push(format!(
"--target {target}: stage `{}` has its own target, so it is unclear which one to replace: change the plan instead",
stage.name
));
    }
    for stage in &mut campaign.stages {
        let Work::Load(plan) = &mut stage.work else {
            continue;
        };
        lines.extend(plan.problems().iter().map(ToString::to_string));
        if matches!(plan.load, Load::Open { .. }) && plan.schedule(0).total() == 0 {
            lines.push(format!(
                "stage `{}` plans no arrivals, so it would measure nothing: set a higher load",
                stage.name
            ));
        }
        if !plan.target.expose().starts_with(lab_process::SCHEME)
            && let Err(problems) = Hosts::Native(Vec::new()).allow(plan)
        {
            lines.extend(problems.iter().map(ToString::to_string));
        }
    }
    let mut reported: Vec<String> = Vec::new();
    for line in lines {
        if !reported.contains(&line) {
            reported.push(line);
        }
    }
    if reported.is_empty() {
        Ok(campaign)
    } else {
        Err(NotBegun::BadInput(reported))
    }
}

fn begun(
    options: &CampaignOptions,
    named: &Path,
    campaign: &Campaign,
    sha256: &str,
) -> Result<CampaignLedger, NotBegun> {
    let folder = ledger::find(options.folder.as_deref(), named).map_err(NotBegun::bad)?;
    let ledger = CampaignLedger::open(&folder, redactor_of(campaign)).map_err(NotBegun::bad)?;
    if ledger.head.sha256 == sha256 {
        return Ok(ledger);
    }
    Err(NotBegun::bad(format!(
        "{} has changed since the campaign in {} began: start a new campaign, without --resume",
        options.file.display(),
        folder.display()
    )))
}

fn begin(
    options: &CampaignOptions,
    campaign: &Campaign,
    sha256: String,
) -> Result<CampaignLedger, NotBegun> {
    let stages = campaign.stages.iter().map(|stage| StageHead {
        name: stage.name.clone(),
        load: match &stage.work {
            Work::Load(plan) => record::load_text(plan),
            Work::Command(command) => command.words.join(" "),
        },
        planned: match &stage.work {
            Work::Load(plan) => planned::from_plan(plan),
            Work::Command(_) => None,
        },
        target: stage.target.clone(),
        against: stage.against,
        notes: stage.notes.clone(),
    });
    let seed = inputs::random_seed();
    let head = CampaignHead {
        schema: ledger::schema(),
        name: campaign.name.clone(),
        file: options.file.display().to_string(),
        sha256,
        target: campaign.target.clone().unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_wall_ns: session::inputs::now_wall_ns(),
        stages: stages.collect(),
        about: campaign.about.clone(),
        assumptions: campaign.assumptions.clone(),
        recommendations: campaign.recommendations.clone(),
        scaling: campaign.scaling,
        content: campaign.content.clone(),
    };
    let redactor = redactor_of(campaign);
    let begun = CampaignLedger::begin(options.folder.as_deref(), seed as u16, head, redactor);
    begun.map_err(NotBegun::CouldNot)
}

fn redactor_of(campaign: &Campaign) -> Redactor {
    let mut redactor = session::salt::redactor(&[]);
    for stage in &campaign.stages {
        if let Work::Load(plan) = &stage.work {
            plan.secrets
                .iter()
                .for_each(|secret| redactor.learn(secret));
        }
    }
    redactor
}

struct Conductor<'a> {
    env: StageEnv<'a>,
    campaign: &'a Campaign,
    ledger: CampaignLedger,
    sink: &'a SharedMessageSink,
    before: Vec<(String, Before)>,
    mocks_died: bool,
}

enum After {
    Next,
    Enough,
    Signal(u8),
}

impl Conductor<'_> {
    fn run(&mut self) -> u8 {
        let count = self.campaign.stages.len();
        let name = &self.ledger.head.name;
        self.sink.say(&format_args!(
            "{name}: {count} stages, stored in {}",
            self.ledger.folder.display()
        ));
        let mut signal = None;
        for number in 0..count {
            let after = match self.finished(number) {
                Some(after) => after,
                None => match self.stage_or_again(number) {
                    Ok(after) => after,
                    Err(line) => {
                        self.sink.error(&line);
                        self.ledger.failed(number, line);
                        After::Enough
                    }
                },
            };
            match after {
                After::Next => {}
                After::Enough => break,
                After::Signal(number) => {
                    signal = Some(number);
                    break;
                }
            }
        }
        self.end(signal)
    }

    fn finished(&mut self, number: usize) -> Option<After> {
        let StageEnd { code, record, .. } = self.ledger.ended(number)?;
        if code >= exit::of_signal(0) || self.is_invalid(number) {
            return None;
        }
        let page = record.and_then(|record| campaign_reader::page(&self.ledger.folder, record));
        let page = page?;
        self.learn(number, &page);
        self.sink
            .say(&format_args!("{}: finished earlier", self.label(number)));
        let holds = judged(&page.summary, code).holds();
        let is_last = number + 1 == self.campaign.stages.len();
        let next_begun = !is_last && self.ledger.was_begun(number + 1);
        if self
            .ledger
            .cooled(number)
            .is_some_and(CoolDown::is_not_back)
        {
            return Some(After::Enough);
        }
        if self.ledger.cooled(number).is_none() && !next_begun {
            match self.cool_down(number, &page) {
                Ok(after @ (After::Signal(_) | After::Enough)) => return Some(after),
                Ok(After::Next) => {}
                Err(line) => self.sink.error(&line),
            }
        }
        Some(self.gate(number, holds))
    }

    fn label(&self, number: usize) -> String {
        let count = self.campaign.stages.len();
        format!(
            "{}/{count} {}",
            number + 1,
            self.campaign.stages[number].name
        )
    }

    fn gate(&self, number: usize, holds: bool) -> After {
        let goes_on = self.campaign.stages[number].on_fail == OnFail::Continue;
        if holds || goes_on {
            After::Next
        } else {
            After::Enough
        }
    }

    fn stage_or_again(&mut self, number: usize) -> Result<After, String> {
        let after = self.stage(number)?;
        let is_back = !self
            .ledger
            .cooled(number)
            .is_some_and(CoolDown::is_not_back);
        if matches!(after, After::Signal(_)) || !self.is_invalid(number) || !is_back {
            return Ok(after);
        }
        let label = self.label(number);
        self.sink.say(&format_args!(
            "{label}: the measurement was INVALID; the stage is repeated once"
        ));
        self.stage(number)
    }

    fn is_invalid(&self, number: usize) -> bool {
        let Some(StageEnd {
            code,
            record: Some(record),
            ..
        }) = self.ledger.ended(number)
        else {
            return false;
        };
        let page = campaign_reader::page(&self.ledger.folder, record);
        page.is_some_and(|page| judged(&page.summary, code) == StageVerdict::Invalid)
    }

    fn stage(&mut self, number: usize) -> Result<After, String> {
        let stage = &self.campaign.stages[number];
        let label = self.label(number);
        self.sink.say(&format_args!(
            "{label}: {}",
            self.ledger.head.stages[number].load
        ));
        let mocks = self.env.mocks.as_ref();
        let targets = &mut self.env.targets;
        targets.load(self.campaign, number, mocks)?;
        self.ledger.add(LedgerLine::Begun { stage: number })?;
        let folder = folder_name(number, &stage.name);
        let ran = match &stage.work {
            Work::Load(_) => self.env.native(&stage.name, &folder, &[])?,
            Work::Command(command) => self.env.command(command, &folder)?,
        };
        let died = self.env.mocks.as_mut().and_then(MockProcess::ended);
        let record = ran.record.as_deref().and_then(Path::file_name);
        let record = record.filter(|_| died.is_none() && !has_failed(&ran));
        let record = record.map(|name| format!("{folder}/{}", name.to_string_lossy()));
        let page = record
            .as_deref()
            .and_then(|record| campaign_reader::page(&self.ledger.folder, record));
        let is_dead = died.is_some();
        let reason = died.or_else(|| page.is_none().then(|| why_not(&ran)));
        let code = match (ran.signal, is_dead) {
            (Some(signal), _) => exit::of_signal(signal),
            (None, true) => exit::COULD_NOT_RUN,
            (None, false) => ran.code,
        };
        self.ledger.add(LedgerLine::Ended {
            stage: number,
            code,
            record,
            reason: reason.clone(),
        })?;
        let seen = campaign_reader::derive(&self.ledger, self.sink)?;
        if let Some(row) = seen.campaign.stages.get(number) {
            self.sink.say(&format_args!("{label}: {}", describe(row)));
        }
        if let Some(signal) = ran.signal {
            return Ok(After::Signal(signal));
        }
        if is_dead {
            self.mocks_died = true;
            return Ok(After::Enough);
        }
        let Some(page) = page else {
            return Ok(self.gate(number, false));
        };
        self.learn(number, &page);
        let holds = judged(&page.summary, code).holds();
        match self.cool_down(number, &page)? {
            After::Next => Ok(self.gate(number, holds)),
            after => Ok(after),
        }
    }

    fn baseline(&self, number: usize) -> Option<usize> {
        let target = |stage: usize| targets::name(self.campaign, stage);
        let named = self.campaign.cool_down.as_ref()?.baseline;
        if target(named) == target(number) {
            return Some(named);
        }
        (0..=number).find(|stage| target(*stage) == target(number))
    }

    fn learn(&mut self, number: usize, page: &Page) {
        if self.baseline(number) == Some(number)
            && let Some(before) = Before::from_baseline(&page.summary)
        {
            let target = targets::name(self.campaign, number);
            self.before.push((target.to_owned(), before));
        }
    }

    fn cool_down(&mut self, number: usize, page: &Page) -> Result<After, String> {
        let target = targets::name(self.campaign, number);
        let before = self.before.iter().find(|(known, _)| known == target);
        let before = before.map(|(_, before)| *before);
        let (Some(asked), Some(before)) = (&self.campaign.cool_down, before) else {
            return Ok(After::Next);
        };
        if self.baseline(number) == Some(number) {
            return Ok(After::Next);
        }
        let label = self.label(number);
        // If another tool ran the first stage, any Loadline stage on this target serves as the
        // baseline.
        let own = self
            .campaign
            .stages
            .iter()
            .enumerate()
            .find(|(other, stage)| {
                matches!(stage.work, Work::Load(_))
                    && targets::name(self.campaign, *other) == target
            });
        let Some((_, own)) = own else {
            return Ok(After::Next);
        };
        let name = format!(
            "{}-looks",
            folder_name(number, &self.campaign.stages[number].name)
        );
        let end = cool_down::load_end_wall_ns(&page.summary);
        let mocks = self.env.mocks.as_ref();
        self.env.targets.load(self.campaign, number, mocks)?;
        let looked = cool_down::look(&self.env, asked, &own.name, before, &name, end);
        // Without mocks, it is unknown whether the service recovers.
        let died = self.env.mocks.as_mut().and_then(MockProcess::ended);
        self.mocks_died |= died.is_some();
        let looked = match died {
            Some(died) => {
                let mut looked = looked.unwrap_or_else(|_| Looked::nothing(asked, before));
                looked.cool_down.recovered_ns = None;
                looked.cool_down.unmeasured = Some(died);
                looked
            }
            None => looked?,
        };
        self.sink.say(&format_args!(
            "{label}: {}",
            cool_down::describe(&looked.cool_down)
        ));
        let is_back = !self.mocks_died && !looked.cool_down.is_not_back();
        if let Some(signal) = looked.signal {
            return Ok(After::Signal(signal));
        }
        self.ledger.add(LedgerLine::Cooled {
            stage: number,
            cool_down: looked.cool_down,
        })?;
        // Stop regardless of `on-fail`, because the next stage would also measure the effects of
        // this one.
        Ok(if is_back { After::Next } else { After::Enough })
    }

    fn end(&self, signal: Option<u8>) -> u8 {
        let seen = match campaign_reader::derive(&self.ledger, self.sink) {
            Ok(seen) => seen,
            Err(line) => {
                self.sink.error(&line);
                return exit::COULD_NOT_RUN;
            }
        };
        self.sink
            .out(&report::console::campaign_text(&seen.campaign));
        match &seen.report {
            Some(report) => self.sink.out(&format!("Report: {}\n", report.display())),
            None => return exit::COULD_NOT_RUN,
        }
        if let Some(signal) = signal {
            let file = &self.ledger.head.file;
            let go_on = format!("{file} --resume {}", self.ledger.folder.display());
            self.sink.say(&format_args!(
                "finished stages are kept: `loadline campaign {go_on}` continues the campaign"
            ));
            return exit::of_signal(signal);
        }
        if self.mocks_died {
            exit::COULD_NOT_RUN
        } else {
            code(&seen.campaign.stages)
        }
    }
}
