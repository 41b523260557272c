//! What the command line knows of a front door: its name, the files it reads, how its command is run, and how a run that was made
//! behind it is shown again. What a run is asked while it goes on is [`crate::Door`]'s.

use std::sync::Arc;

use engine::{EngineOptions, hook::Hooks};
use formats::TestFileReader;
use measure::accumulator::Tally;
use plan::{Plan, Rate};
use record::Run;

use crate::{FinishedRun, exit, messages::SharedVoice};

/// A front door, as whoever lists the front doors sees it.
pub trait FrontEnd: Sync {
    /// What it is called, and how its command line is read.
    fn card(&self) -> FrontEndInfo;
    /// Reads its test files, for whoever runs them natively.
    fn reader(&self) -> &'static dyn TestFileReader;
    /// Who is asked about requests and answers while a plan of its own runs, behind whatever command; none where nobody is.
    ///
    /// # Errors
    /// One line, when the plan does not hold what this door keeps in its plans.
    fn hooks(&self, _plan: &Plan) -> Result<Option<Arc<dyn Hooks>>, String> {
        Ok(None)
    }
    /// Test files of its that `loadline run` cannot have read, because only running them tells what they send.
    fn scripts(&self) -> Option<&'static dyn ScriptLoader> {
        None
    }
    /// Test files of its that are programs, which its own tool alone can run.
    fn programs(&self) -> Option<&'static dyn ExternalTool> {
        None
    }
    /// Runs its command and answers the exit code; `called` is the name that it was called by.
    fn run(&self, called: &str, arguments: &[String], voice: &SharedVoice) -> u8;
    /// What a run behind it printed, from the run's record.
    fn printed(&self, run: &Run) -> String;
    /// What is said below everything that is shown of such a run.
    fn remarks(&self) -> String {
        String::new()
    }
}

/// Test files that their door runs itself, behind Loadline's own flags, report and exit codes.
pub trait ScriptLoader: Sync {
    /// Whether what is to be run is one of them.
    fn runs(&self, what: &str) -> bool;
    /// The plan of such a run, and its script, which has not begun.
    ///
    /// # Errors
    /// One line of what is wrong with what was asked for.
    fn read(&self, asked: &RunOptions<'_>) -> Result<(Plan, Box<dyn ScriptRun>), String>;
}

/// What Loadline's own flags ask of a script, or of a program.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// The script.
    pub what: &'a str,
    /// The URL.
    pub target: Option<&'a str>,
    /// How long, in nanoseconds.
    pub duration_ns: Option<u64>,
    /// Threads.
    pub workers: Option<usize>,
    /// Connections.
    pub connections: Option<u32>,
    /// The rate at which requests come, where they come at one.
    pub rate: Option<Rate>,
    /// They come at random moments.
    pub at_random: bool,
    /// Certificates are not checked.
    pub insecure: bool,
    /// Connections are to lead elsewhere than names say.
    pub routed: bool,
    /// For the script.
    pub arguments: &'a [String],
    /// For every request: names and values.
    pub headers: Vec<(String, String)>,
    /// A flag that asks for what it cannot give.
    pub unfit: Option<&'a str>,
}

/// Test files that are programs: behind `loadline run` too their tool runs them, with its own output and exit codes.
pub trait ExternalTool: Sync {
    /// Whether what is to be run is one of them.
    fn runs(&self, what: &str) -> bool;
    /// Has the tool run it, under these environment variables beside those that are set; answers the exit code, if this process is
    /// still there to have one.
    ///
    /// # Errors
    /// One line of what is wrong with what was asked for, or why the tool cannot be run.
    fn run(&self, asked: &RunOptions<'_>, variables: &[(&str, String)]) -> Result<u8, String>;
}

/// A script on its way through a run.
pub trait ScriptRun {
    /// Makes it ready, and puts what it brings into the options of the run.
    ///
    /// # Errors
    /// One line of what is wrong, and the code that the run ends with.
    fn ready(
        &mut self,
        plan: &Plan,
        options: &mut EngineOptions,
        voice: &SharedVoice,
    ) -> Result<(), (String, u8)>;
    /// The load is over: what its door counted of it.
    fn ended(&mut self, ended: &FinishedRun, counted: Tally);
    /// What it died of, if it did.
    fn trouble(&self) -> Option<String>;
}

/// What a front door is called, and how its command line is read.
#[derive(Debug, Clone, Copy)]
pub struct FrontEndInfo {
    /// Its command, and the door in the records of its runs.
    pub name: &'static str,
    /// What the command does, for the list of commands.
    pub about: &'static str,
    /// What stands behind the command, for its usage.
    pub usage: &'static str,
    /// What that is, in words.
    pub takes: &'static str,
    /// Names of links to us that are its command line too.
    pub links: &'static [&'static str],
    /// Whether it explains its arguments itself: `loadline help NAME …` is its own command `help`.
    pub explains_itself: bool,
    /// Whether arguments that are no text are taken as if they were.
    pub takes_any_bytes: bool,
    /// The exit code for a command line that cannot be read.
    pub wrong_usage: u8,
    /// The exit code of a run that went well but for what could not be written to standard output.
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
