//! What a test is for, in the words of whoever owns it: for its report. No figure comes of it.

use serde::{Deserialize, Serialize};

/// Whether a text can be a tag: a word that stands in a list without quotes.
#[must_use]
pub fn is_tag(text: &str) -> bool {
    let is_fine = |c: char| !c.is_whitespace() && !c.is_control() && c != ',';
    !text.is_empty() && text.chars().all(is_fine)
}

/// What a test is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// What is to be found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// Whom to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What is loaded, and what from: names and texts, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, String)>,
    /// Names and URLs, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<(String, String)>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}
