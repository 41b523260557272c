//! Time zones of reports: a fixed offset from UTC, or a name in the IANA database.

use serde::{Deserialize, Serialize};

/// Largest offset east of UTC, in minutes.
const MOST_EAST: i32 = 14 * 60;
/// Largest offset west of UTC, in minutes.
const MOST_WEST: i32 = -12 * 60;

/// A time zone, written as `UTC-05:00` or `America/New_York`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ReportZone {
    /// Minutes east of UTC.
    Offset(i32),
    /// A name in the IANA database. The name has not been checked.
    Named(String),
}

impl ReportZone {
    /// Parses `UTC`, `UTC-05:00`, `+5:30`, `UTC+1` or a name. Any text that is not an offset
    /// between -12:00 and +14:00 is taken as a name.
    #[must_use]
    pub fn parse(text: &str) -> ReportZone {
        let text = text.trim();
        match offset(text.strip_prefix("UTC").unwrap_or(text)) {
            _ if text == "UTC" => ReportZone::Offset(0),
            Some(minutes) => ReportZone::Offset(minutes),
            None => ReportZone::Named(text.to_owned()),
        }
    }
}

fn offset(text: &str) -> Option<i32> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let number = |digits: &str, longest: usize| {
        let is_number = digits.len() <= longest && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse::<i32>().ok().filter(|_| is_number)
    };
    let minutes = match rest.split_once(':') {
        Some((_, minutes)) if minutes.len() != 2 => return None,
        Some((hours, minutes)) => {
            60 * number(hours, 2)? + number(minutes, 2).filter(|one| *one < 60)?
        }
        None => 60 * number(rest, 2)?,
    };
    Some(sign * minutes).filter(|one| (MOST_WEST..=MOST_EAST).contains(one))
}

impl std::fmt::Display for ReportZone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReportZone::Offset(0) => f.write_str("UTC"),
            ReportZone::Offset(minutes) => {
                let sign = if *minutes < 0 { '-' } else { '+' };
                let minutes = minutes.abs();
                write!(f, "UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
            ReportZone::Named(name) => f.write_str(name),
        }
    }
}

impl From<String> for ReportZone {
    fn from(text: String) -> ReportZone {
        ReportZone::parse(&text)
    }
}

impl From<ReportZone> for String {
    fn from(zone: ReportZone) -> String {
        zone.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_with_and_without_utc() {
        for (text, minutes, shown) in [
            ("UTC", 0, "UTC"),
            ("UTC-05:00", -300, "UTC-05:00"),
            ("+5:30", 330, "UTC+05:30"),
            ("UTC+14", 840, "UTC+14:00"),
        ] {
            let zone = ReportZone::parse(text);
            assert_eq!(zone, ReportZone::Offset(minutes), "{text}");
            assert_eq!(zone.to_string(), shown);
        }
    }

    #[test]
    fn other_texts_are_names() {
        for text in [
            "Europe/Berlin",
            "UTC+15",
            "UTC-12:30",
            "+05:60",
            "+5:3",
            "+",
            "-1:",
            "é",
            "",
            "+٣",
            "UTC+-5",
        ] {
            let named = ReportZone::Named(text.to_owned());
            assert_eq!(ReportZone::parse(text), named);
        }
    }
}
