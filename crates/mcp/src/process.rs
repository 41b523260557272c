//! A run or a search in a separate process. The process ends when this process ends, and is stopped
//! as by Ctrl-C.

use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use record::units;
use rustix::process::{Pid, Signal, kill_process};
use session::{child, exit};
use worker::clock;

use crate::{counter_tail::CounterTail, options::LoadCaps};

/// Variables that a run needs from this process, in addition to those of Loadline.
const INHERITED: [&str; 8] = [
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The task of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessKind {
    /// Runs a test.
    Run,
    /// Searches for the highest load.
    Search,
}

/// A process that is to be started.
#[derive(Debug)]
pub(crate) struct ProcessOrder {
    pub kind: ProcessKind,
    /// Name by which agents refer to the process until the name of its record is known.
    pub handle: String,
    /// Arguments of the command.
    pub arguments: Vec<OsString>,
    /// Environment variables, in addition to [`INHERITED`].
    pub env: Vec<(String, String)>,
    /// Folder for the output.
    pub folder: PathBuf,
    /// Folder of records.
    pub runs: PathBuf,
    /// Planned duration of the load in nanoseconds.
    pub planned_ns: u64,
    /// Time in nanoseconds after which the process is stopped.
    pub limit_ns: u64,
}

/// A process that has been started.
#[derive(Debug)]
pub(crate) struct TestProcess {
    pub order: ProcessOrder,
    pub counters: CounterTail,
    /// Folder of the record, once it exists.
    pub record: Option<PathBuf>,
    /// Reason why the process was stopped.
    pub stop: Option<String>,
    /// Exit code, once the process has ended.
    pub code: Option<u8>,
    child: Child,
    began_ns: u64,
    stopped_ns: u64,
}

impl TestProcess {
    /// Starts the process.
    ///
    /// Fails with a one-line error if its files cannot be written or this program cannot be
    /// started.
    pub fn start(order: ProcessOrder) -> Result<TestProcess, String> {
        let cannot = |path: &Path, error: std::io::Error| {
            format!("cannot write {}: {error}", path.display())
        };
        fs::create_dir_all(&order.folder).map_err(|error| cannot(&order.folder, error))?;
        let file = |name: &str| {
            let path = order.folder.join(name);
            File::create(&path).map_err(|error| cannot(&path, error))
        };
        let program = std::env::current_exe()
            .map_err(|error| format!("cannot find the path of this program: {error}"))?;
        let mut command = Command::new(program);
        command.args(&order.arguments);
        command.env_clear().envs(inherited());
        command.envs(order.env.iter().map(|(name, value)| (name, value)));
        command.env(child::ENVIRONMENT, std::process::id().to_string());
        // Signals from a terminal only reach this process, which then stops the run.
        command.process_group(0).stdin(Stdio::null());
        command.stdout(file("output.txt")?);
        command.stderr(file("errors.txt")?);
        let child = command
            .spawn()
            .map_err(|error| format!("cannot start the run: {error}"))?;
        Ok(TestProcess {
            child,
            order,
            counters: CounterTail::default(),
            record: None,
            stop: None,
            code: None,
            began_ns: clock::monotonic_ns(),
            stopped_ns: 0,
        })
    }

    /// Updates the state, and stops the process if it exceeds a limit.
    pub fn update(&mut self, caps: &LoadCaps) {
        if self.code.is_some() {
            return;
        }
        // Read the exit status first, so that the counts of an ended process are complete.
        let status = self.child.try_wait();
        if self.record.is_none() && self.order.kind == ProcessKind::Run {
            self.record = self.find_record();
        }
        if let Some(record) = &self.record {
            self.counters.read(record);
        }
        match status {
            Ok(None) => self.enforce(caps),
            Ok(Some(status)) => {
                use std::os::unix::process::ExitStatusExt;
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                let signal = status.signal().and_then(|number| u8::try_from(number).ok());
                let signal = signal.map(exit::of_signal);
                self.code = code.or(signal).or(Some(exit::COULD_NOT_RUN));
            }
            Err(_) => self.code = Some(exit::COULD_NOT_RUN),
        }
    }

    /// Returns the time since the start, in nanoseconds.
    pub fn elapsed_ns(&self) -> u64 {
        clock::monotonic_ns().saturating_sub(self.began_ns)
    }

    /// Returns the name of the run, or the handle if the record does not exist yet.
    pub fn name(&self) -> String {
        let name = self.record.as_deref().and_then(Path::file_name);
        name.map_or_else(
            || self.order.handle.clone(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Returns whether the name refers to this process.
    pub fn is_called(&self, name: &str) -> bool {
        self.order.handle == name || self.name() == name
    }

    /// Stops the process as Ctrl-C does. A second call has no effect.
    pub fn stop(&mut self, reason: &str) {
        if self.stop.is_some() || self.code.is_some() {
            return;
        }
        self.stop = Some(reason.to_owned());
        self.stopped_ns = clock::monotonic_ns();
        self.signal(Signal::INT);
    }

    /// Also ends requests in flight if the process was stopped more than `after_ns` ago.
    pub fn hurry(&mut self, after_ns: u64) {
        let waited_ns = clock::monotonic_ns().saturating_sub(self.stopped_ns);
        if self.stop.is_some() && self.code.is_none() && waited_ns > after_ns {
            self.stopped_ns = clock::monotonic_ns();
            self.signal(Signal::INT);
        }
    }

    /// Returns the last line that the process wrote to standard error.
    pub fn last_error(&self) -> Option<String> {
        let text = fs::read(self.order.folder.join("errors.txt")).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines = text
            .lines()
            .map(|line| line.trim_start_matches("loadline: "));
        let mut lines =
            lines.filter(|line| !line.trim().is_empty() && !line.starts_with("warning: "));
        lines.next_back().map(ToOwned::to_owned)
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    }

    fn enforce(&mut self, caps: &LoadCaps) {
        let reason = if self.elapsed_ns() > self.order.limit_ns {
            Some(format!(
                "the run took longer than its load allows: {}",
                units::duration(self.order.limit_ns)
            ))
        } else if self.counters.sent() > caps.requests {
            Some(format!(
                "the run reached --most-requests {}",
                units::count(caps.requests)
            ))
        } else if self.counters.exceeds(caps.rate) {
            Some(format!(
                "the run sent more than --most-rate {}/s",
                units::rate(caps.rate)
            ))
        } else {
            None
        };
        if let Some(reason) = reason {
            self.stop(&reason);
        }
    }

    fn find_record(&self) -> Option<PathBuf> {
        let known = record::all(&self.order.runs);
        // The new record is one of the last, because names begin with the time.
        known.into_iter().rev().take(5).find(|dir| {
            let manifest = record::read_manifest(dir).ok();
            let about = manifest.and_then(|manifest| manifest.about);
            about.is_some_and(|about| about.tags.contains(&self.order.handle))
        })
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        if self.code.is_none() {
            self.signal(Signal::INT);
        }
    }
}

/// Returns the variables that a run inherits. Proxy variables are excluded, because a proxy is a
/// host that the plan does not name.
fn inherited() -> Vec<(String, String)> {
    let all = session::inputs::environment().into_iter();
    let is_inherited = |name: &str| INHERITED.contains(&name) || name.starts_with("LOADLINE_");
    all.filter(|(name, _)| is_inherited(name)).collect()
}
