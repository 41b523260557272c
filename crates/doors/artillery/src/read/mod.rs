//! Artillery scripts: read, merge and expand them as Artillery does ([`prepare`]), check them with its schema ([`joi`]), and
//! translate them ([`translate`]) by the allow-list in [`keys`].

pub mod differences;
mod expand;
mod files;
mod joi;
pub mod keys;
mod merge;
mod prepare;
mod translate;

use std::{ops::Deref, path::PathBuf};

use plan::{Plan, Template};

use crate::refusal;
use formats::{
    Inputs, LoadErrors, Reader, Sample,
    files::{ReadFile, from_disk, from_text},
    findings::Findings,
};

/// What requests say of their client where neither script nor step sets it.
const USER_AGENT: &str = "Artillery (https://artillery.io)";
/// What Artillery's client calls itself as soon as the script has default headers of its own.
const CLIENT_USER_AGENT: &str = "got (https://github.com/sindresorhus/got)";

/// Artillery's scripts among test files: a mapping with `scenarios` or `config`.
#[derive(Debug)]
pub struct Scripts;

impl Reader for Scripts {
    fn reads(&self) -> &'static str {
        "an Artillery script has `config` and `scenarios`"
    }

    fn detects(&self, file: &Sample<'_>) -> bool {
        match file.root() {
            Some(root) => root.get("scenarios").is_some() || root.get("config").is_some(),
            // What is broken still goes to the reader that it was meant for, because that one says where.
            None => file.is_broken() && file.has_suffix(&["yml", "yaml", "json"]),
        }
    }

    fn load(&self, inputs: &Inputs) -> Result<Plan, LoadErrors> {
        load(inputs.clone())
    }

    fn user_agents(&self) -> &'static [&'static str] {
        &[USER_AGENT, CLIENT_USER_AGENT]
    }
}

/// What `artillery run` is given beside what any reader is.
#[derive(Clone, Default)]
pub struct Given {
    /// What any reader is given.
    pub inputs: Inputs,
    /// `--config`: merged last.
    pub config: Option<PathBuf>,
    /// `--overrides`: a JSON object.
    pub overrides: Option<String>,
    /// `--payload`.
    pub payload: Option<PathBuf>,
}

impl Deref for Given {
    type Target = Inputs;

    fn deref(&self) -> &Inputs {
        &self.inputs
    }
}

impl From<Inputs> for Given {
    fn from(inputs: Inputs) -> Given {
        Given {
            inputs,
            ..Given::default()
        }
    }
}

/// Loads a script with its configuration, environment and tables.
///
/// # Errors
/// Every problem of the script, or the first one in Artillery's own words.
pub fn load(given: impl Into<Given>) -> Result<Plan, LoadErrors> {
    load_with(&given.into(), &from_disk)
}

/// Translates one script's text without touching any file: for tests and fuzzing.
///
/// # Errors
/// As [`load`]; a table that the script names is a problem.
pub fn translate_text(name: &str, text: &str) -> Result<Plan, LoadErrors> {
    load_text(Inputs::default(), name, text)
}

/// Loads a script that is no file, under a name for messages.
///
/// # Errors
/// As [`load`].
pub fn load_text(inputs: Inputs, name: &str, text: &str) -> Result<Plan, LoadErrors> {
    let inputs = Inputs {
        files: vec![name.into()],
        ..inputs
    };
    load_with(&inputs.into(), &from_text(name, text))
}

fn load_with(inputs: &Given, read: ReadFile<'_>) -> Result<Plan, LoadErrors> {
    let mut findings = Findings::default();
    let plan = plan(inputs, read, &mut findings);
    findings.finish(plan)
}

fn plan(inputs: &Given, read: ReadFile<'_>, findings: &mut Findings) -> Option<Plan> {
    let script = prepare::prepare(inputs, read, findings)?;
    if findings.has_problems() {
        return None;
    }
    if let Err(invalid) = joi::validate(&script.root) {
        let told = match invalid.advice {
            "" => invalid.message.clone(),
            advice => format!("{} ({advice})", invalid.message),
        };
        let original = refusal::validation(&invalid.message);
        findings.fatal(original, Some(invalid.mark), told);
        return None;
    }
    translate::translate(&script, inputs, read, findings)
}

/// Sets a name's value where it stands, or appends it: the order in which JavaScript keeps an object's keys.
fn set_header(headers: &mut Vec<(String, Template)>, name: String, value: Template) {
    match headers.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = value,
        None => headers.push((name, value)),
    }
}

#[cfg(test)]
mod tests;
