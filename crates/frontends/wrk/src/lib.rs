//! Front end for wrk and wrk2. [`read`] parses command lines, [`Accumulator`] counts figures,
//! [`mod@print`] formats them, and [`command`] runs scripts under `loadline run`.

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
use session::{FrontEnd, FrontEndInfo, SharedMessageSink, exit};

pub use accumulator::{Accumulator, WrkSettings};
pub use run::accumulators;
pub use script::lua::print_to_stderr;
pub use scripts::LuaScripts;
pub use test::{Strictness, WrkTest};

#[derive(Debug)]
pub struct Wrk;

impl FrontEnd for Wrk {
    fn card(&self) -> FrontEndInfo {
        FrontEndInfo {
            name: "wrk",
            about: "Run a benchmark like `wrk` or `wrk2`",
            usage: "OPTIONS> <URL",
            takes: "Arguments of wrk; see docs/reference/wrk.md",
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

    fn run(&self, called: &str, arguments: &[String], sink: &SharedMessageSink) -> u8 {
        let persona = match called {
            "wrk2" => read::Persona::Wrk2,
            _ => read::Persona::Wrk,
        };
        run::command(persona, arguments, sink)
    }

    fn printed(&self, run: &Run) -> String {
        format!("{}\n", print::WrkReport::from_run(run, None).replay())
    }
}
