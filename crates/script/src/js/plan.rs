//! The script of a plan: loads it, checks the names of its functions, and declares the data that
//! they need.

use std::{path::PathBuf, sync::Arc};

use engine::{
    HookInterest, Interest,
    hook::{AnswerHook, Hooks},
    script::Scripts,
};
use plan::{At, Plan, Request, Scenario, ScriptFile, Step, scenario::Call};

use super::{JavaScript, Settings};

/// Returns hooks that call the script of a plan. `None` if the plan has no script.
///
/// # Errors
///
/// Returns the reason on one line if the script cannot be loaded or lacks a function.
pub fn hooks(plan: &Plan) -> Result<Option<Arc<dyn Hooks>>, String> {
    let Some(file) = &plan.script else {
        return Ok(None);
    };
    let settings = Settings {
        file: file.path.clone(),
        writes: writable_folder(file),
        environment: std::env::vars().collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Settings::default()
    };
    let script = JavaScript::load(settings).map_err(|reason| {
        placed(
            file.at.as_ref(),
            &format!("the script cannot be loaded: {reason}"),
        )
    })?;
    let scenarios = plan
        .scenarios()
        .iter()
        .chain(&plan.setup)
        .chain(&plan.teardown);
    let missing = scenarios
        .flat_map(calls)
        .find(|call| !script.functions().contains(&call.function));
    if let Some(call) = missing {
        let text = format!(
            "{} exports no function `{}`: it exports {}",
            file.path.display(),
            call.function,
            match script.functions() {
                [] => "none".to_owned(),
                names => names.join(", "),
            }
        );
        return Err(placed(call.at.as_ref(), &text));
    }
    Ok(Some(Arc::new(script)))
}

/// Returns the folder in which a script may write, from `--script-write` or the environment.
#[must_use]
pub fn writable_folder(file: &ScriptFile) -> Option<PathBuf> {
    let environment = || std::env::var_os("LOADLINE_SCRIPT_WRITE").map(Into::into);
    file.writes.clone().or_else(environment)
}

fn placed(at: Option<&At>, text: &str) -> String {
    at.map_or_else(|| text.to_owned(), |at| format!("{at}: {text}"))
}

/// Returns all calls of a scenario.
fn calls(scenario: &Scenario) -> Vec<&Call> {
    let mut calls: Vec<&Call> = scenario.on_error.iter().collect();
    for step in scenario.all_steps() {
        match step {
            Step::Call(call) => calls.push(call),
            Step::Request(request) => calls.extend(request.before.iter().chain(&request.after)),
            Step::Loop(inner) => calls.extend(&inner.while_true),
            _ => {}
        }
    }
    calls
}

/// Returns the data that the script's functions need of a request and its response.
#[must_use]
pub fn interest(request: &Request) -> Interest {
    let calls = !request.after.is_empty();
    Interest {
        headers: calls,
        body: calls,
        sent: calls,
        ..Interest::default()
    }
}

impl HookInterest for JavaScript {
    fn looks(&self, request: &Request) -> Interest {
        interest(request)
    }

    fn reads_all_variables(&self) -> bool {
        true
    }
}

impl Hooks for JavaScript {
    fn hook(&self) -> Option<Box<dyn AnswerHook>> {
        None
    }

    fn scripts(&self) -> Option<&dyn Scripts> {
        Some(self)
    }
}
