//! Native plans, which start with `loadline: 1` and have a strict grammar. Unknown keys, durations
//! without a unit, and unset variables are problems.

mod about;
pub mod campaign;
pub mod mocks;
pub mod model;
mod read;
pub mod schema;
mod translate;

use plan::Plan;

use crate::{
    FileSample, Inputs, LoadErrors, TestFileReader,
    document::{Dialect, Mark, Node},
    files::{Noting, ReadFile, from_disk, from_text},
    findings::Findings,
    open,
};

#[derive(Debug)]
pub struct Plans;

impl TestFileReader for Plans {
    fn reads(&self) -> &'static str {
        "a native plan must start with `loadline: 1`"
    }

    fn detects(&self, file: &FileSample<'_>) -> bool {
        // Also accept broken files, because this reader reports the position of the error.
        let entries = file.root().map_or(&[][..], |root| root.entries());
        let has = |key: &str| entries.iter().any(|entry| entry.key == key);
        // Accept a plan without its first line, because no other format has a load or stages at the
        // top level.
        entries.first().is_some_and(|entry| entry.key == KEY)
            || (has("load") || has("workloads") || has("stages")) && !has("config")
            || file.is_broken() && file.first_word() == KEY
    }

    fn load(&self, inputs: &Inputs) -> Result<Plan, LoadErrors> {
        load(inputs)
    }

    fn has_stages(&self) -> bool {
        true
    }

    fn user_agents(&self) -> &'static [&'static str] {
        &[crate::USER_AGENT]
    }
}

const KEY: &str = "loadline";

pub fn load(inputs: &Inputs) -> Result<Plan, LoadErrors> {
    let noting = Noting::default();
    let plan = load_with(inputs, &|path| noting.read(path))?;
    Ok(noting.apply(plan))
}

pub fn translate_text(name: &str, text: &str) -> Result<Plan, LoadErrors> {
    let inputs = Inputs {
        files: vec![name.into()],
        ..Inputs::default()
    };
    load_with(&inputs, &from_text(name, text))
}

/// Returns whether a file is a native plan with stages. Returns `false` if the file cannot be read.
#[must_use]
pub fn is_campaign(inputs: &Inputs) -> bool {
    let root = open_plan(inputs, &from_disk, &mut Findings::default());
    root.is_some_and(|root| root.get(KEY).is_some() && root.get("stages").is_some())
}

/// Reads a plan and all files that it names. `read` replaces the access to files.
///
/// # Errors
///
/// Returns all problems of the plan.
pub fn load_with(inputs: &Inputs, read: ReadFile<'_>) -> Result<Plan, LoadErrors> {
    let mut findings = Findings::default();
    let plan = plan(inputs, read, &mut findings);
    findings.finish(plan)
}

fn plan(inputs: &Inputs, read: ReadFile<'_>, findings: &mut Findings) -> Option<Plan> {
    let root = open_plan(inputs, read, findings)?;
    let root = campaign::plan_of(&root, inputs, findings)?;
    translate::translate(&root, inputs, read, findings)
}

fn open_plan(inputs: &Inputs, read: ReadFile<'_>, findings: &mut Findings) -> Option<Node> {
    let path = match inputs.files.as_slice() {
        [path] => path,
        [] => return None,
        [_, second, ..] => {
            findings.problem_anywhere(format!(
                "{}: a native plan must be a single file",
                second.display()
            ));
            return None;
        }
    };
    let (file, document) = open::document(path, Dialect::Core, read, findings)?;
    if document.root.is_none() {
        let text = "the file is empty: a plan must start with `loadline: 1`";
        findings.problem(Mark::start_of(file), text);
    }
    document.root
}
