//! Recognizes k6 scripts for `loadline run`.

use formats::{Inputs, LoadErrors, TestFileReader};
use plan::Plan;
use session::{ExternalTool, Over, RunOptions};

use crate::command;

#[derive(Debug)]
pub struct Scripts;

impl TestFileReader for Scripts {
    fn reads(&self) -> &'static str {
        "a k6 script (.js or .ts)"
    }

    /// There is none: other scripts have the same suffixes.
    fn suffixes(&self) -> &'static [&'static str] {
        &[]
    }

    /// A script is a program, so its requests are unknown until it runs.
    fn load(&self, inputs: &Inputs) -> Result<Plan, LoadErrors> {
        let file = inputs.files.first().map(|file| file.display().to_string());
        let file = file.unwrap_or_default();
        Err(LoadErrors::refused(format!(
            "{file}: a k6 script decides at run time what it sends: use `loadline k6 run {file}`"
        )))
    }
}

impl ExternalTool for Scripts {
    fn runs(&self, what: &str) -> bool {
        let is_script = what.ends_with(".js") || what.ends_with(".ts");
        let text = || std::fs::read_to_string(what).unwrap_or_default();
        is_script && !what.contains("://") && imports_k6(&text())
    }

    fn has_workers(&self) -> bool {
        true
    }

    fn undistributed(&self) -> &'static str {
        "a k6 script runs in one process: remove --on and --shard"
    }

    fn unsearchable(&self, over: Over) -> Option<&'static str> {
        (over != Over::Users).then_some(
            "a k6 script has no single rate: search for the number of virtual users with --over users, or use a plan, an Artillery script or a wrk script",
        )
    }

    /// Continues as `loadline k6 run`, with k6's output and exit codes.
    fn run(&self, options: &RunOptions<'_>, variables: &[(&str, String)]) -> Result<u8, String> {
        use std::os::unix::process::CommandExt as _;
        let arguments = command_line(options)?;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = std::process::Command::new(program);
        command.args(["k6", "run"]).args(arguments);
        for (name, value) in variables {
            command.env(name, value);
        }
        Err(command.exec().to_string())
    }
}

/// Returns whether a script imports a module of k6 or one of its libraries.
fn imports_k6(text: &str) -> bool {
    ["'k6'", "\"k6\"", "'k6/", "\"k6/", "jslib.k6.io"]
        .iter()
        .any(|module| text.contains(module))
}

fn command_line(options: &RunOptions<'_>) -> Result<Vec<String>, String> {
    let refuse = |flag: &str, advice: &str| {
        Err(format!("{flag} is not available for a k6 script: {advice}"))
    };
    if let Some(flag) = options.unfit {
        return refuse(flag, "remove it, or see `loadline k6 help`");
    }
    if options.target.is_some() {
        return refuse(
            "--target",
            "the script has the addresses; pass one with `-e NAME=URL`",
        );
    }
    if options.rate.is_some() {
        return refuse(
            "--rate",
            "set a scenario with `executor: 'constant-arrival-rate'`",
        );
    }
    let mut line = Vec::new();
    if let Some(users) = options.connections {
        line.extend(["--vus".to_owned(), users.to_string()]);
    }
    if let Some(ns) = options.duration_ns {
        line.extend(["--duration".to_owned(), command::duration_flag(ns)]);
    }
    line.extend(options.arguments.iter().cloned());
    line.push(options.what.to_owned());
    Ok(line)
}
