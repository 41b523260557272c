//! Formats of log lines, and the destination of the log.
//!
//! Entry points: [`LogFormat::parse`] and [`LogOutput::parse`] for the flags, and
//! [`LogFormat::render`] for each message.

use std::fmt::Write as _;

use serde_json::{Map, Value};

pub use jiff::tz::TimeZone;

use crate::text::go_quote;

/// The level of a message. Levels are in ascending order of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Shown only with `--verbose`.
    Debug,
    /// Information.
    Info,
    /// A possible problem.
    Warning,
    /// A problem.
    Error,
    /// A problem that ends the run.
    Fatal,
}

impl Level {
    /// Returns the name in log lines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
            Level::Fatal => "fatal",
        }
    }

    /// Parses a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Level> {
        Some(match text.to_ascii_lowercase().as_str() {
            "debug" | "trace" => Level::Debug,
            "info" => Level::Info,
            "warn" | "warning" => Level::Warning,
            "error" => Level::Error,
            "fatal" | "panic" => Level::Fatal,
            _ => return None,
        })
    }

    const fn short(self) -> &'static str {
        match self {
            Level::Debug => "DEBU",
            Level::Info => "INFO",
            Level::Warning => "WARN",
            Level::Error => "ERRO",
            Level::Fatal => "FATA",
        }
    }

    const fn color(self) -> u8 {
        match self {
            Level::Debug => 37,
            Level::Info => 36,
            Level::Warning => 33,
            Level::Error | Level::Fatal => 31,
        }
    }
}

/// A message with its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Level.
    pub level: Level,
    /// Message.
    pub message: &'a str,
    /// Additional fields, in any order.
    pub fields: &'a [(&'a str, &'a str)],
    /// Time in nanoseconds since 1970.
    pub wall_ns: i64,
    /// Whole seconds since the program started.
    pub elapsed_s: u64,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// `time="…" level=info msg=text`, used without a terminal.
    Text,
    /// `INFO[0003] text`, used on a terminal.
    Terminal {
        /// Whether lines contain colour codes.
        with_colors: bool,
    },
    /// One JSON object per line.
    Json,
    /// Only the message.
    Raw,
}

impl LogFormat {
    /// Parses the value of `--log-format`. An empty text selects the format by the terminal.
    ///
    /// # Errors
    ///
    /// Returns a text if the format does not exist.
    pub fn parse(text: &str, is_terminal: bool, with_colors: bool) -> Result<LogFormat, String> {
        match text {
            "" | "text" if is_terminal => Ok(LogFormat::Terminal { with_colors }),
            "" | "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            "raw" => Ok(LogFormat::Raw),
            _ => Err(format!(
                "unsupported log format '{text}', use 'json' or 'raw'"
            )),
        }
    }

    /// Returns the line of a message, including its line break.
    #[must_use]
    pub fn render(self, entry: &Entry<'_>, zone: &TimeZone) -> String {
        let mut fields = entry.fields.to_vec();
        fields.sort_unstable();
        match self {
            LogFormat::Raw => format!("{}\n", entry.message),
            LogFormat::Text => {
                let mut line = format!(
                    "time=\"{}\" level={} msg={}",
                    rfc3339(entry.wall_ns, zone),
                    entry.level.name(),
                    quoted(entry.message)
                );
                push_fields(&mut line, &fields, None);
                line.push('\n');
                line
            }
            LogFormat::Terminal { with_colors } => {
                let color = with_colors.then_some(entry.level.color());
                let mut line = format!(
                    "{}[{:04}] {:<44}",
                    painted(entry.level.short(), color),
                    entry.elapsed_s,
                    entry.message
                );
                push_fields(&mut line, &fields, color);
                line.push('\n');
                line
            }
            LogFormat::Json => {
                let own = [
                    ("level", entry.level.name().to_owned()),
                    ("msg", entry.message.to_owned()),
                    ("time", rfc3339(entry.wall_ns, zone)),
                ];
                let more = fields
                    .iter()
                    .map(|(name, value)| (*name, (*value).to_owned()));
                let mut all: Vec<_> = own.into_iter().chain(more).collect();
                all.sort();
                let pairs = all.into_iter();
                let object: Map<_, _> = pairs
                    .map(|(name, value)| (name.to_owned(), Value::String(value)))
                    .collect();
                format!("{}\n", Value::Object(object))
            }
        }
    }
}

fn painted(text: &str, color: Option<u8>) -> String {
    match color {
        Some(color) => format!("\x1b[{color}m{text}\x1b[0m"),
        None => text.to_owned(),
    }
}

fn push_fields(line: &mut String, fields: &[(&str, &str)], color: Option<u8>) {
    for (name, value) in fields {
        let _ = write!(line, " {}={}", painted(name, color), quoted(value));
    }
}

/// Returns a value, in quotation marks if it contains characters that need them.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/@^+".contains(&byte);
    match text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => go_quote(text),
    }
}

/// Formats a time with whole seconds: `2026-01-02T03:04:05Z`.
#[must_use]
pub fn rfc3339(wall_ns: i64, zone: &TimeZone) -> String {
    format_time(wall_ns, zone, "%Y-%m-%dT%H:%M:%S")
}

/// Formats a time with nanoseconds, without trailing zeros.
#[must_use]
pub fn rfc3339_nano(wall_ns: i64, zone: &TimeZone) -> String {
    format_time(wall_ns, zone, "%Y-%m-%dT%H:%M:%S%.f")
}

fn format_time(wall_ns: i64, zone: &TimeZone, format: &str) -> String {
    let Ok(timestamp) = jiff::Timestamp::from_nanosecond(i128::from(wall_ns)) else {
        return wall_ns.to_string();
    };
    let zoned = timestamp.to_zoned(zone.clone());
    let offset = match zoned.offset().is_zero() {
        true => "Z".to_owned(),
        false => zoned.strftime("%:z").to_string(),
    };
    format!("{}{offset}", zoned.strftime(format))
}

/// The destination of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogOutput {
    /// Standard error.
    Stderr,
    /// Standard output.
    Stdout,
    /// The log is discarded.
    None,
    /// A file.
    File {
        /// Path.
        path: String,
        /// Minimum severity of messages to write. `None` means all messages.
        level: Option<Level>,
    },
}

impl LogOutput {
    /// Parses the value of `--log-output`. An empty text means standard error.
    ///
    /// # Errors
    ///
    /// Returns a text for outputs that do not exist or are not supported.
    pub fn parse(text: &str) -> Result<LogOutput, String> {
        match text {
            "" | "stderr" => Ok(LogOutput::Stderr),
            "stdout" => Ok(LogOutput::Stdout),
            "none" => Ok(LogOutput::None),
            _ if text.starts_with("loki") => {
                Err("log output 'loki' is not supported, use file=PATH".to_owned())
            }
            _ => match text.strip_prefix("file=") {
                Some(arguments) => parse_file(arguments),
                None => Err(format!("unsupported log output '{text}'")),
            },
        }
    }
}

fn parse_file(arguments: &str) -> Result<LogOutput, String> {
    let mut parts = arguments.split(',');
    let path = parts.next().unwrap_or_default().to_owned();
    if path.is_empty() {
        return Err("filepath must not be empty".to_owned());
    }
    let mut level = None;
    for part in parts {
        match part.split_once('=') {
            Some(("level", name)) => {
                let parsed = Level::parse(name);
                level = Some(parsed.ok_or_else(|| format!("unknown log level '{name}'"))?);
            }
            _ => return Err(format!("unknown logfile config key '{part}'")),
        }
    }
    Ok(LogOutput::File { path, level })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: Entry<'_> = Entry {
        level: Level::Info,
        message: "some text",
        fields: &[("source", "console"), ("a", "x y\n")],
        wall_ns: 1_767_323_045_120_000_000,
        elapsed_s: 3,
    };

    #[test]
    fn text_is_logrus_form() {
        assert_eq!(
            LogFormat::Text.render(&ENTRY, &TimeZone::UTC),
            "time=\"2026-01-02T03:04:05Z\" level=info msg=\"some text\" a=\"x y\\n\" \
             source=console\n"
        );
        let plus_two = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(
            rfc3339(ENTRY.wall_ns, &plus_two),
            "2026-01-02T05:04:05+02:00"
        );
        assert_eq!(
            rfc3339_nano(ENTRY.wall_ns, &TimeZone::UTC),
            "2026-01-02T03:04:05.12Z"
        );
        assert_eq!(rfc3339_nano(0, &TimeZone::UTC), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn terminal_form_pads_the_message() {
        let entry = Entry {
            message: "text",
            fields: &[("source", "console")],
            ..ENTRY
        };
        let format = LogFormat::parse("", true, false).unwrap();
        assert_eq!(
            format.render(&entry, &TimeZone::UTC),
            "INFO[0003] text                                         source=console\n"
        );
        let format = LogFormat::parse("", true, true).unwrap();
        assert!(
            format
                .render(&entry, &TimeZone::UTC)
                .starts_with("\x1b[36mINFO\x1b[0m[0003] ")
        );
    }

    #[test]
    fn json_and_raw_forms() {
        assert_eq!(
            LogFormat::Json.render(&ENTRY, &TimeZone::UTC),
            "{\"a\":\"x y\\n\",\"level\":\"info\",\"msg\":\"some text\",\"source\":\"console\",\
             \"time\":\"2026-01-02T03:04:05Z\"}\n"
        );
        assert_eq!(LogFormat::Raw.render(&ENTRY, &TimeZone::UTC), "some text\n");
        assert!(LogFormat::parse("xml", true, true).is_err());
    }

    #[test]
    fn outputs_are_parsed() {
        assert_eq!(LogOutput::parse("none"), Ok(LogOutput::None));
        assert_eq!(
            LogOutput::parse("file=a.log,level=warn"),
            Ok(LogOutput::File {
                path: "a.log".to_owned(),
                level: Some(Level::Warning),
            })
        );
        for text in [
            "loki=http://x",
            "file=",
            "file=a,level=x",
            "file=a,b",
            "syslog",
        ] {
            assert!(LogOutput::parse(text).is_err(), "{text}");
        }
    }
}
