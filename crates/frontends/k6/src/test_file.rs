//! A test as loaded: a script or an archive, with its options.

use std::{collections::HashMap, path::Path, sync::Arc};

use k6::{
    archive::{self, Archive, ArchiveFile},
    exit::RunError,
    log::Level,
    options::{
        OptionSource, Options, UNKNOWN_FIELDS_WARNING,
        consolidate::{Consolidated, Layers, consolidate},
        flags::{Command, RunFlags},
        settings::{CompatibilityMode, Settings},
    },
    scenario::Plan,
};
use script::k6::{Fetch, LoadError, Script};

use crate::{
    command::{EXCEPTION, INVALID_CONFIG, Refused, USAGE},
    download,
    logger::Logger,
};

/// A loaded test.
pub struct TestFile {
    pub script: Arc<Script>,
    /// Whether the script runs without TypeScript and `global`.
    is_base: bool,
    /// Archive from which the script was read, if any.
    archive: Option<Archive>,
}

/// The source of a script.
struct ScriptSource {
    path: String,
    /// Content of standard input, if the script is read from it.
    text: Option<String>,
    archive: Option<Archive>,
}

impl TestFile {
    /// Loads the script on a command line.
    pub fn load(
        flags: &RunFlags,
        settings: &Settings,
        command: Command,
    ) -> Result<TestFile, Refused> {
        let source = ScriptSource::read(&flags.script)?;
        let has_system = settings.include_system_env_vars;
        let mut environment: Vec<(String, String)> = Vec::new();
        if has_system.unwrap_or(command == Command::Run) {
            environment.extend(std::env::vars());
        }
        let archive = source.archive;
        environment.extend(archive.iter().flat_map(|archive| archive.env.clone()));
        environment.extend(settings.env.iter().cloned());
        let is_base = match (settings.compatibility_mode, &archive) {
            (None, Some(archive)) => archive.compatibility_mode == "base",
            (mode, _) => mode == Some(CompatibilityMode::Base),
        };
        let loaded = Script::load(
            Path::new(&source.path),
            script::k6::Settings {
                environment,
                is_base,
                source: source.text,
                files: archive.as_ref().map(files_of),
                fetch: (settings.offline != Some(true))
                    .then(|| -> Fetch { Arc::new(download::module) }),
            },
        );
        let script = loaded.map_err(|error| match error {
            LoadError::MissingScript(line) => Refused::new(USAGE, line),
            LoadError::Problems(lines) => Refused {
                code: EXCEPTION,
                lines,
            },
            LoadError::Aborted(text) => {
                let error = RunError::ScriptAborted(text);
                Refused::new(error.exit_code(), error.message())
            }
        })?;
        Ok(TestFile {
            script,
            is_base,
            archive,
        })
    }

    /// Returns the options of the script or of the archive, and warns about unknown ones.
    pub fn exported(&self, logger: &Logger) -> Result<Options, Refused> {
        let json = match &self.archive {
            Some(archive) => &archive.options,
            None => self.script.options(),
        };
        let read =
            Options::from_json(json, OptionSource::Script).map_err(|error| invalid(&error))?;
        for name in &read.unknown_fields {
            logger.write(Level::Warning, UNKNOWN_FIELDS_WARNING, &[("field", name)]);
        }
        Ok(read.options)
    }

    /// Returns the consolidated options of all layers.
    pub fn consolidated(
        &self,
        flags: &RunFlags,
        settings: &Settings,
        logger: &Logger,
    ) -> Result<Consolidated, Refused> {
        let layers = Layers {
            config: config_file(settings)?,
            script: self.exported(logger)?,
            env: Options::from_env(&variable).map_err(|error| invalid(&error))?,
            cli: flags.options.clone(),
        };
        consolidate(&layers).map_err(|error| invalid(&error))
    }

    /// Returns the scenarios that follow from the options.
    pub fn plan(&self, options: &Options) -> Result<Plan, Refused> {
        let plan = k6::scenario::plan(options, &|name| self.script.has_function(name));
        plan.map_err(|error| invalid(&error))
    }

    /// Returns the files of packages. Only the file system can resolve their names.
    pub fn packages(&self) -> impl Iterator<Item = String> {
        let names = self.script.files().into_iter().map(|file| file.name);
        names.filter(|name| name.contains("/node_modules/"))
    }

    /// Creates an archive of the test with these options.
    pub fn archive(&self, options: &Options, settings: &Settings) -> Archive {
        let main = self.script.name();
        let (scripts, others): (Vec<_>, Vec<_>) = self
            .script
            .files()
            .into_iter()
            .partition(|file| file.name == main);
        let files = others.into_iter().map(|file| ArchiveFile {
            name: archive::name_of_url(&file.name),
            content: file.content.to_vec(),
        });
        let inherited = self.archive.iter().flat_map(|archive| archive.env.clone());
        Archive {
            options: options.to_json(),
            filename: main.to_owned(),
            pwd: main
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder)
                .to_owned()
                + "/",
            env: inherited.chain(settings.env.iter().cloned()).collect(),
            compatibility_mode: if self.is_base { "base" } else { "extended" }.to_owned(),
            script: scripts
                .first()
                .map_or_else(Vec::new, |file| file.content.to_vec()),
            files: files.collect(),
        }
    }
}

impl ScriptSource {
    fn read(script: &str) -> Result<ScriptSource, Refused> {
        let refuse = |error: &dyn std::fmt::Display| Refused::new(USAGE, error);
        if script == "-" {
            let text = std::io::read_to_string(std::io::stdin().lock());
            return Ok(ScriptSource {
                path: script.to_owned(),
                text: Some(text.map_err(|error| refuse(&format_args!("standard input: {error}")))?),
                archive: None,
            });
        }
        let bytes = match Path::new(script).is_file() {
            true => std::fs::read(script).unwrap_or_default(),
            // The loader reports why there is no script.
            false => Vec::new(),
        };
        if !Archive::is_archive(&bytes) {
            return Ok(ScriptSource {
                path: script.to_owned(),
                text: None,
                archive: None,
            });
        }
        let archive = Archive::read(&bytes);
        let archive = archive.map_err(|error| refuse(&format_args!("{script}: {error}")))?;
        let path = archive.filename.strip_prefix("file://");
        let path = path.ok_or_else(|| {
            refuse(&format_args!(
                "{script}: the main script is not a file: {}",
                archive.filename
            ))
        })?;
        Ok(ScriptSource {
            path: path.to_owned(),
            text: None,
            archive: Some(archive),
        })
    }
}

/// Returns the files of an archive by their URLs.
fn files_of(archive: &Archive) -> Arc<HashMap<String, Arc<[u8]>>> {
    let main = (archive.filename.clone(), archive.script.as_slice().into());
    let others = archive.files.iter();
    let others = others.map(|file| {
        (
            archive::url_of_name(&file.name),
            file.content.as_slice().into(),
        )
    });
    Arc::new(others.chain([main]).collect())
}

fn invalid(error: &dyn std::fmt::Display) -> Refused {
    Refused::new(INVALID_CONFIG, error)
}

pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Reads the configuration file: the one of `--config`, or the user's default file.
fn config_file(settings: &Settings) -> Result<Options, Refused> {
    let usual = || {
        let folder = variable("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
        let folder = folder.or_else(|| Some(format!("{}/.config", variable("HOME")?)))?;
        Some(format!("{folder}/k6/config.json"))
    };
    let path = match &settings.config {
        Some(path) => path.clone(),
        None => match usual().filter(|path| Path::new(path).is_file()) {
            Some(path) => path,
            None => return Ok(Options::default()),
        },
    };
    let refuse = |reason: &dyn std::fmt::Display| invalid(&format_args!("{path}: {reason}"));
    let text = std::fs::read_to_string(&path).map_err(|error| refuse(&error))?;
    let json = serde_json::from_str(&text).map_err(|error| refuse(&error))?;
    let read = Options::from_json(&json, OptionSource::ConfigFile);
    Ok(read.map_err(|error| refuse(&error))?.options)
}
