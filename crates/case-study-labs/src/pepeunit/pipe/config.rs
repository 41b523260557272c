//! Configuration of a pipe in YAML, validated as the platform does.

use serde::{Deserialize, Deserializer, de::Error};

use super::yaml;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub active_period: ActivePeriod,
    pub filters: Filters,
    #[serde(default)]
    pub transformations: Option<Transformations>,
    pub processing_policy: Policy,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActivePeriod {
    #[serde(rename = "type")]
    pub kind: Period,
    #[serde(default, deserialize_with = "moment")]
    pub start: Option<jiff::Timestamp>,
    #[serde(default, deserialize_with = "moment")]
    pub end: Option<jiff::Timestamp>,
}

fn moment<'de, D: Deserializer<'de>>(text: D) -> Result<Option<jiff::Timestamp>, D::Error> {
    let text: Option<String> = Deserialize::deserialize(text)?;
    let read = text.map(|text| text.parse().map_err(D::Error::custom));
    read.transpose()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Period {
    Permanent,
    FromDate,
    ToDate,
    DateRange,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Input {
    Text,
    Number,
}

impl Input {
    pub fn name(self) -> &'static str {
        match self {
            Input::Text => "Text",
            Input::Number => "Number",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filters {
    pub type_input_value: Input,
    #[serde(default)]
    pub type_value_filtering: Option<List>,
    #[serde(default)]
    pub filtering_values: Option<Vec<Listed>>,
    #[serde(default)]
    pub type_value_threshold: Option<Threshold>,
    #[serde(default)]
    pub threshold_min: Option<i64>,
    #[serde(default)]
    pub threshold_max: Option<i64>,
    pub max_rate: u32,
    #[serde(default)]
    pub last_unique_check: bool,
    pub max_size: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum List {
    WhiteList,
    BlackList,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Listed {
    Number(f64),
    Text(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Threshold {
    Min,
    Max,
    Range,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Transformations {
    #[serde(default)]
    pub multiplication_ratio: Option<f64>,
    #[serde(default)]
    pub round_decimal_point: Option<u8>,
    #[serde(default)]
    pub slice_start: Option<i64>,
    #[serde(default)]
    pub slice_end: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    #[serde(rename = "policy_type")]
    pub kind: PolicyKind,
    #[serde(default)]
    pub n_records_count: Option<u32>,
    #[serde(default)]
    pub time_window_size: Option<u32>,
    #[serde(default)]
    pub aggregation_functions: Option<AggregateFunction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum PolicyKind {
    LastValue,
    NRecords,
    TimeWindow,
    Aggregation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum AggregateFunction {
    Avg,
    Min,
    Max,
    Sum,
}

impl AggregateFunction {
    pub fn name(self) -> &'static str {
        match self {
            AggregateFunction::Avg => "Avg",
            AggregateFunction::Min => "Min",
            AggregateFunction::Max => "Max",
            AggregateFunction::Sum => "Sum",
        }
    }
}

const WINDOWS_S: [u32; 14] = [
    60, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 21600, 28800, 43200, 86400,
];

impl Config {
    pub fn read(text: &str) -> Result<Config, String> {
        let document = yaml::read(text)?;
        let config: Config = serde_json::from_value(document).map_err(|error| error.to_string())?;
        config.check()?;
        Ok(config)
    }

    pub fn of_the_house() -> Config {
        Config {
            active_period: ActivePeriod {
                kind: Period::Permanent,
                start: None,
                end: None,
            },
            filters: Filters {
                type_input_value: Input::Text,
                type_value_filtering: None,
                filtering_values: None,
                type_value_threshold: None,
                threshold_min: None,
                threshold_max: None,
                max_rate: 5,
                last_unique_check: false,
                max_size: 100,
            },
            transformations: None,
            processing_policy: Policy {
                kind: PolicyKind::LastValue,
                n_records_count: None,
                time_window_size: None,
                aggregation_functions: None,
            },
        }
    }

    fn check(&self) -> Result<(), String> {
        let ActivePeriod { kind, start, end } = &self.active_period;
        let (from, to) = match kind {
            Period::Permanent => (false, false),
            Period::FromDate => (true, false),
            Period::ToDate => (false, true),
            Period::DateRange => (true, true),
        };
        if from && start.is_none() || to && end.is_none() || from && to && start >= end {
            return Err("active_period: start and end do not match its type".to_owned());
        }
        let filters = &self.filters;
        let is_number = filters.type_input_value == Input::Number;
        let values = filters.filtering_values.iter().flatten();
        let wrong = |value: &Listed| matches!(value, Listed::Number(_)) != is_number;
        if values.into_iter().any(wrong) {
            return Err("filters: filtering_values do not match type_input_value".to_owned());
        }
        let (least, most) = (filters.threshold_min, filters.threshold_max);
        let is_missing = match filters.type_value_threshold {
            None => false,
            Some(Threshold::Min) => least.is_none(),
            Some(Threshold::Max) => most.is_none(),
            Some(Threshold::Range) => least.is_none() || most.is_none() || least > most,
        };
        if is_missing || filters.type_value_threshold.is_some() && !is_number {
            return Err("filters: the threshold is incomplete, or not a number".to_owned());
        }
        if filters.max_rate > 86_400 {
            return Err("filters: max_rate must be at most 86400".to_owned());
        }
        let turned = self.transformations.as_ref();
        if turned.and_then(|t| t.round_decimal_point).unwrap_or(0) > 7 {
            return Err("transformations: round_decimal_point must be at most 7".to_owned());
        }
        self.processing_policy.check(filters.type_input_value)
    }
}

impl Policy {
    fn check(&self, input: Input) -> Result<(), String> {
        let window = self.time_window_size.unwrap_or(0);
        let fits = match self.kind {
            PolicyKind::LastValue => true,
            PolicyKind::NRecords => (1..=1024).contains(&self.n_records_count.unwrap_or(0)),
            PolicyKind::TimeWindow => WINDOWS_S.contains(&window),
            PolicyKind::Aggregation => {
                WINDOWS_S.contains(&window)
                    && self.aggregation_functions.is_some()
                    && input == Input::Number
            }
        };
        if fits {
            return Ok(());
        }
        Err(format!(
            "processing_policy: a field that {:?} needs is missing or invalid",
            self.kind
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "active_period: {type: Permanent}\nfilters: {type_input_value: Number, max_rate: 0, max_size: 0, type_value_threshold: Range, threshold_min: -1, threshold_max: 5}\ntransformations: {multiplication_ratio: 2}\nprocessing_policy: {policy_type: Aggregation, time_window_size: 60, aggregation_functions: Sum}";

    #[test]
    fn a_whole_one_is_read() {
        let config = Config::read(WHOLE).unwrap();
        assert_eq!(config.processing_policy.kind, PolicyKind::Aggregation);
        assert_eq!(config.filters.threshold_min, Some(-1));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (from, to) in [
            ("Sum", "Median"),
            ("time_window_size: 60", "time_window_size: 61"),
            ("Number", "Text"),
            ("threshold_min: -1", "threshold_min: 9"),
            ("max_rate: 0", "max_rate: 99999"),
            ("Permanent", "ToDate"),
            ("max_size", "max_sise"),
        ] {
            assert!(Config::read(&WHOLE.replacen(from, to, 1)).is_err(), "{to}");
        }
    }
}
