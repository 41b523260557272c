//! `campaign.jsonl`: the campaign's options, and a line for each event of a stage. Lines are only
//! appended, so the file survives a kill.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use decisions::campaign::{CoolDown, Planned};
use plan::{about::About, deployment::Scaling, report_content::ReportContent};
use record::redact::Redactor;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub const FILE: &str = "campaign.jsonl";
const DEFAULT: &str = ".loadline/campaigns";
const SCHEMA: u32 = 2;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CampaignHead {
    pub schema: u32,
    pub name: String,
    pub file: String,
    pub sha256: String,
    pub target: String,
    pub version: String,
    pub started_wall_ns: u64,
    pub stages: Vec<StageHead>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    pub assumptions: Vec<String>,
    pub recommendations: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    #[serde(default)]
    pub content: ReportContent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageHead {
    pub name: String,
    pub load: String,
    pub planned: Option<Planned>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LedgerLine {
    Begun {
        stage: usize,
    },
    Ended {
        stage: usize,
        code: u8,
        record: Option<String>,
        reason: Option<String>,
    },
    Cooled {
        stage: usize,
        cool_down: CoolDown,
    },
}

#[derive(Debug)]
pub struct CampaignLedger {
    pub folder: PathBuf,
    pub head: CampaignHead,
    pub lines: Vec<LedgerLine>,
    redactor: Redactor,
}

fn redacted<T: Serialize + DeserializeOwned>(value: T, redactor: &Redactor) -> Result<T, String> {
    let tree = serde_json::to_value(value).map_err(|error| error.to_string())?;
    serde_json::from_value(redactor.json(&tree)).map_err(|error| error.to_string())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageEnd<'a> {
    pub code: u8,
    pub record: Option<&'a str>,
    pub reason: Option<&'a str>,
}

impl CampaignLedger {
    pub fn begin(
        campaigns: Option<&Path>,
        suffix: u16,
        head: CampaignHead,
        redactor: Redactor,
    ) -> Result<CampaignLedger, String> {
        let head = redacted(head, &redactor)?;
        let campaigns = campaigns.unwrap_or(Path::new(DEFAULT));
        let cannot = |path: &Path| {
            let path = path.display().to_string();
            move |error: std::io::Error| format!("cannot write {path}: {error}")
        };
        fs::create_dir_all(campaigns).map_err(cannot(campaigns))?;
        let ignored = campaigns.parent().map(|parent| parent.join(".gitignore"));
        if let Some(file) = ignored.filter(|file| campaigns.ends_with(DEFAULT) && !file.exists()) {
            let _ = fs::write(file, "*\n");
        }
        let time = record::utc(head.started_wall_ns, "%Y%m%dT%H%M%SZ");
        let mut suffix = suffix;
        let folder = loop {
            let folder = campaigns.join(format!("{time}-{suffix:04x}"));
            match fs::create_dir(&folder) {
                Ok(()) => break folder,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    suffix = suffix.wrapping_add(1);
                }
                Err(error) => return Err(cannot(&folder)(error)),
            }
        };
        let ledger = CampaignLedger {
            folder,
            head,
            lines: Vec::new(),
            redactor,
        };
        ledger.append(&ledger.head)?;
        ledger.point_last(campaigns);
        Ok(ledger)
    }

    /// Reads the ledger of a campaign. Ignores incomplete lines.
    pub fn open(folder: &Path, redactor: Redactor) -> Result<CampaignLedger, String> {
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let mut lines = text.lines();
        let damaged = |reason: String| format!("{}:1: {reason}", path.display());
        let head: CampaignHead = serde_json::from_str(lines.next().unwrap_or_default())
            .map_err(|error| damaged(format!("this is not a campaign: {error}")))?;
        if head.schema != SCHEMA {
            let age = if head.schema > SCHEMA {
                "a newer"
            } else {
                "an older"
            };
            return Err(damaged(format!(
                "{age} version of Loadline ({}) wrote this campaign",
                head.version
            )));
        }
        let lines = lines.map_while(|line| serde_json::from_str(line).ok());
        Ok(CampaignLedger {
            folder: folder.to_owned(),
            lines: lines.collect(),
            head,
            redactor,
        })
    }

    pub fn add(&mut self, line: LedgerLine) -> Result<(), String> {
        let line = redacted(line, &self.redactor)?;
        let written = self.append(&line);
        self.lines.push(line);
        written
    }

    /// Marks a stage as failed, only in memory. A finished stage stays finished.
    pub fn failed(&mut self, stage: usize, reason: String) {
        if self.ended(stage).is_none() {
            self.lines.push(LedgerLine::Ended {
                stage,
                code: session::exit::COULD_NOT_RUN,
                record: None,
                reason: Some(self.redactor.text(&reason)),
            });
        }
    }

    fn append(&self, line: &impl Serialize) -> Result<(), String> {
        let path = self.folder.join(FILE);
        let cannot =
            |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", path.display());
        let text = serde_json::to_string(line).map_err(|error| cannot(&error))? + "\n";
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| cannot(&error))?;
        let before = file.metadata().map_err(|error| cannot(&error))?.len();
        file.write_all(text.as_bytes()).map_err(|error| {
            // Remove the incomplete line. Otherwise, the next line would be appended to it.
            let _ = file.set_len(before);
            format!("{}: free some space", cannot(&error))
        })
    }

    fn point_last(&self, campaigns: &Path) {
        let Some(name) = self.folder.file_name() else {
            return;
        };
        let last = campaigns.join("last");
        // A file that Loadline did not create stays unchanged.
        if fs::symlink_metadata(&last).map_or(true, |known| known.is_symlink()) {
            let new = campaigns.join(format!(".last-{}", name.to_string_lossy()));
            if std::os::unix::fs::symlink(name, &new).is_ok() && fs::rename(&new, &last).is_err() {
                let _ = fs::remove_file(&new);
            }
        }
    }

    /// Returns how a stage most recently ended. `None` if the stage has been started again since
    /// then.
    #[must_use]
    pub fn ended(&self, number: usize) -> Option<StageEnd<'_>> {
        self.lines.iter().rev().find_map(|line| match line {
            LedgerLine::Begun { stage } if *stage == number => Some(None),
            LedgerLine::Ended {
                stage,
                code,
                record,
                reason,
            } if *stage == number => Some(Some(StageEnd {
                code: *code,
                record: record.as_deref(),
                reason: reason.as_deref(),
            })),
            _ => None,
        })?
    }

    #[must_use]
    pub fn was_begun(&self, number: usize) -> bool {
        let begun =
            |line: &LedgerLine| matches!(line, LedgerLine::Begun { stage } if *stage == number);
        self.lines.iter().any(begun)
    }

    #[must_use]
    pub fn cooled(&self, number: usize) -> Option<&CoolDown> {
        self.lines.iter().rev().find_map(|line| match line {
            LedgerLine::Cooled { stage, cool_down } if *stage == number => Some(cool_down),
            _ => None,
        })
    }
}

#[must_use]
pub fn schema() -> u32 {
    SCHEMA
}

pub fn find(campaigns: Option<&Path>, options: &Path) -> Result<PathBuf, String> {
    let campaigns = campaigns.unwrap_or(Path::new(DEFAULT));
    let is_one = |folder: &Path| folder.join(FILE).is_file();
    let named = campaigns.join(options);
    if is_one(&named) {
        return Ok(fs::read_link(&named).map_or(named, |to| campaigns.join(to)));
    }
    if is_one(options) {
        return Ok(options.to_owned());
    }
    Err(format!(
        "there is no campaign {} in {}",
        options.display(),
        campaigns.display()
    ))
}
