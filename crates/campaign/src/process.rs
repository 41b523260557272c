//! Runs a stage as a process.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use formats::native::campaign;
use record::redact::Redactor;
use session::{MockProcess, child, lab_process, mock_process};

use crate::{CampaignOptions, broker::Broker, targets::Targets};

#[derive(Debug)]
pub struct StageExit {
    pub code: u8,
    pub signal: Option<u8>,
    pub record: Option<PathBuf>,
    pub messages: Vec<String>,
}

pub struct StageEnv<'a> {
    pub options: &'a CampaignOptions,
    pub folder: &'a Path,
    pub targets: Targets,
    pub broker: Option<Broker>,
    pub mocks: Option<MockProcess>,
    pub redactor: Redactor,
}

impl StageEnv<'_> {
    pub fn native(&self, stage: &str, name: &str, flags: &[String]) -> Result<StageExit, String> {
        let mut arguments = vec!["run".to_owned(), self.options.file.display().to_string()];
        arguments.extend(["--stage".to_owned(), stage.to_owned()]);
        if let Some(target) = self
            .options
            .target
            .as_ref()
            .filter(|_| self.targets.lab().is_none())
        {
            arguments.extend(["--target".to_owned(), target.clone()]);
        }
        if let Some(seed) = self.options.seed {
            arguments.extend(["--seed".to_owned(), seed.to_string()]);
        }
        arguments.extend(self.options.flags.iter().cloned());
        arguments.extend(flags.iter().cloned());
        self.run(name, |command| {
            command.args(&arguments);
        })
    }

    pub fn command(&self, asked: &campaign::StageCommand, name: &str) -> Result<StageExit, String> {
        let place = self
            .options
            .file
            .parent()
            .filter(|place| *place != Path::new(""));
        let words = asked
            .words
            .iter()
            .map(|word| word.replace(campaign::TARGET, self.targets.url()));
        let words: Vec<String> = words.collect();
        self.run(name, |command| {
            command.args(&words);
            if let Some(place) = place {
                command.current_dir(place);
            }
            for (variable, texts) in [
                ("LOADLINE_CHECK", &asked.criteria),
                ("LOADLINE_STOP", &asked.stop),
                ("LOADLINE_SERVER", &asked.server),
            ] {
                if !texts.is_empty() {
                    command.env(variable, texts.join(";"));
                }
            }
            if let Some(seed) = self.options.seed {
                command.env("LOADLINE_SEED", seed.to_string());
            }
        })
    }

    fn run(&self, name: &str, say: impl FnOnce(&mut Command)) -> Result<StageExit, String> {
        let cannot = |what: &Path, error: std::io::Error| {
            format!("cannot write {}: {error}", what.display())
        };
        let runs = self.folder.join(name);
        fs::create_dir_all(&runs).map_err(|error| cannot(&runs, error))?;
        // The path must be absolute, because other tools run in the plan's folder.
        let runs = fs::canonicalize(&runs).map_err(|error| cannot(&runs, error))?;
        let out = runs.join("output.txt");
        let errors = runs.join("errors.txt");
        let lab = self.targets.lab();
        let mut listeners = lab.map_or_else(Vec::new, |lab| lab.listeners().to_vec());
        listeners.extend(self.broker.as_ref().and_then(Broker::place));
        // On a terminal, the user follows the output of the runs.
        let errors = (!self.options.shows_runs).then_some(&errors);
        let child::Printed { ended, text } =
            child::own(&out, errors.map(PathBuf::as_path), |command| {
                say(command);
                command.env("LOADLINE_RUNS", &runs);
                if !listeners.is_empty() {
                    command.env(lab_process::ENVIRONMENT, listeners.join(" "));
                }
                if let Some(mocks) = &self.mocks {
                    command.env(mock_process::ENVIRONMENT, mocks.environment());
                }
            })?;
        // Other tools print the URL as given, which may contain secrets.
        self.redact(&out).map_err(|error| cannot(&out, error))?;
        Ok(StageExit {
            code: ended.code,
            signal: ended.signal,
            record: record::find(&runs, "last").ok(),
            messages: text.lines().map(ToOwned::to_owned).collect(),
        })
    }

    fn redact(&self, path: &Path) -> std::io::Result<()> {
        let printed = fs::read(path)?;
        let printed = String::from_utf8_lossy(&printed);
        let redacted = self.redactor.text(&printed);
        if redacted != printed {
            fs::write(path, redacted)?;
        }
        Ok(())
    }
}
