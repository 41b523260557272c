//! Parses `option=value` pairs of a lab, with defaults.

use lab::units;
use lab::{LabError, LabOptions};

pub(crate) struct LabConfig<'a> {
    pub(crate) lab: &'static str,
    pub(crate) options: &'a LabOptions,
}

impl LabConfig<'_> {
    pub(crate) fn value<T>(
        &self,
        option: &str,
        usual: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, LabError> {
        let text = self.options.extra(option).unwrap_or(usual);
        read(text).map_err(|advice| bad(self.lab, option, text, advice))
    }

    pub(crate) fn count(&self, option: &str, usual: &str, most: u64) -> Result<u64, LabError> {
        self.value(option, usual, |text| units::count(text, 1..=most))
    }
}

pub(crate) fn bad(
    lab: &'static str,
    option: &str,
    value: &str,
    advice: impl Into<String>,
) -> LabError {
    LabError::BadOption {
        lab,
        option: option.to_owned(),
        value: value.to_owned(),
        advice: advice.into(),
    }
}

pub(crate) fn port(text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| "use a port from 0 to 65535; 0 means any free port".to_owned())
}
