//! Headline and conclusions of a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Judgement;

/// The headline of every report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// Result of all criteria together. `None` if there are no criteria.
    pub criteria: Option<Judgement>,
    /// The verdict in one sentence.
    pub sentence: String,
    /// The figures that decided the verdict: those of criteria and, if the measurement is invalid,
    /// those of the generator.
    pub figures: Vec<Deciding>,
    /// Key figures: load, responses, errors, percentiles, maximum.
    #[serde(default)]
    pub key_figures: Vec<Deciding>,
    /// The most important conclusions in addition to the sentence, as indices into `conclusions`.
    #[serde(default)]
    pub key_conclusions: Vec<usize>,
}

/// A figure with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deciding {
    /// Name of the figure.
    pub name: String,
    /// The figure with its unit.
    pub value: String,
    /// The bound for the figure, or what the figure refers to.
    pub note: Option<String>,
}

/// A sentence, with the figures that support it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// The rule that wrote it: `stopped`, `criteria`, `generator`, `errors`, `overload`,
    /// `saturation`, `healthy`, `steady`, `slowest`, `course`, `recovery`, `skipped`, `nothing`.
    pub kind: String,
    /// Whether it is good or bad news.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
    /// Paths of the figures in `summary.json`, for example `all.service.p99`.
    pub figures: Vec<String>,
}

/// Whether a conclusion is good or bad news.
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
