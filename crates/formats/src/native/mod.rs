//! Native plans: `loadline: 1` and a strict grammar. Nothing is guessed and nothing ignored: an unknown key is a problem, a
//! duration without a unit is a problem, a variable that nobody sets is a problem.

pub mod model;
mod read;
mod translate;

use std::path::Path;

use plan::Plan;

use crate::{
    Inputs, LoadErrors,
    files::{self, ReadFile, from_disk, from_text},
    findings::Findings,
    yaml::{self, Dialect},
};

/// Loads a native plan and its tables.
///
/// # Errors
/// Every problem of the plan, each with its place.
pub fn load(inputs: &Inputs) -> Result<Plan, LoadErrors> {
    load_with(inputs, &from_disk)
}

/// Translates a plan's text without touching any file: for tests and fuzzing.
///
/// # Errors
/// As [`load`]; a table that the plan names is a problem.
pub fn translate_text(name: &str, text: &str) -> Result<Plan, LoadErrors> {
    let inputs = Inputs {
        files: vec![name.into()],
        ..Inputs::default()
    };
    load_with(&inputs, &from_text(name, text))
}

fn load_with(inputs: &Inputs, read: ReadFile<'_>) -> Result<Plan, LoadErrors> {
    let mut findings = Findings::default();
    let plan = plan(inputs, read, &mut findings);
    findings.finish(plan)
}

fn plan(inputs: &Inputs, read: ReadFile<'_>, findings: &mut Findings) -> Option<Plan> {
    let path = match inputs.files.as_slice() {
        [path] => path,
        [] => return None,
        [_, second, ..] => {
            findings.problem_anywhere(format!("{}: a native plan is one file", second.display()));
            return None;
        }
    };
    let name = path.display().to_string();
    let bytes = read(Path::new(path))
        .map_err(|why| findings.problem_anywhere(format!("{name}: {why}")))
        .ok()?;
    let text = files::text(bytes)
        .map_err(|why| findings.placed(why.problem(name.clone())))
        .ok()?;
    let file = findings.file(name);
    match yaml::parse(file, &text, Dialect::Core) {
        Ok(yaml::Document {
            root: Some(root), ..
        }) => translate::translate(&root, inputs, read, findings),
        Ok(_) => {
            findings.problem(
                yaml::Mark {
                    file,
                    line: 1,
                    column: 1,
                },
                "the file is empty: a plan begins with `loadline: 1`",
            );
            None
        }
        Err(error) => {
            findings.problem(error.mark, error.message);
            None
        }
    }
}
