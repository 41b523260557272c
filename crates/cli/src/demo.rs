//! The command `loadline demo`: an embedded FHIR target, a test and its report. It works offline
//! and takes less than a minute.

use std::process::Command;

use session::{LabProcess, child, exit, inputs};

use crate::{args, log};

const SCRIPT: &str = include_str!("../../../examples/medplum/demo.yml");

pub fn command(args: &args::Demo) -> u8 {
    let token = format!("demo-{:012x}", inputs::random_seed());
    let lab = match LabProcess::start(&format!("fhir?token={token}")) {
        Ok(lab) => lab,
        Err(error) => {
            log::error(error.line);
            return exit::COULD_NOT_RUN;
        }
    };
    let folder = std::env::temp_dir().join(format!("loadline-{}", std::process::id()));
    let script = folder.join("demo.yml");
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&script, SCRIPT));
    if let Err(error) = written {
        log::error(format_args!("cannot write {}: {error}", script.display()));
        return exit::COULD_NOT_RUN;
    }
    log::say(format_args!(
        "$ loadline lab fhir                       # {}",
        lab.url()
    ));
    log::say(format_args!(
        "$ loadline run examples/medplum/demo.yml --target {} --check 'service p99 < 250ms'",
        lab.url()
    ));
    let code = test(&script, lab.url(), &token, args);
    let _ = std::fs::remove_dir_all(&folder);
    if code == exit::INVALID {
        log::say(
            "This machine was too busy for a valid measurement, as the report shows. `loadline run` would exit with 4. The demo itself worked.",
        );
        return exit::PASS;
    }
    code
}

fn test(script: &std::path::Path, url: &str, token: &str, args: &args::Demo) -> u8 {
    let Ok(program) = std::env::current_exe() else {
        return exit::COULD_NOT_RUN;
    };
    let mut command = Command::new(program);
    command
        .arg("run")
        .arg(script)
        .arg("--target")
        .arg(url)
        .args(["--check", "service p99 < 250ms", "--check", "errors < 0.1%"]);
    command.env("FHIR_TOKEN", token);
    if let Some(runs) = &args.runs {
        command.arg("--runs").arg(runs);
    }
    match child::run(&mut command) {
        Ok(ended) => ended.code,
        Err(error) => {
            log::error(format_args!("cannot start the test: {error}"));
            exit::COULD_NOT_RUN
        }
    }
}
