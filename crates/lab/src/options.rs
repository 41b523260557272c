//! Options of labs: common options, and `option=value` pairs for a single lab.

use std::path::PathBuf;

use crate::{LabEntry, LabError};

#[derive(Clone)]
pub struct LabOptions {
    pub host: String,
    pub port: u16,
    pub token: String,
    pub seed: u64,
    pub log: Option<PathBuf>,
    pub print_token: bool,
    pub until_stdin_closes: bool,
    /// Pairs for this lab. If a name occurs several times, the last pair applies, unless the lab
    /// accepts a list.
    pub extra: Vec<(String, String)>,
}

impl Default for LabOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            token: "demo".to_owned(),
            seed: 0,
            log: None,
            print_token: false,
            until_stdin_closes: false,
            extra: Vec::new(),
        }
    }
}

impl LabOptions {
    #[must_use]
    pub fn extra(&self, name: &str) -> Option<&str> {
        self.extra
            .iter()
            .rev()
            .find(|(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    }

    /// Parses an option of a lab, or returns its default. If the value is invalid, `read` returns
    /// which values are valid.
    pub(crate) fn read<T>(
        &self,
        lab: &'static str,
        option: &str,
        default: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, LabError> {
        let text = self.extra(option).unwrap_or(default);
        read(text).map_err(|advice| self.refuse(lab, option, advice))
    }

    /// Returns the error for an option with an invalid value.
    pub(crate) fn refuse(&self, lab: &'static str, option: &str, advice: String) -> LabError {
        LabError::BadOption {
            lab,
            option: option.to_owned(),
            value: self.extra(option).unwrap_or_default().to_owned(),
            advice,
        }
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let given = self.extra.iter().filter(move |(given, _)| given == name);
        given.map(|(_, value)| value.as_str())
    }

    pub(crate) fn check_extra(&self, lab: &LabEntry) -> Result<(), LabError> {
        match self
            .extra
            .iter()
            .find(|(given, _)| !lab.extra.contains(&given.as_str()))
        {
            None => Ok(()),
            Some((option, _)) => Err(LabError::UnknownOption {
                lab: lab.name,
                option: option.clone(),
                known: lab.extra,
            }),
        }
    }
}
