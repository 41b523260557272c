//! What the command line knows of a front door: its name, the files it reads, how its command is run, and how a run that was made
//! behind it is shown again. What a run is asked while it goes on is [`crate::Door`]'s.

use std::sync::Arc;

use engine::hook::Hooks;
use formats::Reader;
use plan::Plan;
use record::Run;

use crate::{exit, voice::SharedVoice};

/// A front door, as whoever lists the front doors sees it.
pub trait FrontDoor: Sync {
    /// What it is called, and how its command line is read.
    fn card(&self) -> Card;
    /// Reads its test files, for whoever runs them natively.
    fn reader(&self) -> &'static dyn Reader;
    /// Who is asked about requests and answers while a plan of its own runs, behind whatever command; none where nobody is.
    ///
    /// # Errors
    /// One line, when the plan does not hold what this door keeps in its plans.
    fn hooks(&self, _plan: &Plan) -> Result<Option<Arc<dyn Hooks>>, String> {
        Ok(None)
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

/// What a front door is called, and how its command line is read.
#[derive(Debug, Clone, Copy)]
pub struct Card {
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

impl Default for Card {
    fn default() -> Card {
        Card {
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
