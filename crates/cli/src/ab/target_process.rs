//! Starts the tested service with a command and ends it. The service runs in a separate process
//! group.

use std::{
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use session::blocking_http::{Base, BlockingRequest};
use worker::{clock, stop::StopHandle};

use crate::error::CommandError;

const LOOK: Duration = Duration::from_millis(50);
const START_NS: u64 = 60 * plan::units::SECOND;
/// Number of checks before the process is killed, which take five seconds in total.
const END_LOOKS: u32 = 100;
/// Shell command that kills the group when standard input closes, even if this process is killed.
const GUARD: &str = "read -r _; kill -s KILL -- -\"$1\"";

pub struct TargetProcess {
    side: &'static str,
    command: String,
    url: String,
    base: Base,
    path: String,
}

pub enum StartResult {
    Answers(
        #[expect(dead_code, reason = "kept so that dropping it ends the processes")] ProcessGroup,
    ),
    Signal(u8),
}

impl TargetProcess {
    pub fn new(
        side: &'static str,
        command: &str,
        url: &str,
    ) -> Result<TargetProcess, CommandError> {
        let (base, path) = Base::of_url(url).map_err(|cause| {
            CommandError::bad_input(format!("--{side}: {cause}, but --{side}-cmd needs it"))
        })?;
        Ok(TargetProcess {
            side,
            command: command.to_owned(),
            url: url.to_owned(),
            base: base.patient_for(Duration::from_secs(1)),
            path,
        })
    }

    pub fn start(&self, log: &Path, stop: &StopHandle) -> Result<StartResult, CommandError> {
        let TargetProcess { side, url, .. } = self;
        if self.answers() {
            return Err(CommandError::could_not_run(format!(
                "{url} already responds before --{side}-cmd starts: stop the process that listens there, or remove --{side}-cmd"
            )));
        }
        let cannot = |error: io::Error| {
            CommandError::could_not_run(format!("--{side}-cmd `{}`: {error}", self.command))
        };
        let mut group = ProcessGroup::start(&self.command, log).map_err(cannot)?;
        let began_ns = clock::monotonic_ns();
        while clock::monotonic_ns().saturating_sub(began_ns) < START_NS {
            if let Some(signal) = stop.signal() {
                return Ok(StartResult::Signal(signal));
            }
            if self.answers() {
                return Ok(StartResult::Answers(group));
            }
            // If the command succeeded, its service runs in the background.
            let ended = group.child.try_wait().map_err(cannot)?;
            if let Some(status) = ended.filter(|status| !status.success()) {
                return Err(CommandError::could_not_run(format!(
                    "--{side}-cmd exited ({status}) before {url} responded: see its output in {}",
                    log.display()
                )));
            }
            pause();
        }
        Err(CommandError::could_not_run(format!(
            "{url} does not respond one minute after --{side}-cmd started: see its output in {}",
            log.display()
        )))
    }

    fn answers(&self) -> bool {
        let request = BlockingRequest {
            method: "GET",
            path: &self.path,
            headers: &[],
            body: None,
        };
        self.base.send(&request).is_ok()
    }
}

pub struct ProcessGroup {
    child: Child,
    guard: Child,
}

impl ProcessGroup {
    fn start(command: &str, log: &Path) -> io::Result<ProcessGroup> {
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder)?;
        }
        let out = File::create(log)?;
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).process_group(0);
        shell
            .stdin(Stdio::null())
            .stderr(out.try_clone()?)
            .stdout(out);
        let mut child = shell.spawn()?;
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "sh", &child.id().to_string()]);
        guard.process_group(0).stdin(Stdio::piped());
        match guard.spawn() {
            Ok(guard) => Ok(ProcessGroup { child, guard }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    fn signal(&self, signal: Option<Signal>) -> bool {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| match signal {
            Some(signal) => kill_process_group(pid, signal).is_ok(),
            None => test_kill_process_group(pid).is_ok(),
        })
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Some(Signal::TERM));
        for _ in 0..END_LOOKS {
            // A group leader that has not been reaped would count as running.
            let _ = self.child.try_wait();
            if !self.signal(None) {
                break;
            }
            pause();
        }
        self.signal(Some(Signal::KILL));
        let _ = self.child.wait();
        let _ = self.guard.kill();
        let _ = self.guard.wait();
    }
}

fn pause() {
    let (_quiet, over) = mpsc::channel::<()>();
    let _ = over.recv_timeout(LOOK);
}
