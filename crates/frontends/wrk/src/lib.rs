//! The front door of wrk and wrk2: command lines, scripts, figures and reports as they have them, in one room. [`read`] makes
//! commands of command lines, [`Accumulator`] counts their figures beside ours, [`print`] says what they would print of them,
//! [`native`] is what `loadline run SCRIPT.lua` makes of a script.
//!
//! Running Lua is the crate `script`'s, sending its requests the batch driver's.

#![forbid(unsafe_code)]

mod accumulator;
mod command;
mod figures;
pub mod print;
pub mod read;
mod run;
mod screen;
mod scripts;
mod test;

use formats::TestFileReader;
use record::Run;
use session::{FrontEnd, FrontEndInfo, SharedVoice, exit};

pub use accumulator::{Accumulator, WrkSettings};
pub use run::accumulators;
pub use script::lua::print_to_stderr;
pub use scripts::LuaScripts;
pub use test::{Strictness, WrkTest};

/// The door, for whoever lists the front doors.
#[derive(Debug)]
pub struct Wrk;

impl FrontEnd for Wrk {
    fn card(&self) -> FrontEndInfo {
        FrontEndInfo {
            name: "wrk",
            about: "Run a benchmark as `wrk` or `wrk2` do",
            usage: "OPTIONS> <URL",
            takes: "What wrk takes; see docs/reference/wrk.md",
            links: &["wrk", "wrk2"],
            takes_any_bytes: true,
            lost_output: exit::PASS,
            ..FrontEndInfo::default()
        }
    }

    fn reader(&self) -> &'static dyn TestFileReader {
        &LuaScripts
    }

    fn scripts(&self) -> Option<&'static dyn session::ScriptLoader> {
        Some(&command::LuaFiles)
    }

    fn run(&self, called: &str, arguments: &[String], voice: &SharedVoice) -> u8 {
        let persona = match called {
            "wrk2" => read::Persona::Wrk2,
            _ => read::Persona::Wrk,
        };
        run::command(persona, arguments, voice)
    }

    fn printed(&self, run: &Run) -> String {
        format!("{}\n", print::WrkReport::from_run(run, None).replay())
    }
}
