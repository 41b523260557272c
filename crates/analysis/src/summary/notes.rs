//! Headline and conclusions of a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Judgement;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// Combined result of all criteria. `None` if there are no criteria.
    pub criteria: Option<Judgement>,
    pub sentence: String,
    /// Figures that decided the verdict.
    pub figures: Vec<Deciding>,
    /// Question that the run answers: the objective of the plan, or its criteria.
    #[serde(default)]
    pub question: String,
    /// How certain the answer is, with the reason.
    #[serde(default)]
    pub certainty: String,
    /// Advice, most important first. Each sentence states its reason.
    #[serde(default)]
    pub advice: Vec<String>,
    #[serde(default)]
    pub key_figures: Vec<Deciding>,
    #[serde(default)]
    pub key_conclusions: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deciding {
    pub name: String,
    pub value: String,
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// Rule that produced the conclusion: `stopped`, `criteria`, `generator`, `machine`, `errors`,
    /// `overload`, `saturation`, `healthy`, `steady`, `slowest`, `trend`, `recovery`, `skipped` or
    /// `nothing`.
    pub kind: String,
    pub tone: Tone,
    pub text: String,
    /// Paths in `summary.json` of the figures that support the conclusion, for example
    /// `all.service.p99`.
    pub figures: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    Good,
    Neutral,
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
