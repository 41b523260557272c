//! Child processes: runs commands, waits for them and forwards signals.

use std::{
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, mpsc},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use worker::stop::{StopHandle, Urgency};

use crate::{exit, messages::NullSink, messages::SharedMessageSink, signals};

const LOOK: Duration = Duration::from_millis(20);
/// Environment variable that makes a process stop in an orderly way when its parent ends.
pub const ENVIRONMENT: &str = "LOADLINE_ENDS_WITH";

/// How a child process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildExit {
    /// Exit code of the child, or 128 plus the number of the signal that ended it.
    pub code: u8,
    /// First signal that was forwarded to the child, if any.
    pub signal: Option<u8>,
}

/// Runs a command until it exits, and forwards signals to it.
///
/// # Errors
///
/// Fails if the command cannot be started or waited for.
pub fn run(command: &mut Command) -> io::Result<ChildExit> {
    run_with(command, |_| {})
}

/// The exit and the error output of a run.
#[derive(Debug)]
pub struct Printed {
    /// How the run's process ended.
    pub ended: ChildExit,
    /// Standard error of the run. Empty if it went to the terminal.
    pub text: String,
}

/// Runs this binary with its output in files. The closure `say` adds the arguments. Without a file
/// for errors, error output goes to this process's standard error.
///
/// # Errors
///
/// Fails with a one-line error if a file cannot be written or the binary cannot be started.
pub fn own(
    out: &Path,
    errors: Option<&Path>,
    say: impl FnOnce(&mut Command),
) -> Result<Printed, String> {
    let file = |path: &Path| {
        File::create(path).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    let program = std::env::current_exe()
        .map_err(|error| format!("cannot find the path of this program: {error}"))?;
    let mut command = Command::new(program);
    say(&mut command);
    command.stdin(Stdio::null()).stdout(file(out)?);
    if let Some(errors) = errors {
        command.stderr(file(errors)?);
    }
    let ended = run(&mut command).map_err(|error| format!("cannot start the run: {error}"))?;
    let text = errors.map(|errors| fs::read_to_string(errors).unwrap_or_default());
    let mut text = text.unwrap_or_default();
    if text.trim().is_empty() && ended.code == exit::COULD_NOT_RUN {
        // On a full disk, the error messages are lost too.
        text = no_room(out).unwrap_or_default();
    }
    Ok(Printed { ended, text })
}

/// Returns why no file can be written next to this one. `None` if that is possible.
fn no_room(path: &Path) -> Option<String> {
    const ROOM: usize = 64 << 10;
    let tried = path.with_extension("room");
    let written = fs::write(&tried, vec![0; ROOM]);
    let _ = fs::remove_file(&tried);
    written.err().map(|error| {
        format!(
            "cannot write to {}: {error}; free some space",
            path.parent().unwrap_or(path).display()
        )
    })
}

/// Runs a command like [`run`], and calls `look` many times a second.
///
/// # Errors
///
/// Fails in the same cases as [`run`].
pub fn run_with(command: &mut Command, look: impl FnMut(&Child)) -> io::Result<ChildExit> {
    // Use a separate process group, so that terminal signals reach the child only once, through
    // this process.
    command.process_group(0);
    command.env(ENVIRONMENT, std::process::id().to_string());
    let stop = StopHandle::default();
    let mute: SharedMessageSink = Arc::new(NullSink);
    let _signal_handler = signals::hear(&stop, String::new(), &mute)?;
    wait(command.spawn()?, &stop, look)
}

/// Makes this child process end when its parent ends. The setting survives `exec`.
pub fn end_with_parent() {
    let parent = std::env::var(ENVIRONMENT).ok();
    let parent = parent.and_then(|pid| pid.parse::<i32>().ok());
    let Some(parent) = parent.and_then(Pid::from_raw) else {
        return;
    };
    if rustix::process::getppid() != Some(parent) {
        // This is a grandchild, or the parent has already ended.
        return;
    }
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
}

fn wait(child: Child, stop: &StopHandle, mut look: impl FnMut(&Child)) -> io::Result<ChildExit> {
    let mut child = child;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let mut reported = Urgency::None;
    let mut first = None;
    let (_quiet, over) = mpsc::channel::<()>();
    loop {
        if let Some(status) = child.try_wait()? {
            let by_signal = || {
                use std::os::unix::process::ExitStatusExt;
                let number = status.signal().and_then(|n| u8::try_from(n).ok());
                number.map_or(exit::COULD_NOT_RUN, exit::of_signal)
            };
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(ChildExit {
                code: code.unwrap_or_else(by_signal),
                signal: first,
            });
        }
        look(&child);
        if stop.urgency() > reported {
            reported = stop.urgency();
            first = first.or(stop.signal());
            let signal = match stop.signal() {
                Some(15) => Signal::TERM,
                Some(1) => Signal::HUP,
                _ => Signal::INT,
            };
            if let Some(pid) = pid {
                let _ = kill_process(pid, signal);
            }
        }
        let _ = over.recv_timeout(LOOK);
    }
}
