//! What can be asked of a lab: the options that every lab has, and the `option=value` pairs of a single one.
//! Reads no command line; that is the caller's.

use std::path::PathBuf;

use crate::{LabEntry, LabError};

/// What is asked of a lab. [`Default`] is what the command takes when nothing is given.
#[derive(Clone)]
pub struct LabOptions {
    /// Name or address to listen on.
    pub host: String,
    /// Port to listen on; 0 = any free one.
    pub port: u16,
    /// The secret that clients must show, for labs that ask for one.
    pub token: String,
    /// Seed of everything random in the lab; 0 = another one at every start.
    pub seed: u64,
    /// Where to write a line per request.
    pub log: Option<PathBuf>,
    /// Print a valid token instead of running.
    pub print_token: bool,
    /// Also end when standard input closes, so that a lab cannot outlive the process that started it.
    pub until_stdin_closes: bool,
    /// `option=value` pairs of this lab alone; of a repeated one the last counts, unless the lab takes several.
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
    /// The value of one of the lab's own options, if given.
    #[must_use]
    pub fn extra(&self, name: &str) -> Option<&str> {
        self.extra
            .iter()
            .rev()
            .find(|(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    }

    /// All values of an option that may be repeated, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let given = self.extra.iter().filter(move |(given, _)| given == name);
        given.map(|(_, value)| value.as_str())
    }

    /// Refuses options that the lab does not know: a misspelt one must not be ignored.
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
