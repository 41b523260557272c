//! `campaign.jsonl`: what a campaign was asked for, and a line for each stage that began, ended or was waited behind. Only ever appended
//! to, a line at a time, so that whoever is killed has lost nothing that was finished.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use decisions::campaign::{CoolDown, Planned};
use plan::{about::About, deployment::Scaling};
use record::redact::Redactor;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Its name in the campaign's folder.
pub const FILE: &str = "campaign.jsonl";
/// Where campaigns are kept when nobody says otherwise.
const DEFAULT: &str = ".loadline/campaigns";
/// The version of the format.
const SCHEMA: u32 = 1;

/// What a campaign was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CampaignHead {
    /// Version of the format.
    pub schema: u32,
    /// The title.
    pub name: String,
    /// The file.
    pub file: String,
    /// Its digest: only the same campaign can be gone on with.
    pub sha256: String,
    /// What is loaded.
    pub target: String,
    /// Loadline's version.
    pub version: String,
    /// When it began.
    pub started_wall_ns: u64,
    /// The stages.
    pub stages: Vec<StageHead>,
    /// What it is for, in its owner's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// The user's own assumptions.
    pub assumptions: Vec<String>,
    /// The user's own recommendations.
    pub recommendations: Vec<String>,
    /// From which service to which its figures are to lead, if to any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
}

/// A stage as it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageHead {
    /// Its name.
    pub name: String,
    /// Its load in words, or another tool's command line.
    pub load: String,
    /// What it sends at its highest rate; none of another tool's.
    pub planned: Option<Planned>,
    /// What it loads, where that is not what the campaign does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The earlier stage, by its number, whose load it repeats on something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<usize>,
}

/// A line behind the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum LedgerLine {
    /// A stage begins.
    Begun {
        /// Its number.
        stage: usize,
    },
    /// A stage has ended.
    Ended {
        /// Its number.
        stage: usize,
        /// What it exited with.
        code: u8,
        /// Its record, from the campaign's folder.
        record: Option<String>,
        /// Why it could not be run.
        why: Option<String>,
    },
    /// The service was looked at behind a stage.
    Cooled {
        /// The stage's number.
        stage: usize,
        /// What was seen.
        cool_down: CoolDown,
    },
}

/// A campaign's folder with what is written in it.
#[derive(Debug)]
pub struct CampaignLedger {
    /// The folder.
    pub folder: PathBuf,
    /// What was asked for.
    pub head: CampaignHead,
    /// What came of it so far.
    pub lines: Vec<LedgerLine>,
    redactor: Redactor,
}

/// A value as it is kept: without secrets, in whatever field.
fn redacted<T: Serialize + DeserializeOwned>(value: T, redactor: &Redactor) -> Result<T, String> {
    let tree = serde_json::to_value(value).map_err(|error| error.to_string())?;
    serde_json::from_value(redactor.json(&tree)).map_err(|error| error.to_string())
}

impl CampaignLedger {
    /// Makes the folder of a campaign that begins now.
    ///
    /// # Errors
    /// One line, when it cannot be written.
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
            // A convenience: a campaign is not worth less without it.
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

    /// Reads a campaign's folder. A line that was torn is as if it had not been written.
    ///
    /// # Errors
    /// One line, when there is none or a newer version wrote it.
    pub fn open(folder: &Path, redactor: Redactor) -> Result<CampaignLedger, String> {
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let mut lines = text.lines();
        let damaged = |why: String| format!("{}:1: {why}", path.display());
        let head: CampaignHead = serde_json::from_str(lines.next().unwrap_or_default())
            .map_err(|error| damaged(format!("this is not a campaign: {error}")))?;
        if head.schema > SCHEMA {
            return Err(damaged(format!(
                "a newer version of Loadline ({}) wrote this campaign",
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

    /// Writes a line, and keeps it also where it cannot be written.
    ///
    /// # Errors
    /// One line, when it cannot be written.
    pub fn add(&mut self, line: LedgerLine) -> Result<(), String> {
        let line = redacted(line, &self.redactor)?;
        let written = self.append(&line);
        self.lines.push(line);
        written
    }

    /// Keeps in memory that a stage could not be run or what came of it not be kept. A stage that has ended stays so.
    pub fn failed(&mut self, stage: usize, why: String) {
        if self.ended(stage).is_none() {
            self.lines.push(LedgerLine::Ended {
                stage,
                code: session::exit::COULD_NOT_RUN,
                record: None,
                why: Some(self.redactor.text(&why)),
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
            // Lines after a torn one would be lost to whoever goes on with the campaign.
            let _ = file.set_len(before);
            format!("{}: free some space", cannot(&error))
        })
    }

    fn point_last(&self, campaigns: &Path) {
        let Some(name) = self.folder.file_name() else {
            return;
        };
        let last = campaigns.join("last");
        // What somebody else put there is not ours to replace.
        if fs::symlink_metadata(&last).map_or(true, |known| known.is_symlink()) {
            let new = campaigns.join(format!(".last-{}", name.to_string_lossy()));
            if std::os::unix::fs::symlink(name, &new).is_ok() && fs::rename(&new, &last).is_err() {
                let _ = fs::remove_file(&new);
            }
        }
    }

    /// How a stage ended: the last time that it did, unless it was begun again since.
    #[must_use]
    pub fn ended(&self, number: usize) -> Option<(u8, Option<&str>, Option<&str>)> {
        self.lines.iter().rev().find_map(|line| match line {
            LedgerLine::Begun { stage } if *stage == number => Some(None),
            LedgerLine::Ended {
                stage,
                code,
                record,
                why,
            } if *stage == number => Some(Some((*code, record.as_deref(), why.as_deref()))),
            _ => None,
        })?
    }

    /// Whether a stage was ever begun.
    #[must_use]
    pub fn was_begun(&self, number: usize) -> bool {
        let begun =
            |line: &LedgerLine| matches!(line, LedgerLine::Begun { stage } if *stage == number);
        self.lines.iter().any(begun)
    }

    /// How the service was behind a stage.
    #[must_use]
    pub fn cooled(&self, number: usize) -> Option<&CoolDown> {
        self.lines.iter().rev().find_map(|line| match line {
            LedgerLine::Cooled { stage, cool_down } if *stage == number => Some(cool_down),
            _ => None,
        })
    }
}

/// What is written of a campaign that begins now.
#[must_use]
pub fn schema() -> u32 {
    SCHEMA
}

/// The folder of a campaign by its path, or by its name or `last` among those that are kept.
///
/// # Errors
/// One line, when there is none.
pub fn find(campaigns: Option<&Path>, wanted: &Path) -> Result<PathBuf, String> {
    let campaigns = campaigns.unwrap_or(Path::new(DEFAULT));
    let is_one = |folder: &Path| folder.join(FILE).is_file();
    let named = campaigns.join(wanted);
    if is_one(&named) {
        return Ok(fs::read_link(&named).map_or(named, |to| campaigns.join(to)));
    }
    if is_one(wanted) {
        return Ok(wanted.to_owned());
    }
    Err(format!(
        "there is no campaign {} in {}",
        wanted.display(),
        campaigns.display()
    ))
}
