//! `loadline artillery …`: commands of Artillery.

mod about;
mod cloud;
mod environment;
mod flags;
mod page;
mod quick;
mod run;
mod screen;
mod terminal;

use std::sync::Arc;

use clap::Parser;
use engine::hook::Hooks;
use formats::TestFileReader;
use plan::Plan;
use record::Run;
use session::{FrontEnd, FrontEndInfo, SharedMessageSink, exit};

use crate::{
    expect::hook::hooks,
    print::{Console, PrintOptions, Zone},
    read::{ArtilleryScripts, differences::DIFFERENCES},
    refusal::FAILED,
};
use flags::{ArtilleryCommand, Flags};

#[derive(Debug)]
pub struct Artillery;

impl FrontEnd for Artillery {
    fn card(&self) -> FrontEndInfo {
        FrontEndInfo {
            name: "artillery",
            about: "Run an Artillery script as `artillery` does",
            takes: "Arguments of Artillery; see docs/reference/artillery.md",
            explains_itself: true,
            wrong_usage: FAILED,
            ..FrontEndInfo::default()
        }
    }

    fn reader(&self) -> &'static dyn TestFileReader {
        &ArtilleryScripts
    }

    fn hooks(&self, plan: &Plan) -> Result<Option<Arc<dyn Hooks>>, String> {
        hooks(plan)
    }

    fn run(&self, _: &str, arguments: &[String], sink: &SharedMessageSink) -> u8 {
        let own = std::iter::once("artillery");
        let arguments = own.chain(arguments.iter().map(String::as_str));
        match Flags::try_parse_from(arguments) {
            Ok(flags) => command(flags, sink),
            Err(error) => {
                let _ = error.print();
                // Help is printed to standard output and counts as success.
                if error.use_stderr() {
                    FAILED
                } else {
                    exit::PASS
                }
            }
        }
    }

    fn printed(&self, run: &Run) -> String {
        match Console::replay(run, Zone::of_machine(), PrintOptions::default()) {
            Ok((_, text)) => text,
            Err(reason) => format!("{reason}\n"),
        }
    }

    fn remarks(&self) -> String {
        let mut out = String::from("\nDifferences from Artillery that can affect a script\n");
        for difference in DIFFERENCES {
            let line = format!(
                "  {}: {} there, {} here\n",
                difference.topic, difference.original, difference.ours
            );
            out.push_str(&line.replace('`', ""));
        }
        out
    }
}

fn command(flags: Flags, sink: &SharedMessageSink) -> u8 {
    match flags.command {
        _ if flags.version => about::version(sink),
        Some(ArtilleryCommand::Run(flags)) => run::run(&flags, sink),
        Some(ArtilleryCommand::Quick(flags)) => run::run_quick(&flags, sink),
        Some(ArtilleryCommand::Report { file, output }) => page::command(&file, output, sink),
        Some(ArtilleryCommand::Dino { message }) => about::dino(&message, sink),
        Some(ArtilleryCommand::Version) | None => about::version(sink),
    }
}
