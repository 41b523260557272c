//! Writes the log in the format and to the destination that the user chose.

use std::{
    fs::File,
    io::{IsTerminal as _, Write as _},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use jiff::tz::TimeZone;
use k6::{
    log::{Entry, Level, LogFormat, LogOutput},
    options::settings::Settings,
};
use plan::units::SECOND;
use session::SharedMessageSink;
use worker::clock;

/// Writes log lines. Copies share the destination.
#[derive(Clone)]
pub struct Logger {
    format: LogFormat,
    output: LogTarget,
    least: Level,
    zone: TimeZone,
    /// Monotonic time at which the program started, in nanoseconds.
    began_ns: u64,
    sink: SharedMessageSink,
}

#[derive(Clone)]
enum LogTarget {
    Stderr,
    Stdout,
    None,
    File(Arc<Mutex<File>>),
}

impl Logger {
    /// Returns the logger for messages that occur before the settings are known.
    pub fn usual(sink: &SharedMessageSink) -> Logger {
        let is_terminal = std::io::stderr().is_terminal();
        let with_colors = std::env::var_os("NO_COLOR").is_none();
        let format = match is_terminal {
            true => LogFormat::Terminal { with_colors },
            false => LogFormat::Text,
        };
        Logger {
            format,
            output: LogTarget::Stderr,
            least: Level::Info,
            zone: TimeZone::system(),
            began_ns: clock::monotonic_ns(),
            sink: Arc::clone(sink),
        }
    }

    /// Creates the logger. Fails if a setting is invalid, or if the file cannot be written.
    pub fn new(settings: &Settings, sink: &SharedMessageSink) -> Result<Logger, String> {
        let usual = Logger::usual(sink);
        let is_terminal = std::io::stderr().is_terminal();
        let with_colors = settings.no_color != Some(true) && std::env::var_os("NO_COLOR").is_none();
        let format = settings.log_format.as_deref().unwrap_or("");
        let format = LogFormat::parse(format, is_terminal, with_colors)?;
        let mut least = match settings.verbose {
            Some(true) => Level::Debug,
            _ => Level::Info,
        };
        let output = match LogOutput::parse(settings.log_output.as_deref().unwrap_or(""))? {
            LogOutput::Stderr => LogTarget::Stderr,
            LogOutput::Stdout => LogTarget::Stdout,
            LogOutput::None => LogTarget::None,
            LogOutput::File { path, level } => {
                let file = File::options().create(true).append(true).open(&path);
                let file = file.map_err(|error| format!("--log-output: {path}: {error}"))?;
                least = level.unwrap_or(least);
                LogTarget::File(Arc::new(Mutex::new(file)))
            }
        };
        Ok(Logger {
            format,
            output,
            least,
            ..usual
        })
    }

    /// Returns a logger that writes to a file, without colours. Fails if it cannot be written.
    pub fn to_file(&self, flag: &str, path: &str) -> Result<Logger, String> {
        let file = File::options().create(true).append(true).open(path);
        let file = file.map_err(|error| format!("{flag}: {path}: {error}"))?;
        let format = match self.format {
            LogFormat::Terminal { .. } => LogFormat::Text,
            other => other,
        };
        Ok(Logger {
            format,
            output: LogTarget::File(Arc::new(Mutex::new(file))),
            ..self.clone()
        })
    }

    /// Writes a message of this moment.
    pub fn write(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        if let Some(line) = self.line(level, message, fields) {
            self.write_line(&line);
        }
    }

    /// Returns the line of a message without its line break. `None` if messages of its level are
    /// not shown.
    pub fn line(&self, level: Level, message: &str, fields: &[(&str, &str)]) -> Option<String> {
        if level < self.least {
            return None;
        }
        let since = SystemTime::UNIX_EPOCH.elapsed();
        let wall_ns = since.map_or(0, |since| since.as_nanos());
        let entry = Entry {
            level,
            message,
            fields,
            wall_ns: i64::try_from(wall_ns).unwrap_or(i64::MAX),
            elapsed_s: clock::monotonic_ns().saturating_sub(self.began_ns) / SECOND,
        };
        let line = self.format.render(&entry, &self.zone);
        Some(line.trim_end_matches('\n').to_owned())
    }

    /// Writes a line that [`Logger::line`] has formatted.
    pub fn write_line(&self, line: &str) {
        match &self.output {
            LogTarget::Stderr => self.sink.say(&line),
            LogTarget::Stdout => self.sink.out(&format!("{line}\n")),
            LogTarget::None => {}
            LogTarget::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                if let Err(error) = writeln!(file, "{line}") {
                    self.sink
                        .warning(&format_args!("cannot write the log: {error}"));
                }
            }
        }
    }
}
