//! What follows from a run, in sentences that rules write: each stands on figures of the summary and names where they are. A rule
//! that does not apply says nothing; nothing here is measured or judged anew.

mod assumptions;
mod rules;
mod slowest;
mod strip;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use assumptions::assumptions;
pub use strip::{Deciding, Strip, strip};

use crate::summary::Summary;

/// A sentence and the figures that it stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// The rule that wrote it: `generator`, `errors`, `overload`, `healthy`, `slowest`, `course`, `recovery`, `skipped`, `nothing`.
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

/// What the summary's headline time is called.
#[must_use]
pub fn headline_name(summary: &Summary) -> &'static str {
    rules::headline(summary)
}

/// The conclusions of a summary, most important first.
#[must_use]
pub fn of(summary: &Summary) -> Vec<Conclusion> {
    rules::ALL.iter().filter_map(|rule| rule(summary)).collect()
}

fn conclusion(kind: &str, tone: Tone, text: String, figures: &[&str]) -> Conclusion {
    Conclusion {
        kind: kind.to_owned(),
        tone,
        text,
        figures: figures.iter().map(|path| (*path).to_owned()).collect(),
    }
}
