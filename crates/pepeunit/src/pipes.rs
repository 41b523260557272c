//! The four pipe configurations, as YAML and as a model of the messages that each stores.

use clap::ValueEnum;
use plan::mqtt::PayloadKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(crate) enum Policy {
    LastValue,
    NRecords,
    TimeWindow,
    Aggregation,
}

impl Policy {
    pub fn name(self) -> &'static str {
        match self {
            Policy::LastValue => "LastValue",
            Policy::NRecords => "NRecords",
            Policy::TimeWindow => "TimeWindow",
            Policy::Aggregation => "Aggregation",
        }
    }
}

pub(crate) const RECORDS: usize = 100;
pub(crate) const ROW_S: u64 = 86_400;
pub(crate) const WINDOW_S: u64 = 60;
pub(crate) const MAX_SIZE: usize = 128;

#[derive(Debug)]
pub(crate) struct Pipe {
    pub policy: Policy,
    input: PayloadKind,
    blacklist: &'static [&'static str],
    least: Option<i64>,
    most: Option<i64>,
    ratio: Option<f64>,
    decimals: Option<usize>,
    slice: Option<usize>,
}

const DIGITS: &[&str] = &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

impl Pipe {
    pub fn from_policy(policy: Policy) -> Pipe {
        let text = Pipe {
            policy,
            input: PayloadKind::Text,
            blacklist: &["offline", "unknown", "error"],
            least: None,
            most: None,
            ratio: None,
            decimals: None,
            slice: Some(100),
        };
        match policy {
            Policy::LastValue => text,
            Policy::TimeWindow => Pipe {
                blacklist: DIGITS,
                ..text
            },
            Policy::NRecords => Pipe {
                input: PayloadKind::Number,
                blacklist: DIGITS,
                least: Some(0),
                ratio: Some(0.7),
                decimals: Some(3),
                slice: None,
                ..text
            },
            Policy::Aggregation => Pipe {
                input: PayloadKind::Number,
                blacklist: &["432", "12.3", "134.5234"],
                least: Some(-60),
                most: Some(1_000_000),
                ratio: Some(1.0),
                decimals: Some(0),
                slice: None,
                ..text
            },
        }
    }

    pub fn input(&self) -> &'static str {
        match self.input {
            PayloadKind::Text => "Text",
            PayloadKind::Number => "Number",
        }
    }

    pub fn takes(&self, value: PayloadKind) -> bool {
        self.input == PayloadKind::Text || value == PayloadKind::Number
    }

    pub fn yaml(&self) -> String {
        let quoted = |value: &&str| match self.input {
            PayloadKind::Text => format!("'{value}'"),
            PayloadKind::Number => (*value).to_owned(),
        };
        let values: Vec<String> = self.blacklist.iter().map(quoted).collect();
        let mut out = format!(
            "active_period:\n  type: Permanent\nfilters:\n  type_input_value: {}\n  type_value_filtering: BlackList\n  filtering_values: [{}]\n  max_rate: 0\n  last_unique_check: false\n  max_size: {MAX_SIZE}\n",
            self.input(),
            values.join(", "),
        );
        let threshold = match (self.least, self.most) {
            (Some(least), Some(most)) => {
                format!(
                    "  type_value_threshold: Range\n  threshold_min: {least}\n  threshold_max: {most}\n"
                )
            }
            (Some(least), None) => {
                format!("  type_value_threshold: Min\n  threshold_min: {least}\n")
            }
            _ => String::new(),
        };
        out += &threshold;
        out += "transformations:\n";
        if let Some(end) = self.slice {
            out += &format!("  slice_start: 0\n  slice_end: {end}\n");
        }
        if let (Some(ratio), Some(decimals)) = (self.ratio, self.decimals) {
            out +=
                &format!("  multiplication_ratio: {ratio:?}\n  round_decimal_point: {decimals}\n");
        }
        out += &format!(
            "processing_policy:\n  policy_type: {}\n",
            self.policy.name()
        );
        out += &match self.policy {
            Policy::LastValue => String::new(),
            Policy::NRecords => format!("  n_records_count: {RECORDS}\n"),
            Policy::TimeWindow => format!("  time_window_size: {ROW_S}\n"),
            Policy::Aggregation => {
                format!("  time_window_size: {WINDOW_S}\n  aggregation_functions: Sum\n")
            }
        };
        out
    }

    pub fn through(&self, text: &str) -> Option<String> {
        if text.len() > MAX_SIZE {
            return None;
        }
        if self.input == PayloadKind::Text {
            let is_listed = self.blacklist.contains(&text);
            let end = self.slice.unwrap_or(usize::MAX);
            return (!is_listed).then(|| text.chars().take(end).collect());
        }
        let number: f64 = text.parse().ok()?;
        let is_listed = self
            .blacklist
            .iter()
            .any(|listed| listed.parse() == Ok(number));
        let is_low = self.least.is_some_and(|least| number < least as f64);
        let is_high = self.most.is_some_and(|most| number > most as f64);
        let turned = number * self.ratio.unwrap_or(1.0);
        let decimals = self.decimals.unwrap_or(6);
        (!is_listed && !is_low && !is_high).then(|| format!("{turned:.decimals$}"))
    }

    /// Returns a message that passes the pipe and changes no sum. It is not part of the test.
    pub fn probe(&self) -> &'static str {
        match self.policy {
            Policy::Aggregation => "0",
            _ => "999999",
        }
    }

    pub fn patience_s(&self) -> u64 {
        match self.policy {
            Policy::LastValue | Policy::TimeWindow => 15,
            Policy::NRecords | Policy::Aggregation => WINDOW_S + 15,
        }
    }
}

pub(crate) fn same(state: &str) -> String {
    let number = Some(state)
        .filter(|text| text.contains('.'))
        .and_then(|text| text.parse::<f64>().ok());
    number.map_or_else(|| state.to_owned(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_turned() {
        let of = |policy, text: &str| Pipe::from_policy(policy).through(text);
        assert_eq!(of(Policy::NRecords, "10").as_deref(), Some("7.000"));
        assert_eq!(of(Policy::Aggregation, "433").as_deref(), Some("433"));
        assert_eq!(of(Policy::LastValue, &"x".repeat(120)).unwrap().len(), 100);
        for (policy, text) in [
            (Policy::NRecords, "9"),
            (Policy::NRecords, "abc"),
            (Policy::Aggregation, "432"),
            (Policy::Aggregation, "1000001"),
            (Policy::TimeWindow, "0"),
            (Policy::LastValue, "error"),
        ] {
            assert_eq!(of(policy, text), None, "{policy:?} {text}");
        }
        assert_eq!(of(Policy::LastValue, &"x".repeat(129)), None);
    }

    #[test]
    fn states_are_the_same_however_they_are_written() {
        assert_eq!(same("7.000"), same("7.0"));
        assert_eq!(same("007"), "007");
    }

    #[test]
    fn a_probe_passes_everywhere() {
        for policy in Policy::value_variants() {
            let pipe = Pipe::from_policy(*policy);
            assert!(pipe.through(pipe.probe()).is_some());
        }
    }
}
