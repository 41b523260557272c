//! The registered front ends: commands, files and output of runs.

use std::{ffi::OsString, path::Path, sync::Arc};

use clap::{Arg, ArgAction, Command};
use engine::hook::Hooks;
use formats::{TestFileReader, native};
use plan::Plan;
use session::{ExternalTool, FrontEnd, FrontEndInfo, ScriptLoader, exit};

use crate::log;

const DOORS: [&dyn FrontEnd; 5] = [
    &frontend_artillery::Artillery,
    &frontend_k6::K6,
    &frontend_locust::Locust,
    &frontend_mqtt::Mqtt {
        without_command: pepeunit::command,
    },
    &frontend_wrk::Wrk,
];

pub fn readers() -> Vec<&'static dyn TestFileReader> {
    let mut readers: Vec<&dyn TestFileReader> = vec![&native::Plans];
    let frontends: Vec<&dyn TestFileReader> =
        DOORS.iter().map(|frontend| frontend.reader()).collect();
    readers.extend(frontends);
    readers
}

pub fn named(name: &str) -> Option<&'static dyn FrontEnd> {
    DOORS
        .into_iter()
        .find(|frontend| frontend.card().name == name)
}

pub fn scripts(what: &str) -> Option<&'static dyn ScriptLoader> {
    let mut scripts = DOORS.iter().filter_map(|frontend| frontend.scripts());
    scripts.find(|scripts| scripts.runs(what))
}

pub fn programs(what: &str) -> Option<&'static dyn ExternalTool> {
    let mut programs = DOORS.iter().filter_map(|frontend| frontend.programs());
    programs.find(|programs| programs.runs(what))
}

pub fn hooks(plan: &Plan) -> Result<Option<Arc<dyn Hooks>>, String> {
    match named(plan.provenance.format.0) {
        Some(frontend) => frontend.hooks(plan),
        None => script::js::hooks(plan),
    }
}

pub struct Called {
    frontend: &'static dyn FrontEnd,
    name: String,
    arguments: Vec<OsString>,
}

impl Called {
    /// Recognizes `loadline NAME …`, a link with that name, and `loadline help NAME …`.
    pub fn from_arguments(mut arguments: impl Iterator<Item = OsString>) -> Option<Called> {
        let us = arguments.next()?;
        let us = Path::new(&us).file_name()?.to_string_lossy().into_owned();
        let linked = DOORS
            .into_iter()
            .find(|frontend| frontend.card().links.contains(&us.as_str()));
        if let Some(frontend) = linked {
            return Some(Called {
                frontend,
                name: us,
                arguments: arguments.collect(),
            });
        }
        let first = arguments.next()?;
        let helps = first == "help";
        let word = if helps { arguments.next()? } else { first };
        let frontend =
            named(word.to_str()?).filter(|frontend| !helps || frontend.card().explains_itself)?;
        Some(Called {
            frontend,
            name: frontend.card().name.to_owned(),
            arguments: helps
                .then(|| "help".into())
                .into_iter()
                .chain(arguments)
                .collect(),
        })
    }

    pub fn card(&self) -> FrontEndInfo {
        self.frontend.card()
    }

    pub fn run(self) -> u8 {
        let text = |argument: &OsString| argument.to_string_lossy().into_owned();
        let arguments: Vec<String> = self.arguments.iter().map(text).collect();
        let code = self.frontend.run(&self.name, &arguments, &log::sink());
        if code == exit::PASS && log::lost() {
            return self.card().lost_output;
        }
        code
    }
}

/// Groups of commands in the help of `loadline`, in order.
const GROUPS: &[(&str, &[&str])] = &[
    ("Run", &["run", "plan", "init", "campaign", "demo"]),
    (OTHER_TOOLS, &[]),
    ("Decide", &["find", "compare", "ab", "gate", "history"]),
    ("Report", &["report", "list", "audit", "export"]),
    ("Several machines", &["merge", "k8s"]),
    (
        "Tools",
        &[
            "lab",
            "mock",
            "mcp",
            "doctor",
            "version",
            "selftest",
            "completions",
            "man",
            "help",
        ],
    ),
];
const OTHER_TOOLS: &str = "Other tools' commands";

pub fn listed(command: Command) -> Command {
    let commands = DOORS.iter().map(|frontend| {
        let card = frontend.card();
        let arguments = Arg::new("arguments")
            .value_name(card.usage)
            .help(card.takes)
            .action(ArgAction::Append)
            .trailing_var_arg(true)
            .allow_hyphen_values(true);
        Command::new(card.name)
            .about(card.about)
            .disable_help_flag(true)
            .arg(arguments)
    });
    let command = command.subcommands(commands);
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}\n",
        groups(&command)
    );
    command.help_template(template)
}

fn groups(command: &Command) -> String {
    let front_ends: Vec<&str> = DOORS.iter().map(|frontend| frontend.card().name).collect();
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let names = if *heading == OTHER_TOOLS {
            &front_ends
        } else {
            *names
        };
        text.push_str(&format!("{heading}:\n"));
        for name in names {
            let about = match command.find_subcommand(name).and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None => "Print this help or the help of a command".to_owned(),
            };
            text.push_str(&format!("  {name:<13}{about}\n"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn help_lists_every_command_once_in_a_short_line() {
        let command = listed(crate::args::Args::command());
        let text = groups(&command);
        for known in command
            .get_subcommands()
            .filter(|known| !known.is_hide_set())
        {
            let lines = text.lines().filter(|line| {
                line.split_whitespace().next() == Some(known.get_name()) && line.starts_with("  ")
            });
            assert_eq!(lines.count(), 1, "{}", known.get_name());
        }
        for line in text.lines() {
            assert!(line.len() <= 2 + 13 + 60, "{line}");
        }
    }
}
