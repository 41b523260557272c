//! Options of labs: common ones, and `option=value` pairs of a single lab.

use std::path::PathBuf;

use crate::{LabEntry, LabError};

#[derive(Clone)]
pub struct LabOptions {
    pub host: String,
    /// Port to listen on. 0 means any free one.
    pub port: u16,
    /// Secret that clients must send to labs that require one.
    pub token: String,
    /// Seed of random numbers. 0 means a different one at every start.
    pub seed: u64,
    pub log: Option<PathBuf>,
    pub print_token: bool,
    pub until_stdin_closes: bool,
    /// Pairs for this lab. Of equal names the last one counts, unless the lab accepts several.
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
