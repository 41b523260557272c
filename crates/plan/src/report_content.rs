//! What a team adds to the report of a campaign: texts, rows and titles. It does not affect any
//! figure.

use serde::{Deserialize, Serialize};

/// Additions to the report of a campaign.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportContent {
    /// Sections in Markdown, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
    /// Differences between the tested and the target environment, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Server metrics to show, in order. Empty means all that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<ShownMetric>,
    /// Unit of the rates in tables and charts.
    #[serde(default)]
    pub rates: RateUnit,
}

/// A section that the team wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Text in Markdown.
    pub text: String,
    /// Where the section is in the report.
    #[serde(default)]
    pub place: SectionPlace,
}

/// Places of sections in a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionPlace {
    /// After the recommendations, before the load.
    Start,
    /// Before the appendix.
    #[default]
    End,
}

/// A row of the table of differences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What differs, for example the number of instances.
    pub name: String,
    /// Value in the tested environment.
    pub tested: String,
    /// Value in the environment that the report is about.
    pub meant: String,
    /// What follows from the difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// A server metric that the report shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownMetric {
    /// Source and metric, as in criteria but without `server.`.
    pub name: String,
    /// Title in tables and charts. `None` means the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Units of rates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateUnit {
    /// Per second.
    #[default]
    Second,
    /// Per minute.
    Minute,
}

impl RateUnit {
    /// Returns a rate in this unit.
    #[must_use]
    pub fn from_per_second(self, per_second: f64) -> f64 {
        match self {
            RateUnit::Second => per_second,
            RateUnit::Minute => per_second * 60.0,
        }
    }

    /// Returns the unit's name, as in "per minute".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RateUnit::Second => "second",
            RateUnit::Minute => "minute",
        }
    }

    /// Returns the unit as a suffix, as in "requests/min".
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            RateUnit::Second => "/s",
            RateUnit::Minute => "/min",
        }
    }
}
