//! Interfaces between the command line and a front end: name, files, command, output from a record.
//! Callbacks during a run are in [`crate::RunObserver`].

use std::sync::Arc;

use engine::{EngineOptions, hook::Hooks};
use formats::TestFileReader;
use measure::accumulator::Tally;
use plan::{Plan, Rate};
use record::Run;

use crate::{FinishedRun, exit, messages::SharedMessageSink};

/// A front end, as the command line lists it.
pub trait FrontEnd: Sync {
    /// Returns the front end's name and command-line syntax.
    fn card(&self) -> FrontEndInfo;
    /// Returns the front end's reader of test files, for `loadline run`.
    fn reader(&self) -> &'static dyn TestFileReader;
    /// Returns hooks for requests and responses of a plan from this front end. `None` if it has
    /// none.
    fn hooks(&self, _plan: &Plan) -> Result<Option<Arc<dyn Hooks>>, String> {
        Ok(None)
    }
    /// Returns the loader for scripts whose requests become known only when they run.
    fn scripts(&self) -> Option<&'static dyn ScriptLoader> {
        None
    }
    /// Returns the handler of test files that are programs and need the original tool.
    fn programs(&self) -> Option<&'static dyn ExternalTool> {
        None
    }
    /// Runs the front end's command and returns the exit code. `called` is the name under which it
    /// was called.
    fn run(&self, called: &str, arguments: &[String], sink: &SharedMessageSink) -> u8;
    /// Returns the output of a recorded run in the original tool's format.
    fn printed(&self, run: &Run) -> String;
    /// Returns the text below the output of a recorded run.
    fn remarks(&self) -> String {
        String::new()
    }
}

/// Scripts (wrk Lua) that a front end runs itself under `loadline run`.
pub trait ScriptLoader: Sync {
    /// Whether the file is such a script.
    fn runs(&self, what: &str) -> bool;
    /// Returns the plan and the script. The script has not started.
    fn read(&self, requested: &RunOptions<'_>) -> Result<(Plan, Box<dyn ScriptRun>), String>;
}

/// Options of `loadline run` for a script or a program.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// The script.
    pub what: &'a str,
    /// The URL.
    pub target: Option<&'a str>,
    /// Duration, in nanoseconds.
    pub duration_ns: Option<u64>,
    /// Threads.
    pub workers: Option<usize>,
    /// Connections.
    pub connections: Option<u32>,
    /// Request rate, in an open model.
    pub rate: Option<Rate>,
    /// Whether arrivals are random.
    pub at_random: bool,
    /// Whether certificates are not checked.
    pub insecure: bool,
    /// Whether connections go to addresses other than those that names resolve to.
    pub routed: bool,
    /// Arguments for the script.
    pub arguments: &'a [String],
    /// Headers for every request.
    pub headers: Vec<(String, String)>,
    /// A flag that tests of this kind do not support.
    pub unfit: Option<&'a str>,
}

/// Test files that are programs. The original tool runs them, with its own output and exit codes.
pub trait ExternalTool: Sync {
    /// Whether the file is such a program.
    fn runs(&self, what: &str) -> bool;
    /// Makes the tool run the program with additional environment variables. Returns the exit code,
    /// unless the tool replaced this process.
    fn run(&self, requested: &RunOptions<'_>, variables: &[(&str, String)]) -> Result<u8, String>;
}

/// A script during a run.
pub trait ScriptRun {
    /// Initializes the script and adds its settings to the options of the run.
    fn ready(
        &mut self,
        plan: &Plan,
        options: &mut EngineOptions,
        sink: &SharedMessageSink,
    ) -> Result<(), (String, u8)>;
    /// Called after the load with the front end's figures.
    fn ended(&mut self, ended: &FinishedRun, counted: Tally);
    /// The error that ended the script, if any.
    fn trouble(&self) -> Option<String>;
}

/// Name and command-line syntax of a front end.
#[derive(Debug, Clone, Copy)]
pub struct FrontEndInfo {
    /// The command's name, which is also the name in records.
    pub name: &'static str,
    /// Description for the list of commands.
    pub about: &'static str,
    /// Arguments for the usage line.
    pub usage: &'static str,
    /// Description of the arguments.
    pub takes: &'static str,
    /// Names of symbolic links under which the binary runs this command.
    pub links: &'static [&'static str],
    /// Whether the command documents its arguments itself. `loadline help NAME …` then calls its
    /// own `help`.
    pub explains_itself: bool,
    /// Whether arguments that are not UTF-8 are accepted, with replacement characters.
    pub takes_any_bytes: bool,
    /// Exit code for wrong usage.
    pub wrong_usage: u8,
    /// Exit code if the only failure is that standard output could not be written.
    pub lost_output: u8,
}

impl Default for FrontEndInfo {
    fn default() -> FrontEndInfo {
        FrontEndInfo {
            name: "",
            about: "",
            usage: "ARGUMENT",
            takes: "",
            links: &[],
            explains_itself: false,
            takes_any_bytes: false,
            wrong_usage: exit::BAD_INPUT,
            lost_output: exit::COULD_NOT_RUN,
        }
    }
}
