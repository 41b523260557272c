//! Outputs for all samples: `--out json` and `--out csv`.
//!
//! Entry points: [`OutputSpec::parse`] for the arguments, [`OutputSpec::description`] for the start
//! block, and [`json::JsonLines`] and [`csv::CsvLines`] for the lines.

pub mod csv;
pub mod json;

use crate::{duration::DurationNs, text::go_quote};

/// The type of an output, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputSpec {
    /// One JSON object per line.
    Json {
        /// Path of the file. `None` means standard output.
        path: Option<String>,
    },
    /// One line per sample.
    Csv(CsvSpec),
}

/// The arguments of the CSV output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvSpec {
    /// Path of the file. `None` means standard output.
    pub path: Option<String>,
    /// Interval at which lines are written.
    pub save_interval: DurationNs,
    /// Format of times.
    pub time_format: TimeFormat,
}

/// The format of times in the CSV output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeFormat {
    /// Seconds since 1970.
    #[default]
    Unix,
    /// Milliseconds since 1970.
    UnixMilli,
    /// Microseconds since 1970.
    UnixMicro,
    /// Nanoseconds since 1970.
    UnixNano,
    /// RFC 3339 with whole seconds.
    Rfc3339,
    /// RFC 3339 with nanoseconds.
    Rfc3339Nano,
}

impl TimeFormat {
    fn parse(text: &str) -> Result<TimeFormat, String> {
        Ok(match text {
            "" | "unix" => TimeFormat::Unix,
            "unix_milli" => TimeFormat::UnixMilli,
            "unix_micro" => TimeFormat::UnixMicro,
            "unix_nano" => TimeFormat::UnixNano,
            "rfc3339" => TimeFormat::Rfc3339,
            "rfc3339_nano" => TimeFormat::Rfc3339Nano,
            _ => return Err(format!("unknown value for csv output timeFormat: {text}")),
        })
    }
}

const TYPES: &str = "cloud, csv, experimental-opentelemetry, experimental-prometheus-rw, influxdb, \
                     json, opentelemetry, web-dashboard";

/// Interval at which the JSON output is flushed.
pub const JSON_FLUSH_INTERVAL: DurationNs = DurationNs(200_000_000);

impl OutputSpec {
    /// Parses `TYPE` or `TYPE=ARGUMENT`. `lookup` returns the value of an environment variable.
    ///
    /// # Errors
    ///
    /// Returns k6's text for types that do not exist. For types that are not supported, the text
    /// mentions Loadline's equivalent. The exit code is 104.
    pub fn parse(
        text: &str,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<OutputSpec, String> {
        let (kind, argument) = text.split_once('=').unwrap_or((text, ""));
        let instead = match kind {
            "json" => {
                let path = file_or_stdout(argument);
                return Ok(OutputSpec::Json { path });
            }
            "csv" => return parse_csv(argument, lookup).map(OutputSpec::Csv),
            "cloud" => "a run is only local; compare runs with `loadline compare`",
            "influxdb" => "set LOADLINE_EXPORT=csv=FILE or LOADLINE_EXPORT=statsd=…",
            "experimental-prometheus-rw" => "set LOADLINE_EXPORT=remote-write=URL",
            "opentelemetry" | "experimental-opentelemetry" => "set LOADLINE_EXPORT=otlp",
            "web-dashboard" => "`loadline report` shows the run as a page",
            _ => {
                return Err(format!(
                    "invalid output type '{kind}', available types are: {TYPES}"
                ));
            }
        };
        Err(format!("output type '{kind}' is not supported: {instead}"))
    }

    /// Returns the description for the start block.
    #[must_use]
    pub fn description(&self) -> String {
        match self {
            OutputSpec::Json { path: None } => "json(stdout)".to_owned(),
            OutputSpec::Json { path: Some(path) } => format!("json ({path})"),
            OutputSpec::Csv(spec) => match &spec.path {
                None => "csv (stdout)".to_owned(),
                Some(path) => format!("csv ({path})"),
            },
        }
    }

    /// Returns the path of the file. `None` means standard output. A file ending in `.gz` is
    /// compressed.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            OutputSpec::Json { path } => path.as_deref(),
            OutputSpec::Csv(spec) => spec.path.as_deref(),
        }
    }

    /// Returns whether the file is compressed with gzip.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.path().is_some_and(|path| path.ends_with(".gz"))
    }
}

fn file_or_stdout(path: &str) -> Option<String> {
    let is_file = !matches!(path, "" | "-");
    is_file.then(|| path.to_owned())
}

fn parse_csv(argument: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<CsvSpec, String> {
    let variable = |name: &str| lookup(name).filter(|text| !text.is_empty());
    let mut path = variable("K6_CSV_FILENAME").unwrap_or_else(|| "file.csv".to_owned());
    let mut interval = variable("K6_CSV_SAVE_INTERVAL");
    let mut time_format = variable("K6_CSV_TIME_FORMAT").unwrap_or_default();
    if argument.contains('=') {
        for part in argument.split(',') {
            match part.split_once('=') {
                Some(("fileName" | "file_name", value)) => value.clone_into(&mut path),
                Some(("saveInterval" | "save_interval", value)) => {
                    interval = Some(value.to_owned());
                }
                Some(("timeFormat" | "time_format", value)) => value.clone_into(&mut time_format),
                _ => {
                    return Err(format!(
                        "unknown argument {} of the csv output",
                        go_quote(part)
                    ));
                }
            }
        }
    } else if !argument.is_empty() {
        argument.clone_into(&mut path);
    }
    let save_interval = match interval {
        Some(text) => DurationNs::parse(&text).map_err(|error| error.to_string())?,
        None => DurationNs::from_secs(1),
    };
    if save_interval.0 <= 0 {
        return Err("saveInterval of the csv output must be more than 0".to_owned());
    }
    Ok(CsvSpec {
        path: file_or_stdout(&path),
        save_interval,
        time_format: TimeFormat::parse(&time_format)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<OutputSpec, String> {
        OutputSpec::parse(text, &|_| None)
    }

    #[test]
    fn arguments_name_the_file() {
        for (text, description) in [
            ("json", "json(stdout)"),
            ("json=-", "json(stdout)"),
            ("json=a.json", "json (a.json)"),
            ("csv", "csv (file.csv)"),
            ("csv=-", "csv (stdout)"),
            ("csv=a.csv", "csv (a.csv)"),
            (
                "csv=fileName=b.csv,saveInterval=2s,timeFormat=unix_nano",
                "csv (b.csv)",
            ),
        ] {
            assert_eq!(parse(text).unwrap().description(), description);
        }
        assert!(parse("json=a.gz").unwrap().is_compressed());
        let lookup = |name: &str| (name == "K6_CSV_FILENAME").then(|| "env.csv".to_owned());
        let spec = OutputSpec::parse("csv", &lookup).unwrap();
        assert_eq!(spec.path(), Some("env.csv"));
    }

    #[test]
    fn other_outputs_are_refused() {
        assert_eq!(
            parse("foo=x").unwrap_err(),
            "invalid output type 'foo', available types are: cloud, csv, \
             experimental-opentelemetry, experimental-prometheus-rw, influxdb, json, \
             opentelemetry, web-dashboard"
        );
        for text in [
            "cloud",
            "influxdb=http://x",
            "web-dashboard",
            "opentelemetry",
        ] {
            assert!(parse(text).unwrap_err().contains("is not supported"));
        }
        for text in [
            "csv=a=b",
            "csv=timeFormat=x",
            "csv=saveInterval=0s",
            "csv=saveInterval=x",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
