//! A run as a process of its own: started, waited for, and told of the signals that its parent gets. What it is told and what becomes of
//! it is the caller's.

use std::{
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, mpsc},
    time::Duration,
};

use engine::{StopHandle, Urgency};
use rustix::process::{Pid, Signal, kill_process};

use crate::{exit, messages::NullSink, messages::SharedVoice, signals};

/// How often is looked for signals.
const LOOK: Duration = Duration::from_millis(20);
/// Set for a process that is to end in good order when the one that has started it is gone.
pub const ENVIRONMENT: &str = "LOADLINE_ENDS_WITH";

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildExit {
    /// Its exit code; of one that a signal has ended, what a shell says of it.
    pub code: u8,
    /// The first signal that was passed on to it.
    pub signal: Option<u8>,
}

/// Runs a command to its end. Signals are passed on; what they are answered with is its own affair.
///
/// # Errors
/// When it cannot be started or waited for.
pub fn run(command: &mut Command) -> io::Result<ChildExit> {
    run_with(command, |_| {})
}

/// What a run printed, and how it ended.
#[derive(Debug)]
pub struct Printed {
    /// How it ended.
    pub ended: ChildExit,
    /// What it said on standard error; nothing where the terminal shows that.
    pub said: String,
}

/// Runs this very program, with what it prints in files; `say` adds its arguments. Without a file for errors they go where ours go.
///
/// # Errors
/// One line, when a file cannot be written or it cannot be started.
pub fn own(
    out: &Path,
    errors: Option<&Path>,
    say: impl FnOnce(&mut Command),
) -> Result<Printed, String> {
    let file = |path: &Path| {
        File::create(path).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    let program = std::env::current_exe()
        .map_err(|error| format!("cannot find the program's own file: {error}"))?;
    let mut command = Command::new(program);
    say(&mut command);
    command.stdin(Stdio::null()).stdout(file(out)?);
    if let Some(errors) = errors {
        command.stderr(file(errors)?);
    }
    let ended = run(&mut command).map_err(|error| format!("cannot start the run: {error}"))?;
    let said = errors.map(|errors| fs::read_to_string(errors).unwrap_or_default());
    let mut said = said.unwrap_or_default();
    if said.trim().is_empty() && ended.code == exit::COULD_NOT_RUN {
        // A full disk keeps its words too.
        said = no_room(out).unwrap_or_default();
    }
    Ok(Printed { ended, said })
}

/// Why nothing can be written next to this file, if that is so.
fn no_room(background: &Path) -> Option<String> {
    /// As much as the smallest file that a run writes takes on any disk.
    const ROOM: usize = 64 << 10;
    let tried = background.with_extension("room");
    let written = fs::write(&tried, vec![0; ROOM]);
    let _ = fs::remove_file(&tried);
    written.err().map(|error| {
        format!(
            "cannot write to {}: {error}; free some space",
            background.parent().unwrap_or(background).display()
        )
    })
}

/// As [`run`], looking after something else meanwhile, many times a second.
///
/// # Errors
/// As [`run`].
pub fn run_with(command: &mut Command, look: impl FnMut(&Child)) -> io::Result<ChildExit> {
    // A signal from the terminal reaches it through us, once.
    command.process_group(0);
    command.env(ENVIRONMENT, std::process::id().to_string());
    let stop = StopHandle::default();
    let mute: SharedVoice = Arc::new(NullSink);
    let _heard = signals::hear(&stop, String::new(), &mute)?;
    wait(command.spawn()?, &stop, look)
}

/// In the child: ends it as a signal would when its parent is gone. A program that takes its place inherits that.
pub fn end_with_parent() {
    let parent = std::env::var(ENVIRONMENT).ok();
    let parent = parent.and_then(|pid| pid.parse::<i32>().ok());
    let Some(parent) = parent.and_then(Pid::from_raw) else {
        return;
    };
    if rustix::process::getppid() != Some(parent) {
        // A process further down, or of somebody who is gone already.
        return;
    }
    // Without it the child goes on to its own end, and nothing else is lost.
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
                // It may be over already.
                let _ = kill_process(pid, signal);
            }
        }
        let _ = over.recv_timeout(LOOK);
    }
}
