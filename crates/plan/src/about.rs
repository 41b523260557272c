//! The purpose of a test in its owner's words, which reports show. It does not affect any result.

use serde::{Deserialize, Serialize};

/// Returns whether a string is a valid tag, which needs no quotes in a YAML list.
#[must_use]
pub fn is_tag(text: &str) -> bool {
    let is_fine = |c: char| !c.is_whitespace() && !c.is_control() && c != ',';
    !text.is_empty() && text.chars().all(is_fine)
}

/// The purpose of a test, its owner and its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Question that the test should answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// Person to contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Descriptions of the target and the load generators, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, String)>,
    /// Links as names and URLs, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<(String, String)>,
    /// Tags for searching.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}
