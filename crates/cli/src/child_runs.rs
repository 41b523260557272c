//! Runs tests for `gate` and `ab` in separate processes.

use std::{
    fs,
    io::IsTerminal,
    path::{Path, PathBuf},
};

use analysis::summary::Summary;
use session::{child, exit, exports, inputs};

use crate::{error::CommandError, log};

const TAGS: &str = "LOADLINE_TAGS";

pub struct RunEnv<'a> {
    pub runs: &'a Path,
    pub tag: &'a str,
    pub folder: &'a Path,
}

pub struct MadeRun {
    pub code: u8,
    pub signal: Option<u8>,
    pub record: Option<PathBuf>,
    /// Standard error of the run. Empty if it has already been shown on the terminal.
    pub text: String,
}

pub fn tag(purpose: &str) -> String {
    let now = record::utc(inputs::now_wall_ns(), "%Y%m%dT%H%M%SZ");
    format!("{purpose}-{now}-{:04x}", inputs::random_seed() as u16)
}

impl RunEnv<'_> {
    pub fn run(
        &self,
        number: u32,
        what: &str,
        flags: &[String],
        tags: &[String],
    ) -> Result<MadeRun, CommandError> {
        let cannot = |what: &Path, error: std::io::Error| {
            CommandError::could_not_run(format!("cannot write {}: {error}", what.display()))
        };
        fs::create_dir_all(self.folder).map_err(|error| cannot(self.folder, error))?;
        let out = self.folder.join(format!("run-{number}.txt"));
        let errors = self.folder.join(format!("run-{number}-errors.txt"));
        let known = self.made();
        let errors = (!std::io::stderr().is_terminal()).then_some(&errors);
        let printed = child::own(&out, errors.map(PathBuf::as_path), |command| {
            command.arg("run").arg(what).args(flags);
            command.env("LOADLINE_RUNS", self.runs);
            command.env(TAGS, self.tags(tags));
        });
        let child::Printed { ended, text } = printed.map_err(CommandError::could_not_run)?;
        let mut new = self.made().into_iter().filter(|run| !known.contains(run));
        Ok(MadeRun {
            code: ended.code,
            signal: ended.signal,
            record: new.next(),
            text,
        })
    }

    /// Removes the files of a run that did not start.
    pub fn clear(&self, number: u32) {
        for name in [
            format!("run-{number}.txt"),
            format!("run-{number}-errors.txt"),
        ] {
            let _ = fs::remove_file(self.folder.join(name));
        }
        // Removal fails if the folder contains other files.
        let _ = fs::remove_dir(self.folder);
    }

    fn tags(&self, more: &[String]) -> String {
        let known = std::env::var(TAGS).ok().filter(|tags| !tags.is_empty());
        let ours = known.into_iter().chain([self.tag.to_owned()]);
        let all: Vec<String> = ours.chain(more.iter().cloned()).collect();
        all.join(",")
    }

    fn made(&self) -> Vec<PathBuf> {
        let is_ours = |dir: &PathBuf| {
            let manifest = record::read_manifest(dir).ok();
            let about = manifest.and_then(|manifest| manifest.about);
            about.is_some_and(|about| about.tags.iter().any(|tag| tag == self.tag))
        };
        let all = record::all(self.runs);
        all.into_iter().filter(is_ours).collect()
    }
}

/// Checks before the first run that the output files are writable.
pub fn can_be_written<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), CommandError> {
    let files = paths.into_iter().filter(|path| !log::is_stdout(path));
    for path in files {
        exports::can_be_written(path).map_err(CommandError::could_not_run)?;
    }
    Ok(())
}

pub fn is_recorded(ran: &MadeRun, summary: &Summary) -> Result<(), CommandError> {
    match &summary.run.unrecorded {
        None => Ok(()),
        Some(reason) if ran.text.is_empty() => Err(CommandError::could_not_run(format!(
            "a run was ended by {reason}"
        ))),
        Some(_) => Err(without_record(ran)),
    }
}

pub fn without_record(ran: &MadeRun) -> CommandError {
    let warnings = ran.text.lines().filter_map(|line| {
        let line = line.strip_prefix("loadline: ")?;
        (!line.starts_with("warning: ")).then(|| line.to_owned())
    });
    let mut lines: Vec<String> = warnings.collect();
    if lines.is_empty() {
        lines.push(format!(
            "a run ended with exit code {} and left no record, so there is nothing to compare",
            ran.code
        ));
    }
    CommandError {
        lines,
        code: if ran.code == exit::BAD_INPUT {
            exit::BAD_INPUT
        } else {
            exit::COULD_NOT_RUN
        },
    }
}
