//! `loadline demo`: the embedded FHIR target, the create → read → search test against it, and the report. Offline, in under a
//! minute.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus},
    sync::{Arc, mpsc},
    time::Duration,
};

use engine::{StopHandle, Urgency};
use rustix::process::{Pid, Signal, kill_process};
use session::{Mute, SharedVoice, exit, inputs, signals};

use crate::{args, labs::LabProcess, log};

/// The test that the demo runs, as a user would have it on disk.
const SCRIPT: &str = include_str!("../../../examples/medplum/demo.yml");

/// How often is looked for signals.
const LOOK: Duration = Duration::from_millis(20);

/// Runs `loadline demo`.
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
        lab.url
    ));
    log::say(format_args!(
        "$ loadline run examples/medplum/demo.yml --target {} --check 'service p99 < 250ms'",
        lab.url
    ));
    let code = test(&script, &lab.url, &token, args);
    let _ = std::fs::remove_dir_all(&folder);
    if code == exit::INVALID {
        log::say(
            "This machine was too busy to measure on, and the report says so: `loadline run` would exit 4. The demo worked.",
        );
        return exit::PASS;
    }
    code
}

/// A process of its own, so that the demo is the command that it shows.
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
    // A signal from the terminal reaches it through us, once.
    command.process_group(0);
    match command.spawn().and_then(ended) {
        Ok(status) => status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(exit::COULD_NOT_RUN),
        Err(error) => {
            log::error(format_args!("cannot start the test: {error}"));
            exit::COULD_NOT_RUN
        }
    }
}

/// Passes signals on; what they are answered with, and how the test ends, is the test's.
fn ended(mut test: Child) -> std::io::Result<ExitStatus> {
    let pid = i32::try_from(test.id()).ok().and_then(Pid::from_raw);
    let stop = StopHandle::default();
    let mute: SharedVoice = Arc::new(Mute);
    let _heard = signals::hear(&stop, String::new(), &mute)?;
    let (sender, over) = mpsc::channel();
    std::thread::spawn(move || sender.send(test.wait()));
    let mut told = Urgency::None;
    loop {
        match over.recv_timeout(LOOK) {
            Ok(status) => return status,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(std::io::Error::other("nobody waits for the test"));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if stop.urgency() > told {
            told = stop.urgency();
            let signal = match stop.signal() {
                Some(15) => Signal::TERM,
                Some(1) => Signal::HUP,
                _ => Signal::INT,
            };
            if let Some(pid) = pid {
                // It may be over already.
                let _ = kill_process(pid, signal);
            }
        }
    }
}
