//! Interfaces between the command line and a front end: name, files, command, and output from a
//! record. [`crate::RunObserver`] contains the callbacks during a run.

use std::sync::Arc;

pub use decisions::find::Over;
use engine::{EngineOptions, hook::Hooks};
use formats::TestFileReader;
use measure::accumulator::Tally;
use plan::{Plan, Rate};
use record::Run;

use crate::{FinishedRun, exit, messages::SharedMessageSink};

/// A front end, as the command line uses it.
pub trait FrontEnd: Sync {
    /// Returns the front end's name and command-line syntax.
    fn card(&self) -> FrontEndInfo;
    /// Returns the front end's reader for test files, for `loadline run`.
    fn reader(&self) -> &'static dyn TestFileReader;
    /// Returns hooks for the requests and responses of a plan from this front end. `None` if the
    /// front end has none.
    fn hooks(&self, _plan: &Plan) -> Result<Option<Arc<dyn Hooks>>, String> {
        Ok(None)
    }
    /// Returns the loader for scripts that determine their requests during the run. `None` if the
    /// front end has none.
    fn scripts(&self) -> Option<&'static dyn ScriptLoader> {
        None
    }
    /// Returns the handler for test files that are programs and need the original tool. `None` if
    /// the front end has none.
    fn programs(&self) -> Option<&'static dyn ExternalTool> {
        None
    }
    /// Runs the front end's command and returns the exit code. `called` is the name under which the
    /// binary was called.
    fn run(&self, called: &str, arguments: &[String], sink: &SharedMessageSink) -> u8;
    /// Returns the output of a recorded run in the original tool's format.
    fn printed(&self, run: &Run) -> String;
    /// Returns text to print below the output of a recorded run.
    fn remarks(&self) -> String {
        String::new()
    }
}

/// Loads scripts that a front end runs itself under `loadline run`, such as wrk's Lua scripts.
pub trait ScriptLoader: Sync {
    /// Returns whether the file is a script of this front end.
    fn runs(&self, what: &str) -> bool;
    /// Returns the plan and the script, which has not been started yet.
    fn read(&self, requested: &RunOptions<'_>) -> Result<(Plan, Box<dyn ScriptRun>), String>;
}

/// The options of `loadline run` for a script or a program.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// File of the script or program.
    pub what: &'a str,
    /// Target URL.
    pub target: Option<&'a str>,
    /// Duration, in nanoseconds.
    pub duration_ns: Option<u64>,
    /// Number of threads.
    pub workers: Option<usize>,
    /// Number of connections.
    pub connections: Option<u32>,
    /// Request rate of an open model.
    pub rate: Option<Rate>,
    /// Whether arrivals are random.
    pub at_random: bool,
    /// Whether the client accepts invalid certificates.
    pub insecure: bool,
    /// Whether address overrides are set.
    pub routed: bool,
    /// Arguments to pass to the script.
    pub arguments: &'a [String],
    /// Headers to add to every request.
    pub headers: Vec<(String, String)>,
    /// Flag in the arguments that such tests do not support, if any.
    pub unfit: Option<&'a str>,
}

/// Test files that are programs. The original tool runs them, with its own output and exit codes.
pub trait ExternalTool: Sync {
    /// Returns whether the number of worker threads can be chosen.
    fn has_workers(&self) -> bool {
        false
    }

    /// Returns whether the file is such a program.
    fn runs(&self, what: &str) -> bool;
    /// Runs the program with the original tool and additional environment variables. Returns the
    /// exit code, unless the tool replaces this process.
    fn run(&self, requested: &RunOptions<'_>, variables: &[(&str, String)]) -> Result<u8, String>;
    /// Returns why `--on` and `--shard` are not available, with advice.
    fn undistributed(&self) -> &'static str;
    /// Returns why `loadline find` cannot search over a quantity, with advice. `None` if it can.
    fn unsearchable(&self, over: Over) -> Option<&'static str>;
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
    /// Runs the script's last hook after the load. The hook receives the front end's figures.
    fn ended(&mut self, ended: &FinishedRun, counted: Tally);
    /// Returns the error that ended the script, if any.
    fn trouble(&self) -> Option<String>;
}

/// The name and command-line syntax of a front end.
#[derive(Debug, Clone, Copy)]
pub struct FrontEndInfo {
    /// Name of the command, which is also the name in records.
    pub name: &'static str,
    /// Description in the list of commands.
    pub about: &'static str,
    /// Arguments in the usage line.
    pub usage: &'static str,
    /// Description of the arguments.
    pub takes: &'static str,
    /// Names of symbolic links under which the binary runs this command.
    pub links: &'static [&'static str],
    /// Whether the command documents its own arguments. If so, `loadline help NAME …` calls the
    /// command's `help`.
    pub explains_itself: bool,
    /// Whether the command accepts arguments that are not UTF-8. Invalid bytes become replacement
    /// characters.
    pub takes_any_bytes: bool,
    /// Exit code for incorrect usage.
    pub wrong_usage: u8,
    /// Exit code if the only failure is writing to standard output.
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
