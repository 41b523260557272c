//! Headline and conclusions of a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Judgement;

/// The head of every report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// All criteria together; none without criteria.
    pub criteria: Option<Judgement>,
    /// One sentence.
    pub sentence: String,
    /// The figures that decided it: of criteria, and of the generator where the measurement is invalid.
    pub figures: Vec<Deciding>,
    /// What everybody looks for first: load, answers, errors, percentiles, the largest.
    #[serde(default)]
    pub glance: Vec<Deciding>,
    /// Which conclusions tell most beside the sentence: places in `conclusions`.
    #[serde(default)]
    pub telling: Vec<usize>,
}

/// A figure with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deciding {
    /// What it is.
    pub name: String,
    /// The figure with its unit.
    pub value: String,
    /// What it was to be, or what it is of.
    pub note: Option<String>,
}

/// A sentence and the figures that it stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// The rule that wrote it: `stopped`, `criteria`, `generator`, `errors`, `overload`, `saturation`, `healthy`, `steady`, `slowest`, `course`, `recovery`, `skipped`, `nothing`.
    pub kind: String,
    /// Whether that is good news.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
    /// Where its figures stand in `summary.json`: `all.service.p99`.
    pub figures: Vec<String>,
}

/// Whether news are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Good.
    Good,
    /// Neither.
    Neutral,
    /// Bad.
    Bad,
}

impl Conclusion {
    #[must_use]
    pub fn new(kind: &str, tone: Tone, text: String, figures: &[&str]) -> Conclusion {
        Conclusion {
            kind: kind.to_owned(),
            tone,
            text,
            figures: figures.iter().map(|path| (*path).to_owned()).collect(),
        }
    }
}
