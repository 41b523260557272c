//! Content that a team adds to the report of a campaign: texts, rows and titles. It does not affect
//! any result.

use serde::{Deserialize, Serialize};

use crate::report_zone::ReportZone;

/// What a team adds to the report of a campaign.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportContent {
    /// Sections in Markdown, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
    /// Rows of the table of differences between the tested and the target environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Server metrics to show, in order. If empty, the report shows all metrics that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<ShownMetric>,
    /// Dashboards that each stage links to, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dashboards: Vec<Dashboard>,
    /// Unit of the rates in tables and charts.
    #[serde(default)]
    pub rates: RateUnit,
    /// Time zone for times in tables. `None` means UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<ReportZone>,
}

/// A link to a dashboard of another tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dashboard {
    /// Text of the link.
    pub name: String,
    /// URL of the dashboard, with placeholders for the period.
    pub url: DashboardUrl,
}

/// Names of the placeholders in the URL of a dashboard. In the URL, they are in double braces.
pub const PLACEHOLDERS: [&str; 4] = ["from_ms", "to_ms", "from_s", "to_s"];

/// A URL with placeholders for the start and the end of a period: `{{ from_ms }}` and `{{ to_ms }}`
/// in milliseconds since 1970, `{{ from_s }}` and `{{ to_s }}` in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DashboardUrl(String);

/// Why a text is not a valid dashboard URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DashboardUrlError {
    /// The text does not begin with `http://` or `https://`.
    NoLink,
    /// The text has a `{{` without `}}`.
    Unclosed,
    /// The text has a placeholder with an unknown name.
    Unknown(String),
}

impl DashboardUrl {
    /// Checks a URL and its placeholders.
    ///
    /// # Errors
    ///
    /// Fails if the text is not an HTTP URL, or if a placeholder is unknown or not closed.
    pub fn parse(text: &str) -> Result<DashboardUrl, DashboardUrlError> {
        if !["http://", "https://"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
        {
            return Err(DashboardUrlError::NoLink);
        }
        for part in text.split("{{").skip(1) {
            let (name, _) = part.split_once("}}").ok_or(DashboardUrlError::Unclosed)?;
            if !PLACEHOLDERS.contains(&name.trim()) {
                return Err(DashboardUrlError::Unknown(name.trim().to_owned()));
            }
        }
        Ok(DashboardUrl(text.to_owned()))
    }

    /// Returns the URL for a period, given in milliseconds since 1970. Seconds are rounded so that
    /// they cover the whole period.
    #[must_use]
    pub fn fill(&self, from_ms: u64, to_ms: u64) -> String {
        let mut parts = self.0.split("{{");
        let mut url = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
            let value = match name.trim() {
                "from_ms" => from_ms,
                "to_ms" => to_ms,
                "from_s" => from_ms / 1000,
                _ => to_ms.div_ceil(1000),
            };
            url += &value.to_string();
            url += rest;
        }
        url
    }
}

/// A section of the report that the team wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Text in Markdown.
    pub text: String,
    /// Position of the section in the report.
    #[serde(default)]
    pub place: SectionPlace,
}

/// Position of a section in a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionPlace {
    /// After the recommendations, before the load.
    Start,
    /// Before the appendix.
    #[default]
    End,
}

/// A row in the table of differences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What differs, for example the number of instances.
    pub name: String,
    /// Value in the tested environment.
    pub tested: String,
    /// Value in the target environment.
    pub meant: String,
    /// Effect of the difference on the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// A server metric that the report shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownMetric {
    /// Name of the source and the metric, as in criteria but without `server.`.
    pub name: String,
    /// Title in tables and charts. `None` means that the name is the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Unit of rates in a report.
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
    /// Converts a rate per second to this unit.
    #[must_use]
    pub fn from_per_second(self, per_second: f64) -> f64 {
        match self {
            RateUnit::Second => per_second,
            RateUnit::Minute => per_second * 60.0,
        }
    }

    /// Returns the name of the unit, as in "per minute".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RateUnit::Second => "second",
            RateUnit::Minute => "minute",
        }
    }

    /// Returns the title of a chart axis with rates.
    #[must_use]
    pub fn axis_title(self) -> &'static str {
        match self {
            RateUnit::Second => "per second",
            RateUnit::Minute => "per minute",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashboard_urls_have_only_known_placeholders() {
        let url = "https://a.example/x?from={{ from_s }}&to={{to_s}}&ms={{from_ms}}-{{ to_ms }}#y";
        let url = DashboardUrl::parse(url).unwrap();
        assert_eq!(
            url.fill(1_999, 3_001),
            "https://a.example/x?from=1&to=4&ms=1999-3001#y"
        );
        let reason = |text: &str| DashboardUrl::parse(text).unwrap_err();
        assert_eq!(reason("javascript:x"), DashboardUrlError::NoLink);
        assert_eq!(reason("http://a/{{ from_ms"), DashboardUrlError::Unclosed);
        let unknown = DashboardUrlError::Unknown("from".into());
        assert_eq!(reason("http://a/{{ from }}"), unknown);
    }
}
