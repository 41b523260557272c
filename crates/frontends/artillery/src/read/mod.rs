//! Reads Artillery scripts. [`prepare`] reads, merges and expands them, [`joi`] validates them,
//! [`translate`] translates them according to [`keys`].

pub mod differences;
mod expand;
mod files;
mod headers;
mod inputs;
mod joi;
pub mod keys;
mod merge;
mod prepare;
mod translate;

use plan::Plan;

use headers::{CLIENT_USER_AGENT, USER_AGENT};
pub use inputs::ArtilleryInputs;

use crate::refusal;
use formats::{
    FileSample, Inputs, LoadErrors, TestFileReader,
    files::{Noting, ReadFile, from_text},
    findings::Findings,
};

/// Reader for scripts, which are maps with `scenarios` or `config`.
#[derive(Debug)]
pub struct ArtilleryScripts;

impl TestFileReader for ArtilleryScripts {
    fn reads(&self) -> &'static str {
        "an Artillery script must have `config` and `scenarios`"
    }

    fn detects(&self, file: &FileSample<'_>) -> bool {
        match file.root() {
            Some(root) => root.get("scenarios").is_some() || root.get("config").is_some(),
            // Also accept files with syntax errors, because this reader reports their position.
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

pub fn load(given: impl Into<ArtilleryInputs>) -> Result<Plan, LoadErrors> {
    let noting = Noting::default();
    let plan = load_with(&given.into(), &|path| noting.read(path))?;
    Ok(noting.apply(plan))
}

/// Translates a script without reading files, for tests and fuzzing.
pub fn translate_text(name: &str, text: &str) -> Result<Plan, LoadErrors> {
    load_text(Inputs::default(), name, text)
}

pub fn load_text(inputs: Inputs, name: &str, text: &str) -> Result<Plan, LoadErrors> {
    let inputs = Inputs {
        files: vec![name.into()],
        ..inputs
    };
    load_with(&inputs.into(), &from_text(name, text))
}

fn load_with(inputs: &ArtilleryInputs, read: ReadFile<'_>) -> Result<Plan, LoadErrors> {
    let mut findings = Findings::default();
    let plan = plan(inputs, read, &mut findings);
    findings.finish(plan)
}

fn plan(inputs: &ArtilleryInputs, read: ReadFile<'_>, findings: &mut Findings) -> Option<Plan> {
    let script = prepare::prepare(inputs, read, findings)?;
    if findings.has_problems() {
        return None;
    }
    if let Err(invalid) = joi::validate(&script.root) {
        let reported = match invalid.advice {
            "" => invalid.message.clone(),
            advice => format!("{} ({advice})", invalid.message),
        };
        let original = refusal::validation(&invalid.message);
        findings.fatal(original, Some(invalid.mark), reported);
        return None;
    }
    translate::translate(&script, inputs, read, findings)
}

#[cfg(test)]
mod tests;
