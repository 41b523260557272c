//! Parser for the command lines of `k6 run`, `archive` and `inspect`, with the rules of pflag.

use std::fmt;

use super::{
    Options,
    flag_table::{ARCHIVE, Arity, Flag, GLOBAL, INSPECT, OPTIONS, RUN, Target},
    settings::Settings,
};
use crate::text::go_quote;

/// A command that reads a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Run a test.
    Run,
    /// Write a test with its files to an archive.
    Archive,
    /// Print the options of a test.
    Inspect,
}

/// A parsed command line.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFlags {
    /// Script as typed. `-` means standard input. Empty if the usage text was requested.
    pub script: String,
    /// Options of the test from the command line, which are the highest layer.
    pub options: Options,
    /// Settings of the run. Where they are unset, the environment's settings apply.
    pub settings: Settings,
}

/// The error for an invalid command line. The exit code is 255.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

impl RunFlags {
    /// Parses the arguments after `k6 run`.
    ///
    /// # Errors
    ///
    /// Fails for unknown flags and invalid values, and unless there is exactly one script.
    pub fn parse(arguments: &[String]) -> Result<RunFlags, UsageError> {
        RunFlags::parse_for(Command::Run, arguments)
    }

    /// Parses the arguments after the name of a command.
    ///
    /// # Errors
    ///
    /// Fails for unknown flags and invalid values, and unless there is exactly one script.
    pub fn parse_for(command: Command, arguments: &[String]) -> Result<RunFlags, UsageError> {
        let own = match command {
            Command::Run => RUN,
            Command::Archive => ARCHIVE,
            Command::Inspect => INSPECT,
        };
        let mut parser = Parser {
            tables: [GLOBAL, OPTIONS, own],
            options: Options::default(),
            settings: Settings::default(),
        };
        let mut scripts = parser.parse(arguments).map_err(UsageError)?;
        let is_help = parser.settings.help == Some(true);
        if scripts.len() != 1 && !is_help {
            return Err(UsageError(
                "arg should either be \"-\", if reading script from stdin, or a path to a script \
                 file"
                    .to_owned(),
            ));
        }
        Ok(RunFlags {
            script: scripts.pop().unwrap_or_default(),
            options: parser.options,
            settings: parser.settings,
        })
    }
}

struct Parser {
    tables: [&'static [Flag]; 3],
    options: Options,
    settings: Settings,
}

impl Parser {
    /// Parses all flags. Returns the arguments that are not flags.
    fn parse(&mut self, arguments: &[String]) -> Result<Vec<String>, String> {
        let mut positional = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "--" {
                positional.extend(rest.cloned());
                break;
            }
            if let Some(long) = argument.strip_prefix("--") {
                self.parse_long(long, &mut rest)?;
            } else if argument.len() > 1 && argument.starts_with('-') {
                self.parse_shorthands(argument, &mut rest)?;
            } else {
                positional.push(argument.clone());
            }
        }
        Ok(positional)
    }

    fn find(&self, matches: impl Fn(&Flag) -> bool) -> Option<&'static Flag> {
        let mut flags = self.tables.iter().flat_map(|table| table.iter());
        flags.find(|flag| matches(flag))
    }

    fn parse_long<'a>(
        &mut self,
        text: &str,
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if name.is_empty() || name.starts_with('-') {
            return Err(format!("bad flag syntax: --{text}"));
        }
        let flag = self.find(|flag| flag.long == name);
        let flag = flag.ok_or_else(|| format!("unknown flag: --{name}"))?;
        let value = match (value, &flag.arity) {
            (Some(value), _) => value,
            (None, Arity::Bool) => "true",
            (None, Arity::Optional(default)) => default,
            (None, Arity::Value) => rest
                .next()
                .ok_or_else(|| format!("flag needs an argument: --{name}"))?,
        };
        self.apply(flag, value)
    }

    /// Parses `-qv`, `-u10`, `-u=10` and `-u 10`.
    fn parse_shorthands<'a>(
        &mut self,
        argument: &str,
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), String> {
        let mut letters = argument.get(1..).unwrap_or_default();
        while let Some(letter) = letters.chars().next() {
            let flag = self.find(|flag| flag.short == Some(letter));
            let flag =
                flag.ok_or_else(|| format!("unknown shorthand flag: '{letter}' in -{letters}"))?;
            let after = letters.get(letter.len_utf8()..).unwrap_or_default();
            if let Some(value) = after.strip_prefix('=').filter(|_| after.len() > 1) {
                return self.apply(flag, value);
            }
            match flag.arity {
                Arity::Bool => self.apply(flag, "true")?,
                Arity::Optional(default) => self.apply(flag, default)?,
                Arity::Value if !after.is_empty() => return self.apply(flag, after),
                Arity::Value => {
                    let value = rest.next().ok_or_else(|| {
                        format!("flag needs an argument: '{letter}' in -{letters}")
                    })?;
                    return self.apply(flag, value);
                }
            }
            letters = after;
        }
        Ok(())
    }

    fn apply(&mut self, flag: &Flag, value: &str) -> Result<(), String> {
        let mut target = Target {
            options: &mut self.options,
            settings: &mut self.settings,
        };
        (flag.apply)(&mut target, value).map_err(|reason| {
            // k6 checks these after pflag, so pflag's text does not surround them.
            if matches!(
                flag.long,
                "env" | "summary-mode" | "compatibility-mode" | "stage" | "tag"
            ) {
                return reason;
            }
            let names = match flag.short {
                Some(short) => format!("-{short}, --{}", flag.long),
                None => format!("--{}", flag.long),
            };
            let value = go_quote(value);
            format!("invalid argument {value} for \"{names}\" flag: {reason}")
        })
    }
}
